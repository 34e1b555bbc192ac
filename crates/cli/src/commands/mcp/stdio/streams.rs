//! Standard input and output as bounded queues of lines. Each has its own thread, because blocking on the client must
//! not block anything else.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::error::{CliError, CliResult};

/// Maximum length of a line in bytes. The limit of a gateway is usually lower.
pub(super) const MAX_LINE: usize = 64 << 20;
/// The mark that Windows tools put before a text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Capacity of each queue.
const QUEUE_CAPACITY: usize = 4;
/// Timeout for writing the last lines.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientLine {
    Text(String),
    /// Longer than [`MAX_LINE`].
    TooLong,
}

/// Starts a thread that reads standard input until it ends.
pub(super) fn spawn_stdin_reader() -> CliResult<mpsc::Receiver<ClientLine>> {
    let (tell, lines) = mpsc::channel(QUEUE_CAPACITY);
    spawn_thread("stdin", move || read_lines(std::io::stdin().lock(), &tell))?;
    Ok(lines)
}

fn read_lines(input: impl Read, tell: &mpsc::Sender<ClientLine>) {
    let mut input = BufReader::new(input);
    while let Some(line) = next_line(&mut input, MAX_LINE) {
        if tell.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Returns the next non-empty line; `None` at the end. Ignores a last line without a line end, because it is truncated,
/// and a byte order mark. Bytes that are not UTF-8 become U+FFFD: one damaged character must not cost the message.
fn next_line(input: &mut impl BufRead, limit: usize) -> Option<ClientLine> {
    loop {
        let mut line = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        input.take(most).read_until(b'\n', &mut line).ok()?;
        if line.last() != Some(&b'\n') {
            if line.len() <= limit {
                return None;
            }
            skip_line(input)?;
            return Some(ClientLine::TooLong);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        if !text.trim().is_empty() {
            return Some(ClientLine::Text(text.to_owned()));
        }
    }
}

/// Skips the rest of the line.
fn skip_line(input: &mut impl BufRead) -> Option<()> {
    loop {
        let buffer = input.fill_buf().ok().filter(|buffer| !buffer.is_empty())?;
        let (used, is_over) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        input.consume(used);
        if is_over {
            return Some(());
        }
    }
}

/// Writer of standard output: one message per line.
#[derive(Debug)]
pub(super) struct StdoutWriter {
    /// Queue of messages. Closed when standard output is closed.
    pub(super) sender: mpsc::Sender<String>,
    done: oneshot::Receiver<()>,
}

impl StdoutWriter {
    /// Starts the writer of standard output.
    pub(super) fn stdout() -> CliResult<Self> {
        let (to, mut messages) = mpsc::channel::<String>(QUEUE_CAPACITY);
        let (tell, written) = oneshot::channel();
        spawn_thread("stdout", move || {
            let mut output = std::io::stdout().lock();
            while let Some(message) = messages.blocking_recv() {
                let line = to_single_line(message);
                if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
            // The receiver may be gone.
            let _ = tell.send(());
        })?;
        Ok(Self { sender: to, done: written })
    }

    /// Waits until all messages are written, up to a timeout.
    pub(super) async fn close(self) {
        drop(self.sender);
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.done).await;
    }
}

/// Converts a message to one line. Line breaks occur only between JSON tokens, so spaces can replace them.
fn to_single_line(message: String) -> String {
    let mut line = if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message };
    line.push('\n');
    line
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> CliResult {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started
        .map(|_| ())
        .map_err(|error| CliError::new(format!("cannot start: {}", crate::error::io_error_message(&error))))
}

#[cfg(test)]
mod tests;
