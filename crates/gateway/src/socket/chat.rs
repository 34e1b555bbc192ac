//! Handles messages that only a chat client may send: its own calls here, its conversation in
//! [`super::conversation`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_agent::turn::ConnectionRegistration;
use toolway_core::{
    CallRequest, Caller, CallerRegistration, EntryPoint, ProgressReport, ProgressSink, RawArguments,
};
use toolway_types::{CallId, Code, Outcome, ToolError};
use toolway_wire::client_message::CallTool;
use toolway_wire::gateway_message::{CallResult, ToolProgressShown};
use toolway_wire::{ClientMessage, GatewayMessage, error_code};

use super::close::CloseReason;
use super::context::{SocketContext, SocketParams};
use super::conversation::SocketConversation;
use super::questions::{self, ClientQuestions};
use crate::memory_budget::cost;
use crate::outbox::Outbox;

/// Maximum length of a call's id, in bytes.
const MAX_ID: usize = 256;

/// The running calls of a connection.
#[derive(Debug, Clone)]
struct ChatCalls {
    running: Arc<Mutex<HashMap<Arc<str>, CancellationToken>>>,
    limit: usize,
}

/// Reason why a call was not started.
enum CallStartError {
    /// The id is in use.
    IdInUse,
    /// The maximum number of calls is running.
    TooMany(usize),
}

impl ChatCalls {
    fn new(limit: usize) -> Self {
        Self { running: Arc::default(), limit }
    }

    fn start(&self, id: &Arc<str>) -> Result<CancellationToken, CallStartError> {
        let mut running = self.running.lock();
        if running.contains_key(id) {
            return Err(CallStartError::IdInUse);
        }
        if running.len() >= self.limit {
            return Err(CallStartError::TooMany(self.limit));
        }
        let cancel = CancellationToken::new();
        running.insert(id.clone(), cancel.clone());
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

    fn cancel_all(&self) {
        self.running.lock().values().for_each(CancellationToken::cancel);
    }
}

/// The chat part of a connection: its own calls and its conversation.
pub(super) struct ChatClient {
    calls: ChatCalls,
    conversation: SocketConversation,
    questions: ClientQuestions,
}

impl ChatClient {
    /// Creates the chat part of a connection that may run `limit` calls at a time. Turns read the
    /// connection's tools through `registration`.
    pub(super) fn new(
        params: &SocketParams,
        calls_limit: usize,
        registration: ConnectionRegistration,
    ) -> Self {
        Self {
            calls: ChatCalls::new(calls_limit),
            conversation: SocketConversation::new(params, registration),
            questions: ClientQuestions::default(),
        }
    }

    /// Returns the id of the open session.
    pub(super) fn session(&self) -> Option<&Arc<str>> {
        self.conversation.session()
    }

    pub(super) async fn open_session(&mut self, cx: &SocketContext) -> Result<(), CloseReason> {
        self.conversation.open_session(cx).await
    }

    pub(super) async fn bind_session(
        &mut self,
        cx: &SocketContext,
        id: Option<&str>,
    ) -> Result<(), CloseReason> {
        self.conversation.bind_session(cx, id).await
    }

    /// Handles a message that only a chat client may send. `registration` has the connection's tools.
    pub(super) async fn handle(
        &mut self,
        cx: &SocketContext,
        registration: Option<CallerRegistration>,
        message: ClientMessage,
    ) -> Result<(), CloseReason> {
        match message {
            ClientMessage::CallTool(call) => self.call_tool(cx, registration, call).await,
            ClientMessage::CancelCall(cancel) => {
                self.calls.cancel(&cancel.id);
                Ok(())
            }
            ClientMessage::Message(message) => {
                Box::pin(self.conversation.handle_message(cx, self.questions.sink(cx), message)).await
            }
            ClientMessage::Regenerate(again) => {
                Box::pin(self.conversation.regenerate(cx, self.questions.sink(cx), again.debug)).await
            }
            ClientMessage::Abort(_) => Box::pin(self.conversation.abort_turn(cx)).await,
            ClientMessage::PermissionAnswer(answer) => Box::pin(questions::answer_question(cx, answer)).await,
            other => {
                let text = format!("{:?} is not supported here", other.kind());
                cx.send_error(error_code::INVALID_MESSAGE, text).await
            }
        }
    }

    async fn call_tool(
        &mut self,
        cx: &SocketContext,
        registration: Option<CallerRegistration>,
        request: CallTool,
    ) -> Result<(), CloseReason> {
        if request.id.len() > MAX_ID {
            let text = format!("call_tool.id is longer than {MAX_ID} bytes");
            return cx.send_error(error_code::INVALID_MESSAGE, text).await;
        }
        let id: Arc<str> = request.id.into();
        let name: Arc<str> = request.name.into();
        let cancel = match self.calls.start(&id) {
            Ok(cancel) => cancel,
            Err(CallStartError::IdInUse) => {
                let text = format!("a call with the id {id:?} is running on this connection");
                return cx.send_error(error_code::INVALID_MESSAGE, text).await;
            }
            Err(CallStartError::TooMany(limit)) => {
                let frame =
                    CallResult::write(&id, CallId::new(), 0.0, &Outcome::Error(too_many_calls(limit)));
                return cx.outbox.send(frame).await.map_err(|_| CloseReason::PeerGone);
            }
        };
        // The arguments stay in memory while the call runs.
        let size = request.args.as_ref().map_or(0, |args| cost::kept_json(args.get().as_bytes()));
        let memory = match cx.account.reserve(size) {
            Ok(memory) => memory,
            Err(refusal) => {
                self.calls.end(&id);
                let error = ToolError::new(Code::Overloaded, refusal.to_string()).with_hint(
                    "Wait for some of your calls to end; the limit is the setting limits.memory_bytes",
                );
                let frame = CallResult::write(&id, CallId::new(), 0.0, &Outcome::Error(error));
                return cx.outbox.send(frame).await.map_err(|_| CloseReason::PeerGone);
            }
        };
        let call = CallRequest {
            timeout: request.timeout_ms.map(Duration::from_millis),
            idempotency_key: request.idempotency_key.map(Arc::from),
            progress: Some(build_progress_sink(cx.outbox.clone(), &id, &name)),
            questions: self.questions.sink(cx),
            cancel: Some(cancel),
            ..CallRequest::new(
                name,
                request.args.map_or(RawArguments::None, RawArguments::Json),
                Caller {
                    session: self.conversation.session().cloned(),
                    registration,
                    time_zone: cx.time_zone.clone(),
                    ..Caller::new(cx.token.principal.clone(), EntryPoint::WebSocket)
                },
            )
        };
        let (engine, outbox, calls) = (cx.app.engine.clone(), cx.outbox.clone(), self.calls.clone());
        let mut running = Box::pin(async move {
            let finished = engine.call(call).await;
            drop(memory);
            calls.end(&id);
            let duration_ms = finished.durations.total.as_secs_f64() * 1000.0;
            // The peer may have disconnected; the outcome is recorded anyway.
            let _ = outbox.send(CallResult::write(&id, finished.id, duration_ms, &finished.outcome)).await;
        });
        // Polled here once, so that calls begin in the order in which they were sent. Spawned tasks may begin
        // in any order.
        if running.as_mut().now_or_never().is_none() {
            tokio::spawn(running);
        }
        Ok(())
    }

    /// Cancels the calls, because nobody waits for them any more. Turns continue without the connection's
    /// tools.
    pub(super) fn disconnect(&mut self) {
        self.calls.cancel_all();
        self.conversation.detach();
    }
}

fn too_many_calls(limit: usize) -> ToolError {
    let message = format!("This connection already has {limit} calls in flight");
    ToolError::new(Code::Overloaded, message).with_hint(
        "Wait for some of them to end; the limit is the setting limits.calls_in_flight_per_connection",
    )
}

/// Sends a call's progress reports to its client; a slow reader misses some.
fn build_progress_sink(outbox: Outbox, id: &Arc<str>, name: &Arc<str>) -> ProgressSink {
    let (id, name) = (id.clone(), name.clone());
    Arc::new(move |progress: ProgressReport| {
        let ProgressReport { progress, total, message, content } = progress;
        let (id, name) = (id.to_string(), name.to_string());
        let shown = ToolProgressShown { id, name, progress, total, message, content };
        outbox.try_send(GatewayMessage::from(shown).encode());
    })
}
