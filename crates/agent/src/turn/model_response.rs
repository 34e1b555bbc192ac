//! Reads a model's response stream: publishes events, stores drafts, and assembles the message at the end.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep, sleep_until};
use toolway_models::{CollectedResponse, ModelError, ModelEvent, ModelStream, ResponseCollector};

use super::broadcast::TurnBroadcast;
use super::stop_signal::{StopReason, StopSignal};
use crate::event::TurnEvent;

/// Maximum age of a draft while the response continues.
const DRAFT_INTERVAL: Duration = Duration::from_millis(250);
/// Separator between the texts of two responses in the same turn.
const RESPONSE_SEPARATOR: &str = "\n\n";

/// Reads a response stream.
pub(super) struct TurnResponseReader<'t> {
    pub(super) broadcast: &'t TurnBroadcast,
    pub(super) stop: &'t StopSignal,
    /// Time at which the turn must end.
    pub(super) deadline: Option<Instant>,
    /// Stores the text so far as a draft.
    pub(super) draft: &'t (dyn Fn(String) + Send + Sync),
}

/// A response, possibly incomplete.
#[derive(Debug)]
pub(super) struct ModelResponse {
    pub(super) collected: CollectedResponse,
    pub(super) end: ModelResponseEnd,
    /// Number of requests to the model.
    pub(super) attempts: u32,
    pub(super) duration: Duration,
    /// Time to the first token.
    pub(super) time_to_first_token: Option<Duration>,
}

/// Maximum size of a response's text and thinking, in bytes. In any encoding, it is less than the maximum of
/// a message.
pub(super) const MAX_ANSWER: usize = 4 << 20;

/// End of a response.
#[derive(Debug)]
pub(super) enum ModelResponseEnd {
    /// The response is complete.
    Complete,
    /// The provider failed.
    Failed(ModelError),
    /// The stream ended without a reason.
    Interrupted,
    /// The response exceeds the maximum size.
    TooLong,
    /// The turn was stopped.
    Stopped(StopReason),
    /// The turn's time is used up.
    TimedOut,
}

/// State of an unfinished response.
struct PartialResponse {
    collector: ResponseCollector,
    began: Instant,
    attempts: u32,
    time_to_first_token: Option<Duration>,
    /// Start of its text in the turn's text.
    text_start: usize,
    /// True if it has text.
    has_text: bool,
    /// Length of text and thinking in bytes.
    bytes: usize,
}

impl TurnResponseReader<'_> {
    /// Reads a response until it ends in any way. The request has ended when this returns.
    pub(super) async fn read_response(&self, mut answer: ModelStream) -> ModelResponse {
        let mut coming = PartialResponse {
            collector: ResponseCollector::default(),
            began: Instant::now(),
            attempts: 1,
            time_to_first_token: None,
            text_start: self.broadcast.text_len(),
            has_text: false,
            bytes: 0,
        };
        let mut stopped = pin!(self.stop.token().cancelled());
        let mut out_of_time = pin!(OptionFuture::from(self.deadline.map(sleep_until)));
        let mut draft_due = pin!(sleep(DRAFT_INTERVAL));
        let mut has_undrafted = false;
        let ended = loop {
            let event = tokio::select! {
                biased;
                () = &mut stopped => break ModelResponseEnd::Stopped(self.stop_reason()),
                Some(()) = &mut out_of_time, if self.deadline.is_some() => break ModelResponseEnd::TimedOut,
                () = &mut draft_due, if has_undrafted => {
                    has_undrafted = false;
                    (self.draft)(self.broadcast.text_from(coming.text_start));
                    continue;
                }
                event = answer.next() => event,
            };
            let event = match event {
                None => break ModelResponseEnd::Interrupted,
                Some(Err(error)) => break ModelResponseEnd::Failed(error),
                Some(Ok(event)) => event,
            };
            if matches!(event, ModelEvent::Text(_)) && !has_undrafted {
                has_undrafted = true;
                draft_due.as_mut().reset(Instant::now() + DRAFT_INTERVAL);
            }
            let is_last = matches!(event, ModelEvent::Finished(_));
            let is_behind = self.handle_event(event, &mut coming);
            if is_last {
                break ModelResponseEnd::Complete;
            }
            if coming.bytes > MAX_ANSWER {
                break ModelResponseEnd::TooLong;
            }
            if is_behind {
                tokio::select! {
                    biased;
                    () = &mut stopped => break ModelResponseEnd::Stopped(self.stop_reason()),
                    () = self.broadcast.wait_for_viewers() => {}
                }
            }
        };
        drop(answer);
        ModelResponse {
            collected: coming.collector.finish(),
            end: ended,
            attempts: coming.attempts,
            duration: coming.began.elapsed(),
            time_to_first_token: coming.time_to_first_token,
        }
    }

    fn stop_reason(&self) -> StopReason {
        self.stop.reason().unwrap_or(StopReason::Aborted)
    }

    /// Handles the next event. Returns true if a viewer is behind.
    fn handle_event(&self, event: ModelEvent, coming: &mut PartialResponse) -> bool {
        let is_word =
            !matches!(event, ModelEvent::Retrying { .. } | ModelEvent::Started { .. } | ModelEvent::Usage(_));
        if is_word && coming.time_to_first_token.is_none() {
            coming.time_to_first_token = Some(coming.began.elapsed());
        }
        coming.collector.add_event(&event);
        if let ModelEvent::Text(text) | ModelEvent::Thinking(text) = &event {
            coming.bytes = coming.bytes.saturating_add(text.len());
        }
        match event {
            ModelEvent::Text(text) if text.is_empty() => false,
            ModelEvent::Text(text) => self.handle_text(text, coming),
            ModelEvent::Thinking(text) if !text.is_empty() => {
                self.broadcast.publish(TurnEvent::Thinking(text))
            }
            ModelEvent::Retrying { attempt, wait, error } => {
                coming.attempts = attempt.saturating_add(1);
                coming.collector = ResponseCollector::default();
                coming.bytes = 0;
                let taken_back = self.broadcast.truncate_text(coming.text_start);
                coming.has_text = false;
                self.broadcast.publish(TurnEvent::Retrying { attempt, wait, error }) || taken_back
            }
            _ => false,
        }
    }

    fn handle_text(&self, text: String, coming: &mut PartialResponse) -> bool {
        if !coming.has_text {
            coming.has_text = true;
            if self.broadcast.needs_separator() {
                self.broadcast.publish(TurnEvent::Chunk(RESPONSE_SEPARATOR.to_owned()));
                coming.text_start = self.broadcast.text_len();
            }
        }
        self.broadcast.publish(TurnEvent::Chunk(text))
    }
}
