//! JSON that passes through `rmcp` unchanged. The types of `rmcp` hold schemas and structured results as parsed
//! values, and writing those would change key order and number formats. So JSON that must not change becomes a string
//! with a marker. On the way out each marked string is replaced by its content: a value, a list of tools instead of
//! one tool, or a whole result of `tools/call`.
//!
//! The marker has random bits for each server, so that no tool can forge it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use memchr::memmem;
use serde_json::Value;

/// The JSON around a marked string, which is replaced with it.
struct MarkWrapper {
    prefix: &'static [u8],
    suffix: &'static [u8],
}

/// A result of `tools/call` whose type contains the whole result.
const RESULT: MarkWrapper = MarkWrapper { prefix: b"{\"resultType\":", suffix: b",\"content\":[]}" };
/// A tool whose name contains a list of tools.
const LIST: MarkWrapper = MarkWrapper { prefix: b"{\"name\":", suffix: b",\"inputSchema\":{}}" };
/// The same with sorted fields, as in a map.
const SORTED_RESULT: MarkWrapper = MarkWrapper { prefix: b"{\"content\":[],\"resultType\":", suffix: b"}" };
/// A string instead of a value.
const VALUE: MarkWrapper = MarkWrapper { prefix: b"", suffix: b"" };

/// Replaces `"`, so that a string with JSON needs no escaping.
const QUOTE: char = '\u{7f}';
/// Replaces `\`.
const BACKSLASH: char = '\u{80}';
/// Flag: the text contains the replacement characters.
const REPLACED: char = 'r';
/// Flag: the text is unchanged, because it contains one of the replacement characters.
const PLAIN: char = 'p';

/// Marks JSON, and restores it in the output.
#[derive(Debug, Clone)]
pub struct VerbatimMarker(Arc<str>);

impl Default for VerbatimMarker {
    fn default() -> Self {
        Self(format!("verbatim-{}-", uuid::Uuid::new_v4().simple()).into())
    }
}

impl VerbatimMarker {
    /// Returns a value that is written as this JSON text.
    #[must_use]
    pub fn mark_value(&self, json: &str) -> Value {
        Value::String(self.mark(json))
    }

    /// Returns the name of a tool that is written as these tools: JSON objects separated by commas. That tool must be
    /// alone in its list and have an empty schema.
    #[must_use]
    pub fn mark_tool_list(&self, tools: &str) -> String {
        self.mark(tools)
    }

    /// Returns the type of a `tools/call` result that is written as this JSON object. The result must be otherwise
    /// empty.
    #[must_use]
    pub fn mark_result(&self, json: &str) -> String {
        self.mark(json)
    }

    fn mark(&self, json: &str) -> String {
        let mut marked = String::with_capacity(self.0.len() + 1 + json.len() + json.len() / 16);
        marked.push_str(&self.0);
        let is_plain = json.contains([QUOTE, BACKSLASH]);
        marked.push(if is_plain { PLAIN } else { REPLACED });
        let mut rest = json;
        while let Some(at) = rest.find(['\n', '\r', '\t', '"', '\\']) {
            let (before, found) = rest.split_at(at);
            marked.push_str(before);
            marked.push(match found.as_bytes().first() {
                Some(b'"') if !is_plain => QUOTE,
                Some(b'\\') if !is_plain => BACKSLASH,
                Some(b'"') => '"',
                Some(b'\\') => '\\',
                // Transports end messages at line feeds, which are plain whitespace between tokens.
                _ => ' ',
            });
            rest = found.get(1..).unwrap_or_default();
        }
        marked.push_str(rest);
        marked
    }

    /// Wraps a body, and restores the marked JSON in it.
    pub fn wrap_body<B>(&self, body: B) -> VerbatimBody<B> {
        VerbatimBody { body, splicer: self.splicer(), ended: false }
    }

    /// Creates a splicer for a stream of bytes.
    #[must_use]
    pub fn splicer(&self) -> VerbatimSplicer {
        VerbatimSplicer { mark: format!("\"{}", self.0).into_bytes(), pending: Vec::new() }
    }
}

/// Restores marked JSON in a stream of chunks.
#[derive(Debug)]
pub struct VerbatimSplicer {
    /// The marker with the preceding quote.
    mark: Vec<u8>,
    /// Bytes that may be the start of a marked string.
    pending: Vec<u8>,
}

impl VerbatimSplicer {
    /// Adds a chunk and returns the bytes that are ready.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(piece);
        let mut out = Vec::with_capacity(self.pending.len());
        let mut from = 0;
        loop {
            let rest = self.pending.get(from..).unwrap_or_default();
            let Some(at) = memmem::find(rest, &self.mark) else {
                let keep = self.partial_mark_length(rest);
                let (whole, kept) = rest.split_at(rest.len() - keep);
                out.extend_from_slice(whole);
                self.pending = kept.to_vec();
                return out;
            };
            let (before, marked) = rest.split_at(at);
            let wrapper = [RESULT, SORTED_RESULT, LIST]
                .into_iter()
                .find(|it| before.ends_with(it.prefix))
                .unwrap_or(VALUE);
            let begins = at - wrapper.prefix.len();
            out.extend_from_slice(before.get(..begins).unwrap_or_default());
            let Some(used) = self.unmark(marked, &wrapper, &mut out) else {
                // The end of the string is still missing.
                self.pending = rest.get(begins..).unwrap_or_default().to_vec();
                return out;
            };
            from += at + used;
        }
    }

    /// Returns the remaining bytes at the end of the stream; none if it was complete.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// The number of bytes at the end that may be the start of a marked string.
    fn partial_mark_length(&self, rest: &[u8]) -> usize {
        let begins = |wrapper: &MarkWrapper| {
            let whole = wrapper.prefix.len() + self.mark.len();
            let is_part = |length: &usize| {
                let tail = rest.get(rest.len() - length..).unwrap_or_default();
                let (opens, mark) = tail.split_at(tail.len().min(wrapper.prefix.len()));
                wrapper.prefix.starts_with(opens) && self.mark.starts_with(mark)
            };
            (1..whole.min(rest.len() + 1)).rev().find(is_part).unwrap_or(0)
        };
        [RESULT, SORTED_RESULT, LIST, VALUE].iter().map(begins).max().unwrap_or(0)
    }

    /// Writes the content of a marked string, and returns the number of bytes that it replaces. Returns `None` and
    /// writes nothing if the end is missing.
    fn unmark(&self, marked: &[u8], wrapper: &MarkWrapper, out: &mut Vec<u8>) -> Option<usize> {
        let (form, body) = marked.get(self.mark.len()..)?.split_first()?;
        let length = match char::from(*form) {
            REPLACED => memchr::memchr(b'"', body)?,
            _ => string_length(body)?,
        };
        let used = self.mark.len() + 1 + length + 1;
        let all = used + wrapper.suffix.len();
        marked.get(..all)?;
        let body = body.get(..length)?;
        match char::from(*form) {
            REPLACED => restore(body, out),
            _ => out.extend_from_slice(unescape(body).as_bytes()),
        }
        Some(all)
    }
}

/// The length of a JSON string after its first quote.
fn string_length(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match body.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Unescapes a JSON string that `serde_json` has written.
fn unescape(body: &[u8]) -> String {
    let quoted = [b"\"", body, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_default()
}

/// Restores quotes and backslashes.
fn restore(body: &[u8], out: &mut Vec<u8>) {
    let mut rest = body;
    // U+0080 is C2 80 in UTF-8, and other characters start with C2 as well.
    while let Some(at) = memchr::memchr2(0x7f, 0xc2, rest) {
        let (before, found) = rest.split_at(at);
        out.extend_from_slice(before);
        let used = match found {
            [0x7f, ..] => {
                out.push(b'"');
                1
            }
            [0xc2, 0x80, ..] => {
                out.push(b'\\');
                2
            }
            _ => {
                out.extend_from_slice(found.get(..1).unwrap_or_default());
                1
            }
        };
        rest = found.get(used..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// A body with restored JSON.
#[derive(Debug)]
pub struct VerbatimBody<B> {
    body: B,
    splicer: VerbatimSplicer,
    ended: bool,
}

impl<B> Body for VerbatimBody<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            let frame = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(frame) => frame,
            };
            let out = match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.splicer.push(&data),
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Some(Err(never)) => match never {},
                None => {
                    self.ended = true;
                    self.splicer.finish()
                }
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
    }
}

#[cfg(test)]
mod tests;
