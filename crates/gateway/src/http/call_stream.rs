//! A call as server-sent events: its progress while it runs, then its outcome.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_api::event_stream::{OUTCOME, PROGRESS};
use toolway_api::tools::CallProgress;
use toolway_core::consent::QuestionEvent;
use toolway_core::{CallRequest, Engine, ProgressReport};

use super::approvals;
use super::call_response::{call_response, call_with_token};
use crate::access::TokenState;
use crate::memory_budget::{MemoryAccount, MemoryReservation, cost};
use crate::principal_shares::SharedPlace;

/// Maximum number of reports that wait for a slow reader. Further ones are dropped.
const MAX_QUEUED_REPORTS: usize = 64;

/// Memory of a question that waits to be sent, in bytes. Its texts are short.
const QUESTION_BYTES: usize = 16 << 10;

/// Dropped with the response, when the client closes it: that cancels the call.
struct CallEventStream {
    receiver: mpsc::Receiver<CountedEvent>,
    _cancel: DropGuard,
    _held: (SharedPlace, Option<MemoryReservation>),
}

/// An event that waits to be sent, with its memory.
struct CountedEvent {
    event: Event,
    _memory: MemoryReservation,
}

impl CountedEvent {
    /// Creates an event. Returns `None` if there is no memory for it.
    fn new(account: &MemoryAccount, name: &str, data: &impl Serialize) -> Option<Self> {
        let text = serde_json::to_string(data).ok()?;
        let memory = account.reserve(cost::queued(text.len())).ok()?;
        Some(Self { event: Event::default().event(name).data(text), _memory: memory })
    }
}

/// Starts the call and streams it. What a slow reader has not read counts in `account`.
pub(super) fn respond(
    engine: Arc<Engine>,
    mut call: CallRequest,
    token: Arc<TokenState>,
    is_interactive: bool,
    held: (SharedPlace, Option<MemoryReservation>),
    account: MemoryAccount,
) -> Response {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_REPORTS);
    let cancel = CancellationToken::new();
    call.cancel = Some(cancel.clone());
    let (reports, memory) = (sender.clone(), account.clone());
    call.progress = Some(Arc::new(move |progress: ProgressReport| {
        let report = CallProgress {
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
            content: progress.content,
        };
        if let Some(event) = CountedEvent::new(&memory, PROGRESS, &report) {
            // A slow reader misses reports.
            let _ = reports.try_send(event);
        }
    }));
    if is_interactive {
        let (questions, memory) = (sender.clone(), account.clone());
        call.questions = Some(Arc::new(move |event: &QuestionEvent| {
            if let (Some(event), Ok(reserved)) = (approvals::sse_event(event), memory.reserve(QUESTION_BYTES))
            {
                // A client that does not read cannot answer either.
                let _ = questions.try_send(CountedEvent { event, _memory: reserved });
            }
        }));
    }
    tokio::spawn(async move {
        let finished = call_with_token(&engine, call, &token).await;
        // Without memory for the outcome, the stream ends without it. The client may also have gone. The outcome is
        // recorded.
        if let Some(event) = CountedEvent::new(&account, OUTCOME, &call_response(&finished)) {
            let _ = sender.send(event).await;
        }
    });
    let events = CallEventStream { receiver, _cancel: cancel.drop_guard(), _held: held };
    let stream = stream::unfold(events, async |mut events| {
        let event = events.receiver.recv().await?;
        Some((Ok::<_, Infallible>(event.event), events))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}
