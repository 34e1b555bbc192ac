//! Reads a stream of server-sent events as they come (HTML standard, section 9.2.6).

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::upstream) struct Event {
    /// What kind; `message` where nothing was said.
    pub(in crate::upstream) kind: Option<String>,
    /// What it says, its lines joined by line feeds.
    pub(in crate::upstream) data: Vec<u8>,
    /// Its id, where it has one: what was last seen.
    pub(in crate::upstream) id: Option<String>,
    /// How long to wait before connecting again, in milliseconds.
    pub(in crate::upstream) retry: Option<u64>,
}

/// An event is longer than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::upstream) struct TooLong;

/// Takes bytes and gives events.
#[derive(Debug)]
pub(in crate::upstream) struct Events {
    held: Vec<u8>,
    /// From where in `held` on nothing was looked at.
    at: usize,
    limit: usize,
    event: Event,
    /// Whether anything was said since the last event.
    begun: bool,
    first: bool,
    after_return: bool,
}

/// How much of what was read may lie about.
const KEEP: usize = 64 << 10;

impl Events {
    /// Events have at most this many bytes.
    pub(in crate::upstream) fn new(limit: usize) -> Self {
        Self {
            held: Vec::new(),
            at: 0,
            limit,
            event: Event::default(),
            begun: false,
            first: true,
            after_return: false,
        }
    }

    /// Takes more of the stream.
    pub(in crate::upstream) fn push(&mut self, bytes: &[u8]) {
        if self.at > KEEP || self.at == self.held.len() {
            self.held.drain(..self.at);
            self.at = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// The next event that is whole.
    ///
    /// # Errors
    /// [`TooLong`]; the stream is of no use any more.
    pub(in crate::upstream) fn next(&mut self) -> Result<Option<Event>, TooLong> {
        loop {
            if self.after_return && self.held.get(self.at) == Some(&b'\n') {
                self.at += 1;
            }
            if self.held.len() > self.at {
                self.after_return = false;
            }
            let rest = self.held.get(self.at..).unwrap_or_default();
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                if rest.len() + self.event.data.len() > self.limit {
                    return Err(TooLong);
                }
                return Ok(None);
            };
            self.after_return = rest.get(end) == Some(&b'\r');
            let from = self.at;
            self.at += end + 1;
            if end + self.event.data.len() > self.limit {
                return Err(TooLong);
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

    /// An empty line ends an event.
    fn dispatch(&mut self) -> Option<Event> {
        if !std::mem::take(&mut self.begun) {
            return None;
        }
        let mut event = std::mem::take(&mut self.event);
        if event.data.last() == Some(&b'\n') {
            event.data.pop();
        }
        Some(event)
    }

    fn line(&mut self, from: usize, to: usize) {
        let mut line = self.held.get(from..to).unwrap_or_default();
        if std::mem::take(&mut self.first) {
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
        self.begun = true;
    }
}

#[cfg(test)]
mod tests;
