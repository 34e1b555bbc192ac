//! Parses HTTP/1.1 responses as they arrive, with a length or in chunks. Reads only what a caller needs, so
//! that the load generator takes little of the measured time.

use memchr::memmem;

/// Maximum size of a response head, in bytes.
const HEAD_LIMIT: usize = 16 << 10;

/// One response.
#[derive(Debug, Default)]
pub(crate) struct HttpAnswer {
    /// Status code.
    pub(crate) status: u16,
    /// MCP session id.
    pub(crate) session: Option<String>,
    /// Body so far, without chunk headers.
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    /// Returns true if the body contains these bytes.
    pub(crate) fn body_contains(&self, bytes: &[u8]) -> bool {
        memmem::find(&self.body, bytes).is_some()
    }

    /// Returns the status and the start of the body, for messages.
    pub(crate) fn summary(&self) -> String {
        let first = self.body.get(..self.body.len().min(300)).unwrap_or_default();
        format!("{} {}", self.status, String::from_utf8_lossy(first).replace(['\r', '\n'], " ").trim())
    }
}

#[derive(Debug, Default, Clone, Copy)]
enum HttpReadState {
    #[default]
    Head,
    /// Number of missing bytes.
    Body(usize),
    ChunkSize,
    Chunk(usize),
    ChunkEnd,
    Trailers,
    Complete,
}

/// A response that is being read.
#[derive(Debug, Default)]
pub(crate) struct HttpAnswerReader {
    /// Received bytes; those before `at` have been parsed.
    pub(crate) buffer: Vec<u8>,
    position: usize,
    state: HttpReadState,
    answer: HttpAnswer,
}

impl HttpAnswerReader {
    /// Returns true if the head has been read.
    pub(crate) fn has_head(&self) -> bool {
        !matches!(self.state, HttpReadState::Head)
    }

    /// Returns the response so far.
    pub(crate) fn answer(&self) -> &HttpAnswer {
        &self.answer
    }

    /// Starts with the next response.
    pub(crate) fn start_next(&mut self) {
        self.buffer.drain(..self.position);
        (self.position, self.state) = (0, HttpReadState::Head);
        self.answer.body.clear();
        self.answer.session = None;
    }

    /// Parses the received bytes. Returns true if the response is complete.
    ///
    /// # Errors
    /// A description of the unsupported part.
    pub(crate) fn advance(&mut self) -> Result<bool, &'static str> {
        loop {
            let rest = self.buffer.get(self.position..).unwrap_or_default();
            match self.state {
                HttpReadState::Head => {
                    let Some(end) = memmem::find(rest, b"\r\n\r\n") else {
                        return if rest.len() > HEAD_LIMIT { Err("a head without end") } else { Ok(false) };
                    };
                    self.state = parse_head(rest.get(..end).unwrap_or_default(), &mut self.answer)?;
                    self.position += end + 4;
                }
                HttpReadState::Body(missing) | HttpReadState::Chunk(missing) => {
                    let here = missing.min(rest.len());
                    self.answer.body.extend_from_slice(rest.get(..here).unwrap_or_default());
                    self.position += here;
                    self.state = match (self.state, missing - here) {
                        (HttpReadState::Body(_), 0) => HttpReadState::Complete,
                        (_, 0) => HttpReadState::ChunkEnd,
                        (HttpReadState::Body(_), missing) => HttpReadState::Body(missing),
                        (_, missing) => HttpReadState::Chunk(missing),
                    };
                    if here < missing {
                        return Ok(false);
                    }
                }
                HttpReadState::ChunkSize => {
                    let Some(line) = first_line(rest) else { return Ok(false) };
                    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
                    let size = std::str::from_utf8(size).ok().map(str::trim);
                    let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
                    self.position += line.len() + 2;
                    self.state = match size.ok_or("a chunk without a size")? {
                        0 => HttpReadState::Trailers,
                        size => HttpReadState::Chunk(size),
                    };
                }
                HttpReadState::ChunkEnd if rest.len() < 2 => return Ok(false),
                HttpReadState::ChunkEnd => {
                    self.position += 2;
                    self.state = HttpReadState::ChunkSize;
                }
                HttpReadState::Trailers => {
                    let Some(line) = first_line(rest) else { return Ok(false) };
                    let is_last = line.is_empty();
                    self.position += line.len() + 2;
                    if is_last {
                        self.state = HttpReadState::Complete;
                    }
                }
                HttpReadState::Complete => return Ok(true),
            }
        }
    }
}

/// Returns the first line if it is complete.
fn first_line(rest: &[u8]) -> Option<&[u8]> {
    rest.get(..memmem::find(rest, b"\r\n")?)
}

/// Parses status and headers. Returns how the body is delimited.
fn parse_head(head: &[u8], answer: &mut HttpAnswer) -> Result<HttpReadState, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "a head that is no text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    answer.status = status.ok_or("no status of HTTP/1.1")?;
    let mut body = HttpReadState::Complete;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            body = HttpReadState::Body(value.parse().map_err(|_| "a length that is no number")?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            body = HttpReadState::ChunkSize;
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            answer.session = Some(value.to_owned());
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
