//! Parser for server-sent events (HTML standard, section 9.2.6). Input may be split anywhere. Lines end in LF, CR or
//! both; several `data` lines form one text; comments and a leading byte order mark are skipped. Memory is bounded by
//! the size limit of one event.

#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")
)]

use std::borrow::Cow;

/// Default size limit of an event, in bytes: a model's complete response with images fits.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Maximum capacity that the buffers keep between events.
const MAX_KEPT_CAPACITY: usize = 64 * 1024;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Its type; empty if it has none, which means `message`.
    pub name: Cow<'a, str>,
    /// The data of the event. Invalid UTF-8 is replaced (HTML standard, section 9.2.6).
    pub data: Cow<'a, str>,
    /// The data of the event, byte for byte.
    pub bytes: &'a [u8],
    /// Its id, to name when the stream is opened again.
    pub id: Option<Cow<'a, str>>,
    /// Time to wait before the stream is opened again, in milliseconds.
    pub retry: Option<u64>,
}

/// An event is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {0} bytes")]
pub struct EventTooLong(pub usize);

/// The parser. Give it bytes with [`SseParser::push`], then take events with [`SseParser::next_event`] until there
/// are none.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// If true, events without data are returned too.
    includes_empty: bool,
    /// Received bytes; those before `start` are consumed.
    buffer: Vec<u8>,
    start: usize,
    /// Up to where no end of line was found.
    scanned: usize,
    /// The last line ended in CR, so an LF after it belongs to it.
    after_cr: bool,
    /// Input was consumed. A byte order mark counts only at the beginning.
    has_started: bool,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    id: Option<Vec<u8>>,
    retry: Option<u64>,
    /// The present event was already returned.
    is_event_taken: bool,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser for events of at most this many bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            includes_empty: false,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            after_cr: false,
            has_started: false,
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            id: None,
            retry: None,
            is_event_taken: false,
        }
    }

    /// Also gives out events without data, if they have a name, an id or a time to wait. Whoever opens the stream again
    /// needs them.
    #[must_use]
    pub fn including_empty(mut self) -> Self {
        self.includes_empty = true;
        self
    }

    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned = self.scanned.saturating_sub(self.start);
            self.start = 0;
        }
        if self.buffer.is_empty() {
            self.buffer.shrink_to(MAX_KEPT_CAPACITY);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event that is whole.
    ///
    /// # Errors
    /// [`EventTooLong`]; the stream can't continue after it.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, EventTooLong> {
        self.clear_taken();
        loop {
            let Some(end) = self.line_end() else {
                self.check_size(self.buffer.len() - self.start)?;
                return Ok(None);
            };
            let start = std::mem::replace(&mut self.start, end + 1);
            self.after_cr = self.buffer.get(end) == Some(&b'\r');
            if start == end {
                self.has_started = true;
                let is_empty = self.name.is_empty() && self.id.is_none() && self.retry.is_none();
                if self.has_data || (self.includes_empty && !is_empty) {
                    return Ok(Some(self.take_event()));
                }
                self.clear_event();
                continue;
            }
            self.take_line(start, end)?;
        }
    }

    /// The event that was not ended by an empty line before the bytes ended, whole or not.
    pub fn last_event(&mut self) -> Option<SseEvent<'_>> {
        self.clear_taken();
        let (start, end) = (self.start, self.buffer.len());
        self.start = end;
        if start < end && self.take_line(start, end).is_err() {
            return None;
        }
        self.has_data.then(|| self.take_event())
    }

    /// The position of the next end of line; steps over an LF that belongs to the line before.
    fn line_end(&mut self) -> Option<usize> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer.get(self.start) == Some(&b'\n') {
                self.start += 1;
            }
        }
        let from = self.scanned.max(self.start);
        let rest = self.buffer.get(from..)?;
        let found = memchr::memchr2(b'\n', b'\r', rest);
        self.scanned = found.map_or(self.buffer.len(), |at| from + at);
        found.map(|at| from + at)
    }

    fn take_line(&mut self, start: usize, end: usize) -> Result<(), EventTooLong> {
        self.check_size(end - start)?;
        let mut line = self.buffer.get(start..end).unwrap_or_default();
        if !self.has_started {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        self.has_started = true;
        let colon = memchr::memchr(b':', line);
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // An id with NUL, and a time that is not all digits, are ignored (HTML standard, section 9.2.6).
            b"id" if !value.contains(&0) => self.id = Some(value.to_owned()),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                self.retry = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            }
            // Comments and unknown fields.
            _ => {}
        }
        Ok(())
    }

    fn check_size(&self, line: usize) -> Result<(), EventTooLong> {
        // The line feed between two lines of data counts too.
        let before = self.data.len() + usize::from(self.has_data);
        if before + line > self.limit { Err(EventTooLong(self.limit)) } else { Ok(()) }
    }

    fn take_event(&mut self) -> SseEvent<'_> {
        self.is_event_taken = true;
        SseEvent {
            name: String::from_utf8_lossy(&self.name),
            data: String::from_utf8_lossy(&self.data),
            bytes: &self.data,
            id: self.id.as_deref().map(String::from_utf8_lossy),
            retry: self.retry,
        }
    }

    fn clear_taken(&mut self) {
        if std::mem::take(&mut self.is_event_taken) {
            self.clear_event();
        }
    }

    fn clear_event(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        self.id = None;
        self.retry = None;
        self.data.shrink_to(MAX_KEPT_CAPACITY);
        self.name.shrink_to(MAX_KEPT_CAPACITY);
    }
}

#[cfg(test)]
mod tests;
