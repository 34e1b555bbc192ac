//! What only a chat's connection may send: calls of its own; what is said to a model is in [`talk`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_core::{CallRequest, Caller, EntryPoint, ProgressReport, ProgressSink, RawArguments};
use toolway_types::{CallId, Code, Outcome, ToolError};
use toolway_wire::client_message::CallTool;
use toolway_wire::gateway_message::{CallResult, ToolProgressShown};
use toolway_wire::{ClientMessage, GatewayMessage, error_code};

use super::close::CloseReason;
use super::peer::SocketPeer;
use super::{conversation, questions};
use crate::outbox::Outbox;

/// Longest id that a client may give a call, in bytes.
const MAX_ID: usize = 256;

/// The calls that a connection has made and that have not ended.
#[derive(Debug, Clone)]
pub(crate) struct ChatCalls {
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
    limit: usize,
}

/// Why a call was not started.
enum CallStartError {
    /// Its id is in use.
    IdInUse,
    /// Too many are running.
    TooMany(usize),
}

impl ChatCalls {
    pub(crate) fn new(limit: usize) -> Self {
        Self { running: Arc::default(), limit }
    }

    fn start(&self, id: &str) -> Result<CancellationToken, CallStartError> {
        let mut running = self.running.lock();
        if running.contains_key(id) {
            return Err(CallStartError::IdInUse);
        }
        if running.len() >= self.limit {
            return Err(CallStartError::TooMany(self.limit));
        }
        let cancel = CancellationToken::new();
        running.insert(id.to_owned(), cancel.clone());
        Ok(cancel)
    }

    fn end(&self, id: &str) {
        self.running.lock().remove(id);
    }

    fn cancel(&self, id: &str) {
        if let Some(cancel) = self.running.lock().get(id) {
            cancel.cancel();
        }
    }

    /// The client is gone: nobody waits for its calls any more.
    pub(crate) fn cancel_all(&self) {
        self.running.lock().values().for_each(CancellationToken::cancel);
    }
}

pub(super) async fn handle(peer: &mut SocketPeer, message: ClientMessage) -> Result<(), CloseReason> {
    match message {
        ClientMessage::CallTool(call) => call_tool(peer, call).await,
        ClientMessage::CancelCall(cancel) => {
            peer.calls.cancel(&cancel.id);
            Ok(())
        }
        ClientMessage::Message(message) => conversation::handle_message(peer, message).await,
        ClientMessage::Regenerate(again) => conversation::regenerate(peer, again.debug).await,
        ClientMessage::Abort(_) => conversation::abort_turn(peer).await,
        ClientMessage::PermissionAnswer(answer) => questions::answer_question(peer, answer).await,
        other => {
            let text = format!("{:?} can't be handled here", other.kind());
            peer.send_error(error_code::INVALID_MESSAGE, text).await
        }
    }
}

async fn call_tool(peer: &mut SocketPeer, request: CallTool) -> Result<(), CloseReason> {
    if request.id.len() > MAX_ID {
        let text = format!("call_tool.id is longer than {MAX_ID} bytes");
        return peer.send_error(error_code::INVALID_MESSAGE, text).await;
    }
    let cancel = match peer.calls.start(&request.id) {
        Ok(cancel) => cancel,
        Err(CallStartError::IdInUse) => {
            let text = format!("a call with the id {:?} is running on this connection", request.id);
            return peer.send_error(error_code::INVALID_MESSAGE, text).await;
        }
        Err(CallStartError::TooMany(limit)) => {
            let message = format!("This connection has {limit} calls in flight already");
            let error = ToolError::new(Code::Overloaded, message).with_hint(
                "Wait for some of them to end; the limit is the setting limits.calls_in_flight_per_connection",
            );
            let frame = CallResult::write(&request.id, CallId::new(), 0.0, &Outcome::Error(error));
            return peer.outbox.send(frame).await.map_err(|_| CloseReason::PeerGone);
        }
    };
    let call = CallRequest {
        timeout: request.timeout_ms.map(Duration::from_millis),
        idempotency_key: request.idempotency_key.map(Arc::from),
        progress: Some(build_progress_sink(peer.outbox.clone(), &request.id, &request.name)),
        questions: questions::question_sink(peer),
        cancel: Some(cancel),
        ..CallRequest::new(
            request.name,
            request.args.map_or(RawArguments::None, RawArguments::Json),
            Caller {
                session: peer.conversation.session().cloned(),
                registration: peer.own_tools(),
                ..Caller::new(peer.token.principal.clone(), EntryPoint::WebSocket)
            },
        )
    };
    let (engine, outbox, calls) = (peer.app.engine.clone(), peer.outbox.clone(), peer.calls.clone());
    let mut running = Box::pin(async move {
        let finished = engine.call(call).await;
        calls.end(&request.id);
        let duration_ms = finished.durations.total.as_secs_f64() * 1000.0;
        // The peer may have gone; the outcome is recorded.
        let _ =
            outbox.send(CallResult::write(&request.id, finished.id, duration_ms, &finished.outcome)).await;
    });
    // Begun here, so that calls come in the order in which they were sent; a task that is spawned later may
    // well run earlier.
    if running.as_mut().now_or_never().is_none() {
        tokio::spawn(running);
    }
    Ok(())
}

/// Sends a call's reports to its client; one that is slow to read loses some.
fn build_progress_sink(outbox: Outbox, id: &str, name: &str) -> ProgressSink {
    let (id, name) = (id.to_owned(), name.to_owned());
    Arc::new(move |progress: ProgressReport| {
        let ProgressReport { progress, total, message, content } = progress;
        let shown =
            ToolProgressShown { id: id.clone(), name: name.clone(), progress, total, message, content };
        outbox.try_send(GatewayMessage::from(shown).encode());
    })
}
