//! Messages in the lines of a program's output. Each should be one line (MCP 2025-11-25, "stdio"). Some servers write one
//! over several lines, or several in one line.

use super::super::message_handler::MessageHandler;
use crate::upstream::exchange::MessageOrigin;
use crate::upstream::frame::{self, IncomingMessage, UnreadableMessage};

/// Place of a message in a log line.
const PLACE: &str = "its output has a line";

/// Reads messages from lines.
pub(super) struct LineMessages {
    max_bytes: usize,
    /// The beginning of a message that continues in the next line.
    part: Vec<u8>,
    /// Number of open brackets in `part`.
    depth: usize,
    is_in_string: bool,
    has_noted_parts: bool,
}

impl LineMessages {
    /// A message may have `max_bytes`.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, part: Vec::new(), depth: 0, is_in_string: false, has_noted_parts: false }
    }

    /// Returns true if a message has begun and continues in the next line.
    pub(super) fn has_part(&self) -> bool {
        !self.part.is_empty()
    }

    /// Takes a line, and passes on its messages.
    pub(super) fn take_line(&mut self, handler: &impl MessageHandler, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if self.has_part() {
            if !is_message(line) {
                return self.continue_part(handler, line);
            }
            self.give_up(handler, "it was not finished");
        }
        if let Some(rest) = frame::parse_sequence(line, |message| dispatch(handler, message, line)) {
            self.continue_part(handler, rest.as_bytes());
        }
    }

    /// Ends the waiting for the rest of a message.
    pub(super) fn give_up(&mut self, handler: &impl MessageHandler, reason: &str) {
        if self.part.is_empty() {
            return;
        }
        let part = self.take_part();
        let text = String::from_utf8_lossy(&part);
        dispatch(handler, Err(UnreadableMessage::find(&text, reason.to_owned())), &part);
    }

    fn continue_part(&mut self, handler: &impl MessageHandler, line: &[u8]) {
        self.part.extend_from_slice(line);
        self.part.push(b'\n');
        let mut bytes = line.iter();
        while let Some(byte) = bytes.next() {
            match (byte, self.is_in_string) {
                (b'\\', true) => {
                    bytes.next();
                }
                (b'"', _) => self.is_in_string = !self.is_in_string,
                (b'{' | b'[', false) => self.depth += 1,
                (b'}' | b']', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        if self.part.len() > self.max_bytes {
            return self.give_up(handler, &format!("it is longer than {} bytes", self.max_bytes));
        }
        if self.is_in_string {
            return self.give_up(handler, "it has a line break within a string");
        }
        if self.depth > 0 {
            return;
        }
        let message = self.take_part();
        if !std::mem::replace(&mut self.has_noted_parts, true) {
            handler.log_anomaly("it writes a message over several lines; it should be one line");
        }
        if frame::parse_sequence(&message, |read| dispatch(handler, read, &message)).is_some() {
            let text = String::from_utf8_lossy(&message);
            dispatch(
                handler,
                Err(UnreadableMessage::find(&text, "its rest is missing".to_owned())),
                &message,
            );
        }
    }

    fn take_part(&mut self) -> Vec<u8> {
        (self.depth, self.is_in_string) = (0, false);
        std::mem::take(&mut self.part)
    }
}

/// Returns true if a text is exactly one message.
pub(super) fn is_message(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.first() == Some(&b'{') && frame::parse(&String::from_utf8_lossy(text)).is_ok()
}

fn dispatch(
    handler: &impl MessageHandler,
    message: Result<IncomingMessage<'_>, UnreadableMessage>,
    line: &[u8],
) {
    match message {
        Ok(message) => handler.handle_message(message, MessageOrigin::Shared),
        Err(unreadable) => handler.handle_unreadable(&unreadable, PLACE, line),
    }
}

#[cfg(test)]
mod tests;
