//! A call as server-sent events: its progress while it runs, then its outcome.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_api::event_stream::{OUTCOME, PROGRESS};
use toolway_api::tools::CallProgress;
use toolway_core::consent::QuestionEvent;
use toolway_core::{CallRequest, Engine, ProgressReport};

use super::approvals;
use super::call_response::{call_response, call_with_token};
use crate::access::TokenState;
use crate::memory_budget::MemoryReservation;
use crate::principal_shares::SharedPlace;

/// Maximum number of reports that wait for a slow reader. Further ones are dropped.
const MAX_QUEUED_REPORTS: usize = 64;

/// Dropped with the response, when the client closes it: that cancels the call.
struct CallEventStream {
    receiver: mpsc::Receiver<Event>,
    _cancel: DropGuard,
    _held: (SharedPlace, Option<MemoryReservation>),
}

/// Starts the call and streams it.
pub(super) fn respond(
    engine: Arc<Engine>,
    mut call: CallRequest,
    token: Arc<TokenState>,
    is_interactive: bool,
    held: (SharedPlace, Option<MemoryReservation>),
) -> Response {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_REPORTS);
    let cancel = CancellationToken::new();
    call.cancel = Some(cancel.clone());
    let reports = sender.clone();
    call.progress = Some(Arc::new(move |progress: ProgressReport| {
        let report = CallProgress {
            progress: progress.progress,
            total: progress.total,
            message: progress.message,
            content: progress.content,
        };
        if let Ok(event) = Event::default().event(PROGRESS).json_data(report) {
            // A slow reader misses reports.
            let _ = reports.try_send(event);
        }
    }));
    if is_interactive {
        let questions = sender.clone();
        call.questions = Some(Arc::new(move |event: &QuestionEvent| {
            if let Some(event) = approvals::sse_event(event) {
                // A client that does not read cannot answer either.
                let _ = questions.try_send(event);
            }
        }));
    }
    tokio::spawn(async move {
        let finished = call_with_token(&engine, call, &token).await;
        if let Ok(event) = Event::default().event(OUTCOME).json_data(call_response(&finished)) {
            // The client may have gone; the outcome is recorded.
            let _ = sender.send(event).await;
        }
    });
    let events = CallEventStream { receiver, _cancel: cancel.drop_guard(), _held: held };
    let stream = stream::unfold(events, async |mut events| {
        let event = events.receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}
