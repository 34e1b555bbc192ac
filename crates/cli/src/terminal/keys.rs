//! Keys as a terminal sends them, read one by one on a thread of their own.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

/// Keys that wait to be taken; whoever types more waits.
const KEY_CAPACITY: usize = 64;
/// How long after an escape the rest of a sequence may take, in nanoseconds. What comes later is a key of its own.
const SEQUENCE_TIMEOUT_NS: i64 = 50_000_000;
/// No sequence is longer, in bytes.
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
    /// Ctrl-D: there will be no more.
    Eof,
    /// A character.
    Char(char),
}

/// Reads keys until nobody wants them or there are no more. The terminal must be in [`super::Mode::Keys`].
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

/// Whether there is more to read within so many nanoseconds.
fn has_input_within(nanoseconds: i64) -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    poll(&mut polled, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Turns bytes into keys.
#[derive(Debug, Default)]
struct KeyDecoder {
    /// What has come of a key that is not whole.
    pending: Vec<u8>,
}

impl KeyDecoder {
    /// Whether a key has begun that is not whole.
    fn is_in_sequence(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing follows: an escape that began a sequence was the key itself.
    fn flush(&mut self) -> Option<KeyPress> {
        let held = std::mem::take(&mut self.pending);
        (held.as_slice() == [0x1b]).then_some(KeyPress::Escape)
    }

    /// The key that this byte ends; none where it ends none, or one that nobody here wants.
    fn feed(&mut self, byte: u8) -> Option<KeyPress> {
        self.pending.push(byte);
        let (key, is_whole) = match self.pending.as_slice() {
            [0x1b] => (None, false),
            // Escape and then a key: the second one counts only as what follows.
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
