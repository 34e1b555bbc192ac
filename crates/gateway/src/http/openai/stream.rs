//! An answer as it comes, in the pieces in which OpenAI streams one. What it has no piece for (the agent's tools, the
//! model's thinking) goes into fields of our own, which others pass over.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;
use toolway_agent::event::{TurnEnd, TurnEvent, TurnStatus};
use toolway_types::RawJson;

use super::error::DoorError;
use super::reply::{Called, Ended, Head, Used, finish_reason, used};
use crate::access::TokenState;
use crate::chat::frames;

/// What says that nothing follows.
const DONE: &str = "[DONE]";

/// A piece of an answer.
#[derive(Debug, Serialize)]
struct Piece<'a> {
    #[serde(flatten)]
    head: &'a Head,
    object: &'static str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Used>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolway: Option<Note<'a>>,
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// The model's thinking, where other makers' servers give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Called<'a>; 1]>,
}

/// A field of our own.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Note<'a> {
    /// Something that happened.
    Event(RawJson),
    /// The end.
    Ended(Ended<'a>),
}

/// The pieces that have been made and wait to be sent.
struct Pieces {
    head: Head,
    include_usage: bool,
    ready: VecDeque<String>,
}

impl Pieces {
    fn new(head: Head, include_usage: bool) -> Self {
        let mut pieces = Self { head, include_usage, ready: VecDeque::new() };
        pieces.say(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, None, None);
        pieces
    }

    fn say(&mut self, delta: Delta<'_>, finish_reason: Option<&'static str>, toolway: Option<Note<'_>>) {
        let choice = Choice { index: 0, delta, logprobs: None, finish_reason };
        self.put(&[choice], None, toolway);
    }

    fn put(&mut self, choices: &[Choice<'_>], usage: Option<Used>, toolway: Option<Note<'_>>) {
        let piece = Piece { head: &self.head, object: "chat.completion.chunk", choices, usage, toolway };
        // All of it is strings, numbers and JSON, so this can't fail.
        let written = serde_json::to_string(&piece).unwrap_or_default();
        self.ready.push_back(written);
    }

    /// Makes the pieces of an event; says whether it was the last.
    fn take(&mut self, event: TurnEvent) -> bool {
        match event {
            TurnEvent::Chunk(text) => {
                self.say(Delta { content: Some(&text), ..Delta::default() }, None, None);
            }
            TurnEvent::Thinking(text) => {
                self.say(Delta { reasoning_content: Some(&text), ..Delta::default() }, None, None);
            }
            TurnEvent::Ended(end) => {
                self.end(&end);
                return true;
            }
            // Nobody is here who would see the title.
            TurnEvent::Titled(_) => {}
            other => {
                if let Some(note) = frames::frame(other, toolway_wire::VERSION).and_then(note) {
                    self.say(Delta::default(), None, Some(Note::Event(note)));
                }
            }
        }
        false
    }

    fn end(&mut self, end: &TurnEnd) {
        match &end.status {
            TurnStatus::Done => {}
            TurnStatus::Aborted => return self.fail(&DoorError::aborted()),
            TurnStatus::Failed(why) => return self.fail(&DoorError::failed(why)),
        }
        for (index, call) in end.client_calls.iter().enumerate() {
            self.say(Delta { tool_calls: Some([Called::at(index, call)]), ..Delta::default() }, None, None);
        }
        let head = self.head.clone();
        let last = Note::Ended(Ended::last(&head, end));
        self.say(Delta::default(), Some(finish_reason(end)), Some(last));
        if self.include_usage
            && let Some(usage) = used(end.usage)
        {
            self.put(&[], Some(usage), None);
        }
        self.ready.push_back(DONE.to_owned());
    }

    /// A refusal in the middle of a stream, as OpenAI's libraries know it.
    fn fail(&mut self, why: &DoorError) {
        self.ready.push_back(serde_json::to_string(&why.written()).unwrap_or_default());
    }
}

/// A message of a chat as a note: what is its `type` there is its `event` here.
fn note(frame: frames::Frame) -> Option<RawJson> {
    let rest = frame.text.strip_prefix(r#"{"type""#)?;
    RawJson::parse(&format!(r#"{{"event"{rest}"#)).ok()
}

/// What is left to stream. Dropping it ends the turn.
struct Rest {
    token: Arc<TokenState>,
    events: Option<mpsc::Receiver<TurnEvent>>,
    pieces: Pieces,
}

/// Streams a turn, of which `begun` has come already.
pub(super) fn respond(
    token: Arc<TokenState>,
    head: Head,
    include_usage: bool,
    begun: Vec<TurnEvent>,
    events: mpsc::Receiver<TurnEvent>,
) -> Response {
    let mut pieces = Pieces::new(head, include_usage);
    let is_over = begun.into_iter().any(|event| pieces.take(event));
    let rest = Rest { token, events: (!is_over).then_some(events), pieces };
    let stream = stream::unfold(rest, async |mut rest| {
        loop {
            if let Some(piece) = rest.pieces.ready.pop_front() {
                return Some((Ok::<_, Infallible>(Event::default().data(piece)), rest));
            }
            let events = rest.events.as_mut()?;
            let is_over = match super::next(&rest.token, events).await {
                Ok(event) => rest.pieces.take(event),
                Err(why) => {
                    rest.pieces.fail(&why);
                    true
                }
            };
            if is_over {
                rest.events = None;
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

#[cfg(test)]
mod tests;
