//! Streams an answer in OpenAI's chunks. Events that OpenAI has no chunk for (calls of the agent's tools, the
//! model's thinking) go into extension fields, which clients ignore.

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

use super::completion::{
    ChatCompletionHead, ChatCompletionToolCall, CompletionUsage, TurnEndExtension, completion_usage,
    finish_reason,
};
use super::error::OpenAiApiError;
use crate::access::TokenState;
use crate::chat::frames;

/// Data of the event that ends the stream.
const DONE: &str = "[DONE]";

/// A chunk of an answer.
#[derive(Debug, Serialize)]
struct ChatCompletionChunk<'a> {
    #[serde(flatten)]
    head: &'a ChatCompletionHead,
    object: &'static str,
    choices: &'a [ChunkChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CompletionUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolway: Option<ToolwayExtension<'a>>,
}

#[derive(Debug, Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: ChoiceDelta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Debug, Default, Serialize)]
struct ChoiceDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// The model's thinking, in the field that other vendors use.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[ChatCompletionToolCall<'a>; 1]>,
}

/// Value of the extension field.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ToolwayExtension<'a> {
    /// An event of the turn.
    Event(RawJson),
    /// The end of the turn.
    Ended(TurnEndExtension<'a>),
}

/// Chunks that are ready to be sent.
struct ChunkQueue {
    head: ChatCompletionHead,
    include_usage: bool,
    ready: VecDeque<String>,
}

impl ChunkQueue {
    fn new(head: ChatCompletionHead, include_usage: bool) -> Self {
        let mut pieces = Self { head, include_usage, ready: VecDeque::new() };
        pieces.push_delta(
            ChoiceDelta { role: Some("assistant"), content: Some(""), ..ChoiceDelta::default() },
            None,
            None,
        );
        pieces
    }

    fn push_delta(
        &mut self,
        delta: ChoiceDelta<'_>,
        finish_reason: Option<&'static str>,
        toolway: Option<ToolwayExtension<'_>>,
    ) {
        let choice = ChunkChoice { index: 0, delta, logprobs: None, finish_reason };
        self.push_chunk(&[choice], None, toolway);
    }

    fn push_chunk(
        &mut self,
        choices: &[ChunkChoice<'_>],
        usage: Option<CompletionUsage>,
        toolway: Option<ToolwayExtension<'_>>,
    ) {
        let piece = ChatCompletionChunk {
            head: &self.head,
            object: "chat.completion.chunk",
            choices,
            usage,
            toolway,
        };
        // Serialization can't fail: the chunk has only strings, numbers and JSON.
        let written = serde_json::to_string(&piece).unwrap_or_default();
        self.ready.push_back(written);
    }

    /// Adds the chunks of an event. Returns true if it was the last event.
    fn push_event(&mut self, event: TurnEvent) -> bool {
        match event {
            TurnEvent::Chunk(text) => {
                self.push_delta(ChoiceDelta { content: Some(&text), ..ChoiceDelta::default() }, None, None);
            }
            TurnEvent::Thinking(text) => {
                self.push_delta(
                    ChoiceDelta { reasoning_content: Some(&text), ..ChoiceDelta::default() },
                    None,
                    None,
                );
            }
            TurnEvent::Ended(end) => {
                self.push_end(&end);
                return true;
            }
            // Clients of this API do not show titles.
            TurnEvent::TitleGenerated(_) => {}
            other => {
                if let Some(note) = frames::event_frame(other, toolway_wire::VERSION).and_then(frame_payload)
                {
                    self.push_delta(ChoiceDelta::default(), None, Some(ToolwayExtension::Event(note)));
                }
            }
        }
        false
    }

    fn push_end(&mut self, end: &TurnEnd) {
        match &end.status {
            TurnStatus::Done => {}
            TurnStatus::Aborted => return self.push_error(&OpenAiApiError::aborted()),
            TurnStatus::Failed(why) => return self.push_error(&OpenAiApiError::from_turn_failure(why)),
        }
        for (index, call) in end.client_calls.iter().enumerate() {
            self.push_delta(
                ChoiceDelta {
                    tool_calls: Some([ChatCompletionToolCall::at_index(index, call)]),
                    ..ChoiceDelta::default()
                },
                None,
                None,
            );
        }
        let head = self.head.clone();
        let last = ToolwayExtension::Ended(TurnEndExtension::for_end(&head, end));
        self.push_delta(ChoiceDelta::default(), Some(finish_reason(end)), Some(last));
        if self.include_usage
            && let Some(usage) = completion_usage(end.usage)
        {
            self.push_chunk(&[], Some(usage), None);
        }
        self.ready.push_back(DONE.to_owned());
    }

    /// Adds an error in the format that OpenAI's libraries read in a stream.
    fn push_error(&mut self, why: &OpenAiApiError) {
        self.ready.push_back(serde_json::to_string(&why.to_response()).unwrap_or_default());
    }
}

/// Converts a chat message to an extension event: its field `type` becomes `event`.
fn frame_payload(frame: frames::ChatFrame) -> Option<RawJson> {
    let rest = frame.text.strip_prefix(r#"{"type""#)?;
    RawJson::parse(&format!(r#"{{"event"{rest}"#)).ok()
}

/// The rest of a stream. Dropping it ends the turn.
struct ChunkStream {
    token: Arc<TokenState>,
    events: Option<mpsc::Receiver<TurnEvent>>,
    pieces: ChunkQueue,
}

/// Streams a turn, starting with the events in `begun`.
pub(super) fn respond(
    token: Arc<TokenState>,
    head: ChatCompletionHead,
    include_usage: bool,
    begun: Vec<TurnEvent>,
    events: mpsc::Receiver<TurnEvent>,
) -> Response {
    let mut pieces = ChunkQueue::new(head, include_usage);
    let is_over = begun.into_iter().any(|event| pieces.push_event(event));
    let rest = ChunkStream { token, events: (!is_over).then_some(events), pieces };
    let stream = stream::unfold(rest, async |mut rest| {
        loop {
            if let Some(piece) = rest.pieces.ready.pop_front() {
                return Some((Ok::<_, Infallible>(Event::default().data(piece)), rest));
            }
            let events = rest.events.as_mut()?;
            let is_over = match super::next_event(&rest.token, events).await {
                Ok(event) => rest.pieces.push_event(event),
                Err(why) => {
                    rest.pieces.push_error(&why);
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
