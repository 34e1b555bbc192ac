//! Where characters and lines begin and end, as far as bytes alone show it.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

pub(super) fn is_utf16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Where a page ends that begins with a character and has more after it: after the last line in its second
/// half, else after the last whole character.
pub(super) fn end_of_page(encoding: &'static Encoding, raw: &[u8]) -> usize {
    let line = if is_utf16(encoding) {
        let feed = if encoding == UTF_16LE { [b'\n', 0] } else { [0, b'\n'] };
        raw.chunks_exact(2).rposition(|unit| unit == feed).map(|at| at * 2 + 2)
    } else {
        raw.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1)
    };
    match line {
        Some(line) if line > raw.len() / 2 => line,
        _ if encoding == UTF_8 => utf8_end(raw),
        _ if is_utf16(encoding) => utf16_end(encoding, raw),
        // Decoding finds out.
        _ => raw.len(),
    }
}

/// Where the last whole character ends.
pub(super) fn utf8_end(raw: &[u8]) -> usize {
    for (back, byte) in raw.iter().rev().take(3).enumerate() {
        let needed = match byte {
            0x00..=0x7F => break,
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
        };
        return if back + 1 < needed { raw.len() - back - 1 } else { raw.len() };
    }
    raw.len()
}

/// Where the last whole character ends.
pub(super) fn utf16_end(encoding: &'static Encoding, raw: &[u8]) -> usize {
    let whole = raw.len() - raw.len() % 2;
    let Some([first, second]) = whole.checked_sub(2).and_then(|last| raw.get(last..whole)) else { return 0 };
    let high_byte = if encoding == UTF_16LE { *second } else { *first };
    // The first half of a pair.
    if (0xD8..=0xDB).contains(&high_byte) { whole - 2 } else { whole }
}

/// The UTF-16 that bytes look like in which every other one is NUL.
pub(super) fn utf16_without_mark(raw: &[u8]) -> Option<&'static Encoding> {
    let nuls = |from: usize| raw.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (nuls(0), nuls(1), raw.len() / 2);
    match () {
        () if half < 2 => None,
        () if odd * 4 > half * 3 && even == 0 => Some(UTF_16LE),
        () if even * 4 > half * 3 && odd == 0 => Some(UTF_16BE),
        () => None,
    }
}
