//! Reads single keys from a terminal, on its own thread.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

/// Maximum number of buffered keys; the thread stops reading until there is room.
const KEY_CAPACITY: usize = 64;
/// Maximum time between an escape and the rest of its sequence, in nanoseconds. After that, the escape is a key itself.
const SEQUENCE_TIMEOUT_NS: i64 = 50_000_000;
/// Maximum length of a sequence, in bytes.
const MAX_SEQUENCE: usize = 16;

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPress {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D or the end of the input: no key follows.
    Eof,
    /// A character.
    Char(char),
}

/// Reads keys until the receiver is dropped or the input ends. The terminal must be in [`super::TerminalMode::Raw`].
pub(crate) fn spawn_reader() -> mpsc::Receiver<KeyPress> {
    let (sender, keys) = mpsc::channel(KEY_CAPACITY);
    std::thread::spawn(move || {
        let mut decoder = KeyDecoder::default();
        let mut buffer = [0; 256];
        loop {
            let lone = decoder.is_in_sequence() && !has_input_within(SEQUENCE_TIMEOUT_NS);
            let found = if lone {
                decoder.flush().into_iter().collect()
            } else {
                match rustix::io::read(io::stdin(), &mut buffer) {
                    Ok(0) => vec![KeyPress::Eof],
                    Ok(count) => buffer.iter().take(count).filter_map(|byte| decoder.feed(*byte)).collect(),
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => return,
                }
            };
            for key in found {
                if sender.blocking_send(key).is_err() || key == KeyPress::Eof {
                    return;
                }
            }
        }
    });
    keys
}

/// Returns true if standard input has data within this time.
fn has_input_within(nanoseconds: i64) -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    poll(&mut polled, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Decodes bytes into keys.
#[derive(Debug, Default)]
struct KeyDecoder {
    /// Bytes of an incomplete key.
    pending: Vec<u8>,
}

impl KeyDecoder {
    /// Returns true if a key is incomplete.
    fn is_in_sequence(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends an incomplete key. A single escape is the Escape key; other bytes are dropped.
    fn flush(&mut self) -> Option<KeyPress> {
        let held = std::mem::take(&mut self.pending);
        (held.as_slice() == [0x1b]).then_some(KeyPress::Escape)
    }

    /// Adds a byte. Returns the key that it completes; `None` for an incomplete or unknown key.
    fn feed(&mut self, byte: u8) -> Option<KeyPress> {
        self.pending.push(byte);
        let (key, is_whole) = match self.pending.as_slice() {
            [0x1b] => (None, false),
            // `ESC [` and `ESC O` start a sequence.
            [0x1b, b'[' | b'O'] => (None, false),
            [0x1b, b'O', last] => (parse_sequence(b"", *last), true),
            [0x1b, b'[', within @ .., last] => match last {
                0x40..=0x7e => (parse_sequence(within, *last), true),
                _ => (None, self.pending.len() > MAX_SEQUENCE),
            },
            [0x1b, ..] => (None, true),
            [b'\r' | b'\n'] => (Some(KeyPress::Enter), true),
            [0x7f | 0x08] => (Some(KeyPress::Backspace), true),
            [0x03] => (Some(KeyPress::Interrupt), true),
            [0x04] => (Some(KeyPress::Eof), true),
            [0x00..0x20] => (None, true),
            text => match std::str::from_utf8(text) {
                Ok(text) => (text.chars().next().map(KeyPress::Char), true),
                Err(error) => (None, error.error_len().is_some()),
            },
        };
        if is_whole {
            self.pending.clear();
        }
        key
    }
}

/// The key of a sequence, by its parameters and its last byte, as xterm and the Linux console send them.
fn parse_sequence(parameters: &[u8], last: u8) -> Option<KeyPress> {
    match (parameters, last) {
        (_, b'A') => Some(KeyPress::Up),
        (_, b'B') => Some(KeyPress::Down),
        (_, b'H') | (b"1" | b"7", b'~') => Some(KeyPress::Home),
        (_, b'F') | (b"4" | b"8", b'~') => Some(KeyPress::End),
        (b"5", b'~') => Some(KeyPress::PageUp),
        (b"6", b'~') => Some(KeyPress::PageDown),
        (_, b'M') => Some(KeyPress::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
