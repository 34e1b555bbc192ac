//! Standard input and output as bounded queues of lines. Each has a thread of its own, since reading and writing them
//! can wait for as long as the client likes, and nothing else may wait with them.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::report::{Done, Failure};

/// Longest line that is kept, in bytes. What a gateway takes is usually less.
pub(super) const MAX_LINE: usize = 64 << 20;
/// Lines that wait in either direction.
const QUEUE: usize = 4;
/// How long the client has to take what was written last.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Longer than [`MAX_LINE`].
    TooLong,
    NotUtf8,
}

/// Lines of standard input, until it ends.
pub(super) fn lines() -> Done<mpsc::Receiver<Line>> {
    let (tell, lines) = mpsc::channel(QUEUE);
    thread("stdin", move || read(std::io::stdin().lock(), &tell))?;
    Ok(lines)
}

fn read(input: impl Read, tell: &mpsc::Sender<Line>) {
    let mut input = BufReader::new(input);
    while let Some(line) = next(&mut input, MAX_LINE) {
        if tell.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line that is not empty; none at the end. A last line without its end was cut, and is no line.
fn next(input: &mut impl BufRead, limit: usize) -> Option<Line> {
    loop {
        let mut line = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        input.take(most).read_until(b'\n', &mut line).ok()?;
        if line.last() != Some(&b'\n') {
            if line.len() <= limit {
                return None;
            }
            skip(input)?;
            return Some(Line::TooLong);
        }
        match String::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => return Some(Line::Text(text)),
            Err(_) => return Some(Line::NotUtf8),
        }
    }
}

/// Reads to the end of the line.
fn skip(input: &mut impl BufRead) -> Option<()> {
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

/// Standard output: one message a line.
#[derive(Debug)]
pub(super) struct Output {
    /// Takes messages; closed once nobody reads them.
    pub(super) to: mpsc::Sender<String>,
    written: oneshot::Receiver<()>,
}

impl Output {
    /// Standard output.
    pub(super) fn stdout() -> Done<Self> {
        let (to, mut messages) = mpsc::channel::<String>(QUEUE);
        let (tell, written) = oneshot::channel();
        thread("stdout", move || {
            let mut output = std::io::stdout().lock();
            while let Some(message) = messages.blocking_recv() {
                let line = as_line(message);
                if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
            // Nobody may be waiting.
            let _ = tell.send(());
        })?;
        Ok(Self { to, written })
    }

    /// Waits until all is written, or the client does not take it.
    pub(super) async fn close(self) {
        drop(self.to);
        let _ = tokio::time::timeout(LAST_WORDS, self.written).await;
    }
}

/// One line: line feeds stand only between tokens of a message, where they mean nothing.
fn as_line(message: String) -> String {
    let mut line = if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message };
    line.push('\n');
    line
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Done {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started
        .map(|_| ())
        .map_err(|error| Failure::new(format!("cannot start: {}", crate::report::plain(&error))))
}

#[cfg(test)]
mod tests;
