//! JSON that crosses `rmcp` as it was written. Its types hold schemas and structured results as parsed values, which
//! would come out with other key orders and other forms of numbers. So what is to stay as it is goes in as a string
//! that begins with a mark, and on the way out each such string is replaced by what it holds: a value, a list of tools
//! in the place of one tool, or a whole result of `tools/call`.
//!
//! The mark is made of random bits once for each server, so that no tool can write one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use memchr::memmem;
use serde_json::Value;

/// What `rmcp` writes around a marked string, and that goes with it.
struct MarkWrapper {
    prefix: &'static [u8],
    suffix: &'static [u8],
}

/// A result of `tools/call` whose type is the whole result.
const RESULT: MarkWrapper = MarkWrapper { prefix: b"{\"resultType\":", suffix: b",\"content\":[]}" };
/// A tool whose name is a list of tools.
const LIST: MarkWrapper = MarkWrapper { prefix: b"{\"name\":", suffix: b",\"inputSchema\":{}}" };
/// The same where its fields were sorted, as in a map.
const SORTED_RESULT: MarkWrapper = MarkWrapper { prefix: b"{\"content\":[],\"resultType\":", suffix: b"}" };
/// A string in the place of a value.
const VALUE: MarkWrapper = MarkWrapper { prefix: b"", suffix: b"" };

/// Stands for `"`, so that a string that holds JSON needs no escaping.
const QUOTE: char = '\u{7f}';
/// Stands for `\`.
const BACKSLASH: char = '\u{80}';
/// Says that the two stand for what they replace.
const REPLACED: char = 'r';
/// Says that the text is as it is: it has one of the two in it.
const PLAIN: char = 'p';

/// Marks JSON, and puts it in its place.
#[derive(Debug, Clone)]
pub struct VerbatimMarker(Arc<str>);

impl Default for VerbatimMarker {
    fn default() -> Self {
        Self(format!("verbatim-{}-", uuid::Uuid::new_v4().simple()).into())
    }
}

impl VerbatimMarker {
    /// A value that is written as this JSON text.
    #[must_use]
    pub fn mark_value(&self, json: &str) -> Value {
        Value::String(self.mark(json))
    }

    /// The name of the one tool of a list that is written as these tools: JSON objects with commas between them. That
    /// tool must have an empty schema and nothing else.
    #[must_use]
    pub fn mark_tool_list(&self, tools: &str) -> String {
        self.mark(tools)
    }

    /// The type of a result of `tools/call` that is written as this JSON object. It must have no content and nothing
    /// else.
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
                // What carries messages ends them at line feeds, which between tokens are nothing but space.
                _ => ' ',
            });
            rest = found.get(1..).unwrap_or_default();
        }
        marked.push_str(rest);
        marked
    }

    /// A body in which all that was marked stands as it was written.
    pub fn wrap_body<B>(&self, body: B) -> VerbatimBody<B> {
        VerbatimBody { body, splicer: self.splicer(), ended: false }
    }

    /// For a stream of bytes.
    #[must_use]
    pub fn splicer(&self) -> VerbatimSplicer {
        VerbatimSplicer { mark: format!("\"{}", self.0).into_bytes(), pending: Vec::new() }
    }
}

/// Puts what was marked in its place, in a stream that comes in pieces.
#[derive(Debug)]
pub struct VerbatimSplicer {
    /// With the quote before it.
    mark: Vec<u8>,
    /// What may be the beginning of something marked.
    pending: Vec<u8>,
}

impl VerbatimSplicer {
    /// Takes a piece and gives what can be passed on.
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
            let carrier = [RESULT, SORTED_RESULT, LIST]
                .into_iter()
                .find(|it| before.ends_with(it.prefix))
                .unwrap_or(VALUE);
            let begins = at - carrier.prefix.len();
            out.extend_from_slice(before.get(..begins).unwrap_or_default());
            let Some(used) = self.unmark(marked, &carrier, &mut out) else {
                // Its end has not come yet.
                self.pending = rest.get(begins..).unwrap_or_default().to_vec();
                return out;
            };
            from += at + used;
        }
    }

    /// What is left at the end: nothing where the stream was whole.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// How much of the end may be the beginning of something marked.
    fn partial_mark_length(&self, rest: &[u8]) -> usize {
        let begins = |carrier: &MarkWrapper| {
            let whole = carrier.prefix.len() + self.mark.len();
            let is_part = |length: &usize| {
                let tail = rest.get(rest.len() - length..).unwrap_or_default();
                let (opens, mark) = tail.split_at(tail.len().min(carrier.prefix.len()));
                carrier.prefix.starts_with(opens) && self.mark.starts_with(mark)
            };
            (1..whole.min(rest.len() + 1)).rev().find(is_part).unwrap_or(0)
        };
        [RESULT, SORTED_RESULT, LIST, VALUE].iter().map(begins).max().unwrap_or(0)
    }

    /// Writes what a marked string holds, and says how many bytes it and what goes with it take; writes nothing and
    /// gives nothing where its end is missing.
    fn unmark(&self, marked: &[u8], carrier: &MarkWrapper, out: &mut Vec<u8>) -> Option<usize> {
        let (form, body) = marked.get(self.mark.len()..)?.split_first()?;
        let length = match char::from(*form) {
            REPLACED => memchr::memchr(b'"', body)?,
            _ => string_length(body)?,
        };
        let used = self.mark.len() + 1 + length + 1;
        let all = used + carrier.suffix.len();
        marked.get(..all)?;
        let body = body.get(..length)?;
        match char::from(*form) {
            REPLACED => restore(body, out),
            _ => out.extend_from_slice(unescape(body).as_bytes()),
        }
        Some(all)
    }
}

/// Where a string of JSON ends whose first quote is behind us.
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

/// What a string of JSON means. It was written by `serde_json` a moment ago.
fn unescape(body: &[u8]) -> String {
    let quoted = [b"\"", body, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_default()
}

/// Puts quotes and backslashes back.
fn restore(body: &[u8], out: &mut Vec<u8>) {
    let mut rest = body;
    // U+0080 is C2 80 in UTF-8, and C2 begins other characters too.
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

/// A body with what was marked in its place.
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
