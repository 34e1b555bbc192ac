//! Parser for a stream of server-sent events (HTML standard, section 9.2.6).

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::upstream) struct McpSseEvent {
    /// The event type; `None` means `message`.
    pub(in crate::upstream) kind: Option<String>,
    /// The data, with its lines joined by line feeds.
    pub(in crate::upstream) data: Vec<u8>,
    /// The event id, which marks the position in the stream.
    pub(in crate::upstream) id: Option<String>,
    /// The delay before a reconnect, in milliseconds.
    pub(in crate::upstream) retry: Option<u64>,
}

/// An event is too long.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::upstream) struct SseEventTooLong;

/// Converts bytes to events.
#[derive(Debug)]
pub(in crate::upstream) struct McpSseParser {
    buffer: Vec<u8>,
    /// The offset of the first unexamined byte.
    scan_start: usize,
    limit: usize,
    event: McpSseEvent,
    /// True if there is content since the last event.
    has_content: bool,
    is_first: bool,
    after_return: bool,
}

/// Maximum number of consumed bytes to keep in the buffer.
const MAX_CONSUMED_BYTES: usize = 64 << 10;

impl McpSseParser {
    /// Creates a parser for events of at most `limit` bytes.
    pub(in crate::upstream) fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            scan_start: 0,
            limit,
            event: McpSseEvent::default(),
            has_content: false,
            is_first: true,
            after_return: false,
        }
    }

    /// Adds bytes of the stream.
    pub(in crate::upstream) fn push(&mut self, bytes: &[u8]) {
        if self.scan_start > MAX_CONSUMED_BYTES || self.scan_start == self.buffer.len() {
            self.buffer.drain(..self.scan_start);
            self.scan_start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event.
    ///
    /// # Errors
    /// [`SseEventTooLong`]; the stream is then unusable.
    pub(in crate::upstream) fn next(&mut self) -> Result<Option<McpSseEvent>, SseEventTooLong> {
        loop {
            if self.after_return && self.buffer.get(self.scan_start) == Some(&b'\n') {
                self.scan_start += 1;
            }
            if self.buffer.len() > self.scan_start {
                self.after_return = false;
            }
            let rest = self.buffer.get(self.scan_start..).unwrap_or_default();
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                if rest.len() + self.event.data.len() > self.limit {
                    return Err(SseEventTooLong);
                }
                return Ok(None);
            };
            self.after_return = rest.get(end) == Some(&b'\r');
            let from = self.scan_start;
            self.scan_start += end + 1;
            if end + self.event.data.len() > self.limit {
                return Err(SseEventTooLong);
            }
            if end == 0 {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
                continue;
            }
            self.line(from, from + end);
        }
    }

    /// Ends an event at an empty line.
    fn dispatch(&mut self) -> Option<McpSseEvent> {
        if !std::mem::take(&mut self.has_content) {
            return None;
        }
        let mut event = std::mem::take(&mut self.event);
        if event.data.last() == Some(&b'\n') {
            event.data.pop();
        }
        Some(event)
    }

    fn line(&mut self, from: usize, to: usize) {
        let mut line = self.buffer.get(from..to).unwrap_or_default();
        if std::mem::take(&mut self.is_first) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => {
                self.event.data.extend_from_slice(value);
                self.event.data.push(b'\n');
            }
            b"event" => self.event.kind = Some(text()),
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => return,
        }
        self.has_content = true;
    }
}

#[cfg(test)]
mod tests;
