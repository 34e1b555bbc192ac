//! A call over server-sent events: its progress while it runs, its outcome last.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_core::consent::QuestionEvent;
use toolway_core::{CallRequest, Engine, ProgressReport};
use toolway_types::ContentPart;

use super::approvals;
use super::tools::{CallToolResponse, run_call};
use crate::access::TokenState;

/// Reports that wait for a slow reader; further ones are dropped.
const MAX_QUEUED_REPORTS: usize = 64;

/// One report.
#[derive(Serialize)]
struct CallProgressEvent<'a> {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    content: &'a [ContentPart],
}

/// Dropped with the response, when the client closes it: that cancels the call.
struct CallEventStream {
    receiver: mpsc::Receiver<Event>,
    _cancel: DropGuard,
    _permit: OwnedSemaphorePermit,
}

/// Starts the call and streams it.
pub(super) fn respond(
    engine: Arc<Engine>,
    mut call: CallRequest,
    token: Arc<TokenState>,
    asks: bool,
    room: OwnedSemaphorePermit,
) -> Response {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_REPORTS);
    let cancel = CancellationToken::new();
    call.cancel = Some(cancel.clone());
    let reports = sender.clone();
    call.progress = Some(Arc::new(move |progress: ProgressReport| {
        let report = CallProgressEvent {
            progress: progress.progress,
            total: progress.total,
            message: progress.message.as_deref(),
            content: &progress.content,
        };
        if let Ok(event) = Event::default().event("progress").json_data(report) {
            // A slow reader misses some.
            let _ = reports.try_send(event);
        }
    }));
    if asks {
        let questions = sender.clone();
        call.questions = Some(Arc::new(move |event: &QuestionEvent| {
            if let Some(event) = approvals::sse_event(event) {
                // One who does not read is not asked either.
                let _ = questions.try_send(event);
            }
        }));
    }
    tokio::spawn(async move {
        let finished = run_call(&engine, call, &token).await;
        if let Ok(event) = Event::default().event("outcome").json_data(CallToolResponse::of(&finished)) {
            // The client may have gone; the outcome is recorded.
            let _ = sender.send(event).await;
        }
    });
    let events = CallEventStream { receiver, _cancel: cancel.drop_guard(), _permit: room };
    let stream = stream::unfold(events, async |mut events| {
        let event = events.receiver.recv().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}
