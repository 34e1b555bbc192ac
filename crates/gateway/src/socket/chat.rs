//! What only a chat's connection may send: calls of its own; what is said to a model is in [`talk`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_core::{Call, Caller, Door, Progress, ProgressSink, RawArguments};
use toolway_types::{CallId, Code, Outcome, ToolError};
use toolway_wire::from_client::CallTool;
use toolway_wire::from_gateway::{CallResult, ToolProgressShown};
use toolway_wire::{ClientMessage, GatewayMessage, error_code};

use super::close::Close;
use super::outbox::Outbox;
use super::peer::Peer;
use super::{questions, talk};

/// Longest id that a client may give a call, in bytes.
const MAX_ID: usize = 256;

/// The calls that a connection has made and that have not ended.
#[derive(Debug, Clone)]
pub(crate) struct ChatCalls {
    running: Arc<Mutex<HashMap<String, CancellationToken>>>,
    limit: usize,
}

/// Why a call was not started.
enum NotStarted {
    /// Its id is in use.
    IdInUse,
    /// Too many are running.
    TooMany(usize),
}

impl ChatCalls {
    pub(crate) fn new(limit: usize) -> Self {
        Self { running: Arc::default(), limit }
    }

    fn start(&self, id: &str) -> Result<CancellationToken, NotStarted> {
        let mut running = self.running.lock();
        if running.contains_key(id) {
            return Err(NotStarted::IdInUse);
        }
        if running.len() >= self.limit {
            return Err(NotStarted::TooMany(self.limit));
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

pub(super) async fn handle(peer: &mut Peer, message: ClientMessage) -> Result<(), Close> {
    match message {
        ClientMessage::CallTool(call) => call_tool(peer, call).await,
        ClientMessage::CancelCall(cancel) => {
            peer.calls.cancel(&cancel.id);
            Ok(())
        }
        ClientMessage::Message(message) => talk::message(peer, message).await,
        ClientMessage::Regenerate(again) => talk::regenerate(peer, again.debug).await,
        ClientMessage::Abort(_) => talk::abort(peer).await,
        ClientMessage::PermissionAnswer(answer) => questions::answer(peer, answer).await,
        other => {
            let text = format!("{:?} can't be handled here", other.kind());
            peer.complain(error_code::INVALID_MESSAGE, text).await
        }
    }
}

async fn call_tool(peer: &mut Peer, request: CallTool) -> Result<(), Close> {
    if request.id.len() > MAX_ID {
        let text = format!("call_tool.id is longer than {MAX_ID} bytes");
        return peer.complain(error_code::INVALID_MESSAGE, text).await;
    }
    let cancel = match peer.calls.start(&request.id) {
        Ok(cancel) => cancel,
        Err(NotStarted::IdInUse) => {
            let text = format!("a call with the id {:?} is running on this connection", request.id);
            return peer.complain(error_code::INVALID_MESSAGE, text).await;
        }
        Err(NotStarted::TooMany(limit)) => {
            let message = format!("This connection has {limit} calls in flight already");
            let error = ToolError::new(Code::Overloaded, message).with_hint(
                "Wait for some of them to end; the limit is the setting limits.calls_in_flight_per_connection",
            );
            let frame = CallResult::write(&request.id, CallId::new(), 0.0, &Outcome::Error(error));
            return peer.outbox.send(frame).await.map_err(|_| Close::PeerGone);
        }
    };
    let call = Call {
        timeout: request.timeout_ms.map(Duration::from_millis),
        idempotency_key: request.idempotency_key.map(Arc::from),
        progress: Some(progress_sink(peer.outbox.clone(), &request.id, &request.name)),
        questions: questions::sink(peer),
        cancel: Some(cancel),
        ..Call::new(
            request.name,
            request.args.map_or(RawArguments::None, RawArguments::Json),
            Caller {
                session: peer.talk.session().cloned(),
                own: peer.own_tools(),
                ..Caller::new(peer.token.principal.clone(), Door::WebSocket)
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
fn progress_sink(outbox: Outbox, id: &str, name: &str) -> ProgressSink {
    let (id, name) = (id.to_owned(), name.to_owned());
    Arc::new(move |progress: Progress| {
        let Progress { progress, total, message, content } = progress;
        let shown =
            ToolProgressShown { id: id.clone(), name: name.clone(), progress, total, message, content };
        outbox.try_send(GatewayMessage::from(shown).encode());
    })
}
