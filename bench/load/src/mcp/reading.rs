//! HTTP/1.1 answers, taken apart as they come in, with a length or in chunks. Nothing of them is looked at but what a
//! caller must know, so that the generator takes little of the time that it measures.

use memchr::memmem;

/// Most bytes of an answer's head.
const HEAD_LIMIT: usize = 16 << 10;

/// One answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// The MCP session that it names.
    pub(crate) session: Option<String>,
    /// What has come of its body, chunks put together.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Whether its body has these bytes in it.
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        memmem::find(&self.body, bytes).is_some()
    }

    /// Its status and the first of its body, for messages.
    pub(crate) fn shown(&self) -> String {
        let first = self.body.get(..self.body.len().min(300)).unwrap_or_default();
        format!("{} {}", self.status, String::from_utf8_lossy(first).replace(['\r', '\n'], " ").trim())
    }
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Head,
    /// So many bytes are missing.
    Body(usize),
    ChunkSize,
    Chunk(usize),
    ChunkEnd,
    Trailers,
    Whole,
}

/// An answer while it is read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Bytes as they came; those before `at` have been looked at.
    pub(crate) held: Vec<u8>,
    at: usize,
    state: State,
    answer: Answer,
}

impl Reading {
    /// Whether the head of the answer has been read.
    pub(crate) fn has_head(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// What has been read of the answer so far.
    pub(crate) fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Begins with the next answer.
    pub(crate) fn next(&mut self) {
        self.held.drain(..self.at);
        (self.at, self.state) = (0, State::Head);
        self.answer.body.clear();
        self.answer.session = None;
    }

    /// Looks at what has come; says whether the answer is whole.
    ///
    /// # Errors
    /// What is not understood here.
    pub(crate) fn advance(&mut self) -> Result<bool, &'static str> {
        loop {
            let rest = self.held.get(self.at..).unwrap_or_default();
            match self.state {
                State::Head => {
                    let Some(end) = memmem::find(rest, b"\r\n\r\n") else {
                        return if rest.len() > HEAD_LIMIT { Err("a head without end") } else { Ok(false) };
                    };
                    self.state = read_head(rest.get(..end).unwrap_or_default(), &mut self.answer)?;
                    self.at += end + 4;
                }
                State::Body(missing) | State::Chunk(missing) => {
                    let here = missing.min(rest.len());
                    self.answer.body.extend_from_slice(rest.get(..here).unwrap_or_default());
                    self.at += here;
                    self.state = match (self.state, missing - here) {
                        (State::Body(_), 0) => State::Whole,
                        (_, 0) => State::ChunkEnd,
                        (State::Body(_), missing) => State::Body(missing),
                        (_, missing) => State::Chunk(missing),
                    };
                    if here < missing {
                        return Ok(false);
                    }
                }
                State::ChunkSize => {
                    let Some(line) = line(rest) else { return Ok(false) };
                    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
                    let size = std::str::from_utf8(size).ok().map(str::trim);
                    let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
                    self.at += line.len() + 2;
                    self.state = match size.ok_or("a chunk without a size")? {
                        0 => State::Trailers,
                        size => State::Chunk(size),
                    };
                }
                State::ChunkEnd if rest.len() < 2 => return Ok(false),
                State::ChunkEnd => {
                    self.at += 2;
                    self.state = State::ChunkSize;
                }
                State::Trailers => {
                    let Some(line) = line(rest) else { return Ok(false) };
                    let is_last = line.is_empty();
                    self.at += line.len() + 2;
                    if is_last {
                        self.state = State::Whole;
                    }
                }
                State::Whole => return Ok(true),
            }
        }
    }
}

/// The first line, where its end has come.
fn line(rest: &[u8]) -> Option<&[u8]> {
    rest.get(..memmem::find(rest, b"\r\n")?)
}

/// Reads status and headers; says how the body comes.
fn read_head(head: &[u8], answer: &mut Answer) -> Result<State, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "a head that is no text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    answer.status = status.ok_or("no status of HTTP/1.1")?;
    let mut body = State::Whole;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            body = State::Body(value.parse().map_err(|_| "a length that is no number")?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            body = State::ChunkSize;
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            answer.session = Some(value.to_owned());
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
