//! One connection, from its first frame to its last: who it is, what was agreed, what it has registered. What
//! device and chat connections do alike is here; [`super::chat`] adds what only chats may send.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio_util::sync::CancellationToken;
use toolway_core::consent::QuestionSink;
use toolway_core::{Lease, OwnTools};
use toolway_wire::from_client::Connect;
use toolway_wire::from_gateway::{Connected, ErrorMessage};
use toolway_wire::{
    CONNECTED_MESSAGE, ClientMessage, FrameError, GatewayMessage, VERSION, capability, error_code,
};

use super::chat::ChatCalls;
use super::close::{Close, INTERNAL, POLICY};
use super::connection::Receiver;
use super::outbox::{Gone, Outbox};
use super::talk::{self, Talk};
use super::{app_providers, chat, device};
use crate::access::{TokenState, secret};
use crate::sources::identity::Claims;
use crate::sources::seat::{Seat, SeatTerms, Stay};
use crate::sources::source::Source;
use crate::sources::{Arrival, JoinError, Sources};
use crate::state::App;

/// Frames longer than this are parsed on a thread for blocking work, so that they delay nobody else.
pub(super) const PARSE_APART: usize = 256 << 10;
/// Longest name, id or version that a peer may give of itself, in bytes.
const MAX_FIELD: usize = 256;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `/ws/device`: offers tools only.
    Device,
    /// `/ws/chat`: a chat client; may offer tools, too.
    Chat,
}

impl Kind {
    /// The door's name in metrics.
    pub(super) fn door(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Chat => "chat",
        }
    }
}

/// What the address said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Introduction {
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) name: Option<String>,
    pub(crate) persona: Option<String>,
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) app: Arc<App>,
    pub(crate) token: Arc<TokenState>,
    pub(crate) kind: Kind,
    pub(crate) version: u32,
    pub(crate) outbox: Outbox,
    pub(crate) introduction: Introduction,
    /// What `connect` said; none before.
    hello: Option<Connect>,
    stay: Option<Stay>,
    /// Cancelled when another socket takes this one's seat.
    displaced: CancellationToken,
    pub(crate) calls: ChatCalls,
    /// What is said over it, on `/ws/chat`.
    pub(super) talk: Talk,
    /// Where the questions of its calls go, once there has been a call.
    pub(crate) questions: Option<QuestionSink>,
}

impl Peer {
    pub(crate) fn new(
        app: Arc<App>,
        token: Arc<TokenState>,
        kind: Kind,
        version: u32,
        outbox: Outbox,
        introduction: Introduction,
    ) -> Self {
        let calls = ChatCalls::new(app.settings.limits.calls_in_flight_per_connection);
        let talk = Talk::new(&introduction);
        Self {
            app,
            token,
            kind,
            version,
            outbox,
            introduction,
            hello: None,
            stay: None,
            displaced: CancellationToken::new(),
            calls,
            talk,
            questions: None,
        }
    }

    /// Cancelled when another socket takes this one's seat.
    pub(crate) fn displaced(&self) -> CancellationToken {
        self.displaced.clone()
    }

    /// The seat, once this connection has one.
    pub(crate) fn seat(&self) -> Option<&Arc<Seat>> {
        self.stay.as_ref().map(|stay| &stay.seat)
    }

    /// Does something as whoever sits on this connection's seat; not where a newer connection has it, or the seat
    /// has ended.
    pub(super) fn while_seated<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        self.stay.as_ref()?.while_seated(then)
    }

    /// What this connection has registered, once it has something to register with.
    pub(super) fn own_tools(&self) -> Option<OwnTools> {
        let seat = self.seat()?;
        let lease = seat.with_lease(Lease::id)?;
        Some(OwnTools { source: seat.source().slug().clone(), lease })
    }

    pub(crate) async fn say(&self, message: impl Into<GatewayMessage>) -> Result<(), Close> {
        self.outbox.send(message.into().encode()).await.map_err(|Gone| Close::PeerGone)
    }

    pub(crate) async fn complain(&self, code: &str, message: impl Into<String>) -> Result<(), Close> {
        self.app.metrics.refused(code);
        self.say(ErrorMessage {
            message: message.into(),
            code: Some(code.to_owned()),
            ..ErrorMessage::default()
        })
        .await
    }

    async fn handle(&mut self, message: ClientMessage) -> Result<(), Close> {
        match message {
            ClientMessage::Connect(connect) => self.connect(connect).await,
            ClientMessage::RegisterTools(message) => device::register(self, message).await,
            ClientMessage::UnregisterTools(message) => device::unregister(self, message).await,
            ClientMessage::GetRegisteredTools(_) => device::registered(self).await,
            ClientMessage::ToolResult(result) => device::result(self, result).await,
            ClientMessage::ToolError(failure) => device::failure(self, failure).await,
            ClientMessage::ToolProgress(progress) => device::progress(self, progress).await,
            ClientMessage::ToolWaiting(waiting) => device::waiting(self, waiting).await,
            ClientMessage::AppProviders(message) => app_providers::report(self, message).await,
            message if self.kind == Kind::Device => {
                let text = format!("{:?} belongs on /ws/chat; this is a device's connection", message.kind());
                self.complain(error_code::FORBIDDEN, text).await
            }
            message => chat::handle(self, message).await,
        }
    }

    /// `connect`: agrees the version and, for whoever offers tools, the source.
    async fn connect(&mut self, connect: Connect) -> Result<(), Close> {
        if let Some(field) = overlong(&connect) {
            let text = format!("connect.{field} is longer than {MAX_FIELD} bytes");
            return self.complain(error_code::INVALID_MESSAGE, text).await;
        }
        if self.hello.is_some() && self.stay.is_some() {
            // A second `connect` changes nothing: who a connection is, is said once.
            return self.say(self.connected()).await;
        }
        self.version = self.version.max(connect.v.unwrap_or(1).clamp(1, VERSION));
        if self.kind == Kind::Chat && self.hello.is_none() {
            talk::bind(self, connect.session_id.as_deref()).await?;
        }
        let resume = connect.resume_token.clone();
        self.hello = Some(connect);
        let offers = self.token.role().may_offer_tools();
        let is_named = self.claims().identity().is_some();
        if offers && self.version >= 2 && (self.kind == Kind::Device || is_named) {
            let resumed = resume.and_then(|token| {
                let id = &self.token.principal.id;
                self.app.sources.resume(id, &token).filter(|seat| self.may_resume(seat))
            });
            return match resumed {
                Some(seat) => self.sit_down_again(seat).await,
                None => self.sit_down(true).await,
            };
        }
        self.say(self.connected()).await
    }

    /// Whether this connection says that it is who made that seat.
    fn may_resume(&self, seat: &Seat) -> bool {
        let identity = self.claims().identity();
        self.kind == Kind::Device && (identity.is_none() || identity.as_ref() == seat.source().identity())
    }

    fn claims(&self) -> Claims<'_> {
        let hello = self.hello.as_ref();
        Claims {
            device_id: hello.and_then(|hello| hello.device_id.as_deref()),
            paired_id: self.token.device.id.as_deref(),
            paired_name: self.token.device.name.as_deref(),
            device_name: hello.and_then(|hello| hello.device_name.as_deref()),
            name: self.introduction.name.as_deref(),
        }
    }

    fn can(&self, capability: &str) -> bool {
        self.hello.as_ref().is_some_and(|hello| hello.capabilities.iter().any(|said| said == capability))
    }

    /// The seat of this connection, making one where there is none yet.
    pub(crate) async fn need_seat(&mut self) -> Result<Arc<Seat>, Close> {
        if self.stay.is_none() {
            self.sit_down(false).await?;
        }
        match self.seat() {
            Some(seat) => Ok(seat.clone()),
            None => Err(Close::with(INTERNAL, "no source could be made")),
        }
    }

    /// Takes a new seat at this connection's source.
    async fn sit_down(&mut self, greet: bool) -> Result<(), Close> {
        let source = self.join().await?;
        let resumes = self.version >= 2 && self.kind == Kind::Device && self.can(capability::RESUME);
        let lease = self.app.engine.registry().lease(source.slug().clone(), Sources::keep(&source));
        let terms = SeatTerms {
            version: self.version,
            resume_token: if resumes { Some(new_resume_token()?) } else { None },
            calls_limit: self.app.settings.limits.calls_in_flight_per_device,
        };
        let seat = Seat::new(source.clone(), lease, terms);
        match self.kind {
            Kind::Device => {
                if let Some(old) = source.seat_device(seat.clone()) {
                    self.app.sources.end_seat(&old);
                }
            }
            Kind::Chat => source.seat_chat(&seat),
        }
        self.app.sources.make_resumable(&seat);
        if greet {
            let connected = self.connected_at(&seat);
            self.say(connected).await?;
        }
        let now = self.app.clock.now_ms();
        self.stay = Some(seat.attach(self.outbox.clone(), self.displaced.clone(), now).await);
        self.talk.own().set(self.own_tools());
        tracing::info!(source = %source.slug(), token = %self.token.id(), "a device connected");
        Ok(())
    }

    /// Takes the seat that an earlier socket of this device had.
    async fn sit_down_again(&mut self, seat: Arc<Seat>) -> Result<(), Close> {
        let connected = self.connected_at(&seat);
        self.say(connected).await?;
        let now = self.app.clock.now_ms();
        tracing::info!(source = %seat.source().slug(), token = %self.token.id(), "a device resumed");
        self.stay = Some(seat.attach(self.outbox.clone(), self.displaced.clone(), now).await);
        if seat.has_ended() {
            // The grace time ran out in this very moment.
            return Err(Close::with(super::close::GOING_AWAY, "the seat to resume is gone; connect anew"));
        }
        Ok(())
    }

    async fn join(&self) -> Result<Arc<Source>, Close> {
        let limits = &self.app.settings.limits;
        let owner = self.token.role().is_owner();
        let hello = self.hello.as_ref();
        let arrival = Arrival {
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
                self.complain(code, text.clone()).await?;
                Err(Close::with(close, text))
            }
        }
    }

    fn connected(&self) -> Connected {
        match self.seat() {
            Some(seat) => self.connected_at(seat),
            None => self.connected_without(None, None),
        }
    }

    fn connected_at(&self, seat: &Seat) -> Connected {
        self.connected_without(Some(seat.source().slug().to_string()), seat.resume_token().map(str::to_owned))
    }

    fn connected_without(&self, source: Option<String>, resume_token: Option<String>) -> Connected {
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
    pub(crate) fn leave(&mut self, close: &Close) {
        self.calls.cancel_all();
        self.talk.leave();
        let Some(stay) = self.stay.take() else { return };
        let seat = stay.seat.clone();
        if !stay.leave() {
            return;
        }
        let sources = self.app.sources.clone();
        let resumable = seat.resume_token().is_some() && self.token.has_ended().is_none();
        if *close == Close::Goodbye || !resumable || self.app.closing.is_cancelled() {
            return sources.end_seat(&seat);
        }
        let grace = self.app.resume_grace();
        let closing = self.app.closing.clone();
        let token = self.token.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = closing.cancelled() => {}
                _ = token.ended() => {}
            }
            if stay.is_empty_since() {
                sources.end_seat(&seat);
            }
        });
    }
}

impl Receiver for Peer {
    async fn text(&mut self, frame: Utf8Bytes) -> Result<(), Close> {
        let decoded = if frame.len() > PARSE_APART {
            let decoded = tokio::task::spawn_blocking(move || ClientMessage::decode(frame.as_str())).await;
            decoded.unwrap_or_else(|error| Err(FrameError::InvalidJson(error.to_string())))
        } else {
            ClientMessage::decode(frame.as_str())
        };
        match decoded {
            Ok(message) => self.handle(message).await,
            Err(error) => self.complain(error.code(), error.to_string()).await,
        }
    }

    async fn binary(&mut self) -> Result<(), Close> {
        let text = "binary frames are not used; send JSON in text frames";
        self.complain(error_code::INVALID_JSON, text).await
    }

    fn alive(&mut self) {
        if let Some(stay) = &self.stay {
            stay.seat.heard(self.app.clock.now_ms());
        }
    }
}

/// A new resume token: 128 random bits.
fn new_resume_token() -> Result<String, Close> {
    match secret::random::<16>() {
        Ok(bits) => Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect()),
        Err(error) => Err(Close::with(INTERNAL, error.to_string())),
    }
}

fn overlong(connect: &Connect) -> Option<&'static str> {
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
