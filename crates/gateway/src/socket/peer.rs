//! One connection, from its first frame to its last: who it is, what was agreed, what it has registered. What
//! device and chat connections do alike is here; [`super::chat`] adds what only chats may send.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio_util::sync::CancellationToken;
use toolway_core::consent::QuestionSink;
use toolway_core::{CallerRegistration, Lease};
use toolway_wire::client_message::Connect;
use toolway_wire::gateway_message::{Connected, ErrorMessage};
use toolway_wire::{
    CONNECTED_MESSAGE, ClientMessage, FrameError, GatewayMessage, VERSION, capability, error_code,
};

use super::chat::ChatCalls;
use super::close::{CloseReason, INTERNAL, POLICY};
use super::connection::FrameReceiver;
use super::conversation::{self, SocketConversation};
use super::{app_providers, chat, device};
use crate::access::{TokenState, secret};
use crate::outbox::{Outbox, PeerGone};
use crate::sources::device_session::{DeviceAttachment, DeviceSession, DeviceSessionOptions};
use crate::sources::device_source::DeviceSource;
use crate::sources::identity::IdentityClaims;
use crate::sources::{DeviceSources, JoinError, JoinRequest};
use crate::state::AppState;

/// Frames longer than this are parsed on a thread for blocking work, so that they delay nobody else.
pub(super) const PARSE_BLOCKING_THRESHOLD: usize = 256 << 10;
/// Longest name, id or version that a peer may give of itself, in bytes.
const MAX_FIELD: usize = 256;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// `/ws/device`: offers tools only.
    Device,
    /// `/ws/chat`: a chat client; may offer tools, too.
    Chat,
}

impl SocketKind {
    /// The door's name in metrics.
    pub(super) fn entry_point(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Chat => "chat",
        }
    }
}

/// What the address said.
#[derive(Debug, Clone, Default)]
pub(crate) struct SocketParams {
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) name: Option<String>,
    pub(crate) persona: Option<String>,
}

/// One connection.
pub(crate) struct SocketPeer {
    pub(crate) app: Arc<AppState>,
    pub(crate) token: Arc<TokenState>,
    pub(crate) kind: SocketKind,
    pub(crate) version: u32,
    pub(crate) outbox: Outbox,
    pub(crate) params: SocketParams,
    /// What `connect` said; none before.
    connect: Option<Connect>,
    attachment: Option<DeviceAttachment>,
    /// Cancelled when another socket takes this one's seat.
    displaced: CancellationToken,
    pub(crate) calls: ChatCalls,
    /// What is said over it, on `/ws/chat`.
    pub(super) conversation: SocketConversation,
    /// Where the questions of its calls go, once there has been a call.
    pub(crate) questions: Option<QuestionSink>,
}

impl SocketPeer {
    pub(crate) fn new(
        app: Arc<AppState>,
        token: Arc<TokenState>,
        kind: SocketKind,
        version: u32,
        outbox: Outbox,
        introduction: SocketParams,
    ) -> Self {
        let calls = ChatCalls::new(app.settings.limits.calls_in_flight_per_connection);
        let talk = SocketConversation::new(&introduction);
        Self {
            app,
            token,
            kind,
            version,
            outbox,
            params: introduction,
            connect: None,
            attachment: None,
            displaced: CancellationToken::new(),
            calls,
            conversation: talk,
            questions: None,
        }
    }

    /// Cancelled when another socket takes this one's seat.
    pub(crate) fn displaced(&self) -> CancellationToken {
        self.displaced.clone()
    }

    /// The seat, once this connection has one.
    pub(crate) fn session(&self) -> Option<&Arc<DeviceSession>> {
        self.attachment.as_ref().map(|stay| &stay.session)
    }

    /// Does something as whoever sits on this connection's seat; not where a newer connection has it, or the seat
    /// has ended.
    pub(super) fn while_attached<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        self.attachment.as_ref()?.while_attached(then)
    }

    /// What this connection has registered, once it has something to register with.
    pub(super) fn own_tools(&self) -> Option<CallerRegistration> {
        let seat = self.session()?;
        let lease = seat.with_lease(Lease::id)?;
        Some(CallerRegistration { source: seat.source().slug().clone(), lease })
    }

    pub(crate) async fn send(&self, message: impl Into<GatewayMessage>) -> Result<(), CloseReason> {
        self.outbox.send(message.into().encode()).await.map_err(|PeerGone| CloseReason::PeerGone)
    }

    pub(crate) async fn send_error(&self, code: &str, message: impl Into<String>) -> Result<(), CloseReason> {
        self.app.metrics.record_refusal(code);
        self.send(ErrorMessage {
            message: message.into(),
            code: Some(code.to_owned()),
            ..ErrorMessage::default()
        })
        .await
    }

    async fn handle(&mut self, message: ClientMessage) -> Result<(), CloseReason> {
        match message {
            ClientMessage::Connect(connect) => self.connect(connect).await,
            ClientMessage::RegisterTools(message) => device::register(self, message).await,
            ClientMessage::UnregisterTools(message) => device::unregister(self, message).await,
            ClientMessage::GetRegisteredTools(_) => device::list_registered(self).await,
            ClientMessage::ToolResult(result) => device::handle_result(self, result).await,
            ClientMessage::ToolError(failure) => device::handle_failure(self, failure).await,
            ClientMessage::ToolProgress(progress) => device::handle_progress(self, progress).await,
            ClientMessage::ToolWaiting(waiting) => device::handle_waiting(self, waiting).await,
            ClientMessage::AppProviders(message) => app_providers::report(self, message).await,
            message if self.kind == SocketKind::Device => {
                let text = format!("{:?} belongs on /ws/chat; this is a device's connection", message.kind());
                self.send_error(error_code::FORBIDDEN, text).await
            }
            message => chat::handle(self, message).await,
        }
    }

    /// `connect`: agrees the version and, for whoever offers tools, the source.
    async fn connect(&mut self, connect: Connect) -> Result<(), CloseReason> {
        if let Some(field) = overlong_field(&connect) {
            let text = format!("connect.{field} is longer than {MAX_FIELD} bytes");
            return self.send_error(error_code::INVALID_MESSAGE, text).await;
        }
        if self.connect.is_some() && self.attachment.is_some() {
            // A second `connect` changes nothing: who a connection is, is said once.
            return self.send(self.connected_message()).await;
        }
        self.version = self.version.max(connect.v.unwrap_or(1).clamp(1, VERSION));
        if self.kind == SocketKind::Chat && self.connect.is_none() {
            conversation::bind_session(self, connect.session_id.as_deref()).await?;
        }
        let resume = connect.resume_token.clone();
        self.connect = Some(connect);
        let offers = self.token.role().may_offer_tools();
        let is_named = self.claims().identity().is_some();
        if offers && self.version >= 2 && (self.kind == SocketKind::Device || is_named) {
            let resumed = resume.and_then(|token| {
                let id = &self.token.principal.id;
                self.app.sources.resume(id, &token).filter(|seat| self.can_resume(seat))
            });
            return match resumed {
                Some(seat) => self.resume_session(seat).await,
                None => self.attach(true).await,
            };
        }
        self.send(self.connected_message()).await
    }

    /// Whether this connection says that it is who made that seat.
    fn can_resume(&self, seat: &DeviceSession) -> bool {
        let identity = self.claims().identity();
        self.kind == SocketKind::Device
            && (identity.is_none() || identity.as_ref() == seat.source().identity())
    }

    fn claims(&self) -> IdentityClaims<'_> {
        let hello = self.connect.as_ref();
        IdentityClaims {
            device_id: hello.and_then(|hello| hello.device_id.as_deref()),
            paired_id: self.token.device.id.as_deref(),
            paired_name: self.token.device.name.as_deref(),
            device_name: hello.and_then(|hello| hello.device_name.as_deref()),
            name: self.params.name.as_deref(),
        }
    }

    fn has_capability(&self, capability: &str) -> bool {
        self.connect.as_ref().is_some_and(|hello| hello.capabilities.iter().any(|said| said == capability))
    }

    /// The seat of this connection, making one where there is none yet.
    pub(crate) async fn require_session(&mut self) -> Result<Arc<DeviceSession>, CloseReason> {
        if self.attachment.is_none() {
            self.attach(false).await?;
        }
        match self.session() {
            Some(seat) => Ok(seat.clone()),
            None => Err(CloseReason::with_code(INTERNAL, "no source could be made")),
        }
    }

    /// Takes a new seat at this connection's source.
    async fn attach(&mut self, greet: bool) -> Result<(), CloseReason> {
        let source = self.join().await?;
        let resumes =
            self.version >= 2 && self.kind == SocketKind::Device && self.has_capability(capability::RESUME);
        let lease =
            self.app.engine.registry().lease(source.slug().clone(), DeviceSources::keep_policy(&source));
        let terms = DeviceSessionOptions {
            version: self.version,
            resume_token: if resumes { Some(new_resume_token()?) } else { None },
            calls_limit: self.app.settings.limits.calls_in_flight_per_device,
        };
        let seat = DeviceSession::new(source.clone(), lease, terms);
        match self.kind {
            SocketKind::Device => {
                if let Some(old) = source.replace_device_session(seat.clone()) {
                    self.app.sources.end_session(&old);
                }
            }
            SocketKind::Chat => source.add_chat_session(&seat),
        }
        self.app.sources.make_resumable(&seat);
        if greet {
            let connected = self.connected_to(&seat);
            self.send(connected).await?;
        }
        let now = self.app.clock.now_ms();
        self.attachment = Some(seat.attach(self.outbox.clone(), self.displaced.clone(), now).await);
        self.conversation.own_registration().set(self.own_tools());
        tracing::info!(source = %source.slug(), token = %self.token.id(), "a device connected");
        Ok(())
    }

    /// Takes the seat that an earlier socket of this device had.
    async fn resume_session(&mut self, seat: Arc<DeviceSession>) -> Result<(), CloseReason> {
        let connected = self.connected_to(&seat);
        self.send(connected).await?;
        let now = self.app.clock.now_ms();
        tracing::info!(source = %seat.source().slug(), token = %self.token.id(), "a device resumed");
        self.attachment = Some(seat.attach(self.outbox.clone(), self.displaced.clone(), now).await);
        if seat.has_ended() {
            // The grace time ran out in this very moment.
            return Err(CloseReason::with_code(
                super::close::GOING_AWAY,
                "the seat to resume is gone; connect anew",
            ));
        }
        Ok(())
    }

    async fn join(&self) -> Result<Arc<DeviceSource>, CloseReason> {
        let limits = &self.app.settings.limits;
        let owner = self.token.role().is_owner();
        let hello = self.connect.as_ref();
        let arrival = JoinRequest {
            claims: self.claims(),
            token_label: Some(self.token.label.as_str()).filter(|label| !label.is_empty()),
            platform: hello.and_then(|it| it.platform.as_deref()).or(self.token.device.platform.as_deref()),
            app_version: hello.and_then(|hello| hello.app_version.as_deref()),
            limit: if owner { limits.sources_per_owner } else { limits.sources_per_token },
        };
        match self.app.sources.join(&self.token.principal.id, arrival).await {
            Ok(source) => Ok(source),
            Err(error) => {
                let (code, close) = match error {
                    JoinError::TooMany(_) => (error_code::LIMIT_EXCEEDED, POLICY),
                    JoinError::Store(_) => (error_code::SOURCE_NOT_STORED, INTERNAL),
                };
                let text = error.to_string();
                self.send_error(code, text.clone()).await?;
                Err(CloseReason::with_code(close, text))
            }
        }
    }

    fn connected_message(&self) -> Connected {
        match self.session() {
            Some(seat) => self.connected_to(seat),
            None => self.build_connected(None, None),
        }
    }

    fn connected_to(&self, seat: &DeviceSession) -> Connected {
        self.build_connected(Some(seat.source().slug().to_string()), seat.resume_token().map(str::to_owned))
    }

    fn build_connected(&self, source: Option<String>, resume_token: Option<String>) -> Connected {
        let newer = self.version >= 2;
        Connected {
            v: self.version,
            message: CONNECTED_MESSAGE.to_owned(),
            source: source.filter(|_| newer),
            resume_token: resume_token.filter(|_| newer),
            heartbeat_ms: newer.then(|| self.app.heartbeat_ms()),
            limits: newer.then(|| self.app.wire_limits()),
        }
    }

    /// The connection is over: the seat waits for its device where that can resume and did not say goodbye, and
    /// ends otherwise.
    pub(crate) fn disconnect(&mut self, close: &CloseReason) {
        self.calls.cancel_all();
        self.conversation.detach();
        let Some(stay) = self.attachment.take() else { return };
        let seat = stay.session.clone();
        if !stay.detach() {
            return;
        }
        let sources = self.app.sources.clone();
        let resumable = seat.resume_token().is_some() && self.token.end_reason().is_none();
        if *close == CloseReason::Goodbye || !resumable || self.app.closing.is_cancelled() {
            return sources.end_session(&seat);
        }
        let grace = self.app.resume_grace();
        let closing = self.app.closing.clone();
        let token = self.token.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = closing.cancelled() => {}
                _ = token.wait_until_ended() => {}
            }
            if stay.is_unattached_since() {
                sources.end_session(&seat);
            }
        });
    }
}

impl FrameReceiver for SocketPeer {
    async fn on_text(&mut self, frame: Utf8Bytes) -> Result<(), CloseReason> {
        let decoded = if frame.len() > PARSE_BLOCKING_THRESHOLD {
            let decoded = tokio::task::spawn_blocking(move || ClientMessage::decode(frame.as_str())).await;
            decoded.unwrap_or_else(|error| Err(FrameError::InvalidJson(error.to_string())))
        } else {
            ClientMessage::decode(frame.as_str())
        };
        match decoded {
            Ok(message) => self.handle(message).await,
            Err(error) => self.send_error(error.code(), error.to_string()).await,
        }
    }

    async fn on_binary(&mut self) -> Result<(), CloseReason> {
        let text = "binary frames are not used; send JSON in text frames";
        self.send_error(error_code::INVALID_JSON, text).await
    }

    fn on_activity(&mut self) {
        if let Some(stay) = &self.attachment {
            stay.session.record_heard(self.app.clock.now_ms());
        }
    }
}

/// A new resume token: 128 random bits.
fn new_resume_token() -> Result<String, CloseReason> {
    match secret::random::<16>() {
        Ok(bits) => Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect()),
        Err(error) => Err(CloseReason::with_code(INTERNAL, error.to_string())),
    }
}

fn overlong_field(connect: &Connect) -> Option<&'static str> {
    let too_long = |field: &Option<String>| field.as_ref().is_some_and(|text| text.len() > MAX_FIELD);
    let fields = [
        ("session_id", &connect.session_id),
        ("device_name", &connect.device_name),
        ("device_id", &connect.device_id),
        ("platform", &connect.platform),
        ("app_version", &connect.app_version),
        ("resume_token", &connect.resume_token),
    ];
    let capabilities = connect.capabilities.len() > 64;
    fields
        .iter()
        .find(|(_, value)| too_long(value))
        .map(|(name, _)| *name)
        .or(capabilities.then_some("capabilities"))
}
