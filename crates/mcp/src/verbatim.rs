//! JSON that crosses `rmcp` as it was written. Its types hold schemas and structured results as parsed values, which
//! would come out with other key orders and other forms of numbers. So what is to stay as it is goes in as a string
//! that begins with a mark, and on the way out each such string is replaced by what it holds.
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

/// Stands before a string that holds a list of tools, where `rmcp` writes one tool.
const LIST_OPENS: &[u8] = b"{\"name\":";
/// Stands behind it.
const LIST_CLOSES: &[u8] = b",\"inputSchema\":{}}";

/// Marks JSON, and puts it in its place.
#[derive(Debug, Clone)]
pub struct Verbatim(Arc<str>);

impl Default for Verbatim {
    fn default() -> Self {
        Self(format!("verbatim-{}-", uuid::Uuid::new_v4().simple()).into())
    }
}

impl Verbatim {
    /// A value that is written as this JSON text.
    #[must_use]
    pub fn value(&self, json: &str) -> Value {
        Value::String(self.mark(json))
    }

    /// The name of the one tool of a list that is written as these tools: JSON objects with commas between them. That
    /// tool must have an empty schema and nothing else.
    #[must_use]
    pub fn list(&self, tools: &str) -> String {
        self.mark(tools)
    }

    fn mark(&self, json: &str) -> String {
        let mut marked = String::with_capacity(self.0.len() + json.len());
        marked.push_str(&self.0);
        // What carries messages ends them at line feeds, which between tokens are nothing but space.
        marked.extend(json.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        marked
    }

    /// A body in which all that was marked stands as it was written.
    pub fn body<B>(&self, body: B) -> VerbatimBody<B> {
        VerbatimBody { body, splicer: self.splicer(), ended: false }
    }

    /// For a stream of bytes.
    #[must_use]
    pub fn splicer(&self) -> Splicer {
        Splicer { mark: format!("\"{}", self.0).into_bytes(), held: Vec::new() }
    }
}

/// Puts what was marked in its place, in a stream that comes in pieces.
#[derive(Debug)]
pub struct Splicer {
    /// With the quote before it.
    mark: Vec<u8>,
    /// What may be the beginning of something marked.
    held: Vec<u8>,
}

impl Splicer {
    /// Takes a piece and gives what can be passed on.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let mut out = Vec::with_capacity(self.held.len());
        let mut from = 0;
        loop {
            let rest = self.held.get(from..).unwrap_or_default();
            let Some(at) = memmem::find(rest, &self.mark) else {
                let keep = self.may_begin(rest);
                let (whole, kept) = rest.split_at(rest.len() - keep);
                out.extend_from_slice(whole);
                self.held = kept.to_vec();
                return out;
            };
            let (before, marked) = rest.split_at(at);
            let is_list = before.ends_with(LIST_OPENS);
            let opens = if is_list { LIST_OPENS.len() } else { 0 };
            let Some((json, used)) = self.unmark(marked, is_list) else {
                // Its end has not come yet.
                let (whole, kept) = rest.split_at(at - opens);
                out.extend_from_slice(whole);
                self.held = kept.to_vec();
                return out;
            };
            out.extend_from_slice(before.get(..at - opens).unwrap_or_default());
            out.extend_from_slice(json.as_bytes());
            from += at + used;
        }
    }

    /// What is left at the end: nothing where the stream was whole.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// How much of the end may be the beginning of something marked.
    fn may_begin(&self, rest: &[u8]) -> usize {
        let longest = (LIST_OPENS.len() + self.mark.len() - 1).min(rest.len());
        let begins = |tail: &[u8]| {
            let list = [LIST_OPENS, &self.mark].concat();
            list.starts_with(tail) || self.mark.starts_with(tail)
        };
        (1..=longest).rev().find(|length| rest.get(rest.len() - length..).is_some_and(begins)).unwrap_or(0)
    }

    /// What a marked string holds, and how many bytes it and what belongs to it take; nothing where its end is missing.
    fn unmark(&self, marked: &[u8], is_list: bool) -> Option<(String, usize)> {
        let mut at = self.mark.len();
        loop {
            match marked.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        let string = marked.get(..=at)?;
        let closes = if is_list { LIST_CLOSES.len() } else { 0 };
        marked.get(..=at + closes)?;
        // It was written by serde_json a moment ago.
        let text: String = serde_json::from_slice(string).ok()?;
        let json = text.get(self.mark.len() - 1..)?.to_owned();
        Some((json, at + 1 + closes))
    }
}

/// A body with what was marked in its place.
#[derive(Debug)]
pub struct VerbatimBody<B> {
    body: B,
    splicer: Splicer,
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
