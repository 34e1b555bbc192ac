//! One connection to `/ws/device` or `/ws/chat`: decodes frames, negotiates the version with `connect`, and
//! passes each message to its handler.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio_util::sync::CancellationToken;
use toolway_agent::turn::ConnectionRegistration;
use toolway_wire::client_message::Connect;
use toolway_wire::{ClientMessage, FrameError, UndecodedFrame, error_code};

use super::chat::ChatClient;
use super::close::CloseReason;
use super::connection::FrameReceiver;
use super::context::{PARSE_BLOCKING_THRESHOLD, SocketContext, SocketKind, SocketParams};
use super::tool_provider::{ToolProvider, connected, offer_refusal};
use super::{app_providers, device};
use crate::access::TokenState;
use crate::memory_budget::MemoryAccount;
use crate::outbox::Outbox;
use crate::state::AppState;

/// Maximum length of a name, an id or a version in `connect`, in bytes.
const MAX_FIELD: usize = 256;
/// Maximum number of capabilities in `connect`.
const MAX_CAPABILITIES: usize = 64;

/// One connection.
pub(super) struct SocketPeer {
    cx: SocketContext,
    provider: ToolProvider,
    chat: ChatClient,
}

impl SocketPeer {
    pub(super) fn new(
        app: Arc<AppState>,
        token: Arc<TokenState>,
        kind: SocketKind,
        version: u32,
        (outbox, account): (Outbox, MemoryAccount),
        params: SocketParams,
    ) -> Self {
        let registration = ConnectionRegistration::default();
        let calls_limit = app.settings.limits.calls_in_flight_per_connection;
        let chat = ChatClient::new(&params, calls_limit, registration.clone());
        let cx = SocketContext {
            app,
            token,
            kind,
            version,
            outbox,
            account,
            params,
            hello: None,
            session: None,
            time_zone: None,
        };
        Self { cx, provider: ToolProvider::new(registration), chat }
    }

    /// Returns a token that is cancelled when another socket takes over the session.
    pub(super) fn displaced(&self) -> CancellationToken {
        self.provider.displaced()
    }

    /// Opens the conversation of a connection to `/ws/chat`. Called once, before the first frame is read.
    pub(super) async fn open_session(&mut self) -> Result<(), CloseReason> {
        let opened = self.chat.open_session(&self.cx).await;
        self.cx.session = self.chat.session().cloned();
        opened
    }

    async fn handle(&mut self, message: ClientMessage) -> Result<(), CloseReason> {
        let (cx, provider) = (&self.cx, &mut self.provider);
        if is_provider_message(&message)
            && let Some(text) = offer_refusal(cx.token.role())
        {
            return cx.send_error(error_code::FORBIDDEN, text).await;
        }
        // The futures of rare messages are allocated while they run. Otherwise, each connection would have room for the
        // largest one for ever.
        match message {
            ClientMessage::Connect(connect) => Box::pin(self.connect(connect)).await,
            ClientMessage::RegisterTools(message) => Box::pin(device::register(cx, provider, message)).await,
            ClientMessage::UnregisterTools(message) => {
                Box::pin(device::unregister(cx, provider, message)).await
            }
            ClientMessage::GetRegisteredTools(_) => Box::pin(device::list_registered(cx, provider)).await,
            ClientMessage::ToolResult(result) => device::handle_result(cx, provider, result).await,
            ClientMessage::ToolError(failure) => device::handle_failure(cx, provider, failure).await,
            ClientMessage::ToolProgress(progress) => {
                device::handle_progress(provider, progress);
                Ok(())
            }
            ClientMessage::ToolWaiting(waiting) => {
                device::handle_waiting(provider, waiting);
                Ok(())
            }
            ClientMessage::AppProviders(message) => {
                Box::pin(app_providers::report(cx, provider, message)).await
            }
            message if cx.kind == SocketKind::Device => {
                let text = format!(
                    "{:?} is only allowed on /ws/chat; this is a device's connection",
                    message.kind()
                );
                cx.send_error(error_code::FORBIDDEN, text).await
            }
            message => self.chat.handle(cx, provider.registration(), message).await,
        }
    }

    /// Handles `connect`: negotiates the version and, if the token may offer tools, joins the source.
    async fn connect(&mut self, connect: Connect) -> Result<(), CloseReason> {
        if let Some(field) = overlong_field(&connect) {
            let text = format!("connect.{field} is longer than {MAX_FIELD} bytes");
            return self.cx.send_error(error_code::INVALID_MESSAGE, text).await;
        }
        let mut time_zone = None;
        if let Some(name) = &connect.time_zone {
            match self.cx.app.gateway_tools.client_time_zone(name).await {
                Ok(known) => time_zone = Some(known),
                Err(problem) => {
                    let text = format!("connect.time_zone: {problem}");
                    return self.cx.send_error(error_code::INVALID_MESSAGE, text).await;
                }
            }
        }
        let is_first = self.cx.hello.is_none();
        if !is_first && self.provider.session().is_some() {
            // A second `connect` changes nothing: the identity of a connection is fixed.
            return self.cx.send(connected(&self.cx, self.provider.session())).await;
        }
        let session_id = connect.session_id.clone();
        self.cx.record_hello(connect, time_zone);
        if self.cx.kind == SocketKind::Chat && is_first {
            let bound = self.chat.bind_session(&self.cx, session_id.as_deref()).await;
            self.cx.session = self.chat.session().cloned();
            bound?;
        }
        let offers = self.cx.token.role().may_offer_tools();
        // A chat client is a source of its own only if it has a name. Without one, it gets a source when it
        // registers tools.
        let is_source = self.cx.kind == SocketKind::Device || self.cx.claims().identity().is_some();
        if offers && self.cx.version >= 2 && is_source {
            return self.provider.attach_or_resume(&self.cx).await;
        }
        self.cx.send(connected(&self.cx, self.provider.session())).await
    }

    /// Reports a frame that can't be decoded. If it answers a call, the call ends now.
    async fn refuse_frame(&self, error: &FrameError, frame: UndecodedFrame) -> Result<(), CloseReason> {
        let mut text = error.to_string();
        if let Some(id) = frame.answered_call() {
            device::fail_unreadable(&self.cx, &self.provider, id, &text);
            text = format!("the answer to the call {id} is lost: {text}");
        }
        let id = frame.id.filter(|id| id.len() <= MAX_FIELD);
        self.cx.send_error_about(error.code(), text, id).await
    }

    /// Ends calls, questions and registrations, because the connection has ended.
    pub(super) fn disconnect(&mut self, close: &CloseReason) {
        self.chat.disconnect();
        self.provider.detach(&self.cx, close);
    }
}

impl FrameReceiver for SocketPeer {
    async fn on_text(&mut self, frame: Utf8Bytes) -> Result<(), CloseReason> {
        let decoded = if frame.len() > PARSE_BLOCKING_THRESHOLD {
            let (jobs, principal) = (&self.cx.app.parse_jobs, &self.cx.token.principal.id.0);
            let decoded = jobs.run(principal, move || decode(frame.as_str())).await;
            decoded.unwrap_or_else(|error| {
                Err((FrameError::InvalidJson(error.to_string()), UndecodedFrame::default()))
            })
        } else {
            decode(frame.as_str())
        };
        match decoded {
            Ok(message) => self.handle(message).await,
            Err((error, frame)) => self.refuse_frame(&error, frame).await,
        }
    }

    async fn on_binary(&mut self) -> Result<(), CloseReason> {
        let text = "binary frames are not used; send JSON in text frames";
        self.cx.send_error(error_code::INVALID_JSON, text).await
    }

    fn on_activity(&mut self) {
        if let Some(session) = self.provider.session() {
            session.record_heard(self.cx.app.clock.now_ms());
        }
    }
}

/// Decodes a frame. An error comes with the type and the id that the frame seems to have.
fn decode(frame: &str) -> Result<ClientMessage, (FrameError, UndecodedFrame)> {
    ClientMessage::decode(frame).map_err(|error| (error, UndecodedFrame::find(frame)))
}

/// True for messages of peers that offer tools.
fn is_provider_message(message: &ClientMessage) -> bool {
    matches!(
        message,
        ClientMessage::RegisterTools(_)
            | ClientMessage::UnregisterTools(_)
            | ClientMessage::GetRegisteredTools(_)
            | ClientMessage::ToolResult(_)
            | ClientMessage::ToolError(_)
            | ClientMessage::ToolProgress(_)
            | ClientMessage::ToolWaiting(_)
            | ClientMessage::AppProviders(_)
    )
}

fn overlong_field(connect: &Connect) -> Option<&'static str> {
    let too_long = |field: &Option<String>| field.as_ref().is_some_and(|text| text.len() > MAX_FIELD);
    let fields = [
        ("session_id", &connect.session_id),
        ("device_name", &connect.device_name),
        ("device_id", &connect.device_id),
        ("platform", &connect.platform),
        ("app_version", &connect.app_version),
        ("time_zone", &connect.time_zone),
        ("resume_token", &connect.resume_token),
    ];
    let capabilities = connect.capabilities.len() > MAX_CAPABILITIES;
    fields
        .iter()
        .find(|(_, value)| too_long(value))
        .map(|(name, _)| *name)
        .or(capabilities.then_some("capabilities"))
}
