//! The session through which a connection offers tools: attaching to a new one, resuming an earlier one, and leaving
//! it when the connection ends.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolway_agent::turn::ConnectionRegistration;
use toolway_core::{CallerRegistration, Lease};
use toolway_types::Role;
use toolway_wire::gateway_message::Connected;
use toolway_wire::{CONNECTED_MESSAGE, capability, error_code};

use super::close::{CloseReason, GOING_AWAY, INTERNAL, POLICY};
use super::context::{SocketContext, SocketKind};
use crate::access::secret;
use crate::sources::device_session::{DeviceAttachment, DeviceSession, DeviceSessionOptions};
use crate::sources::device_source::DeviceSource;
use crate::sources::{DeviceSources, JoinError, JoinRequest, SourceSession};

/// The tool offering side of a connection.
#[derive(Debug, Default)]
pub(super) struct ToolProvider {
    attached: Option<AttachedSession>,
    /// Cancelled when another socket takes this one's session.
    displaced: CancellationToken,
    /// The registration of this connection, for its turns.
    registration: ConnectionRegistration,
}

/// A session that this connection is attached to.
#[derive(Debug)]
struct AttachedSession {
    source: Arc<DeviceSource>,
    attachment: DeviceAttachment,
}

impl ToolProvider {
    /// A provider that tells turns through `registration` what this connection has registered.
    pub(super) fn new(registration: ConnectionRegistration) -> Self {
        Self { registration, ..Self::default() }
    }

    /// Is cancelled when another socket takes this one's session.
    pub(super) fn displaced(&self) -> CancellationToken {
        self.displaced.clone()
    }

    /// The session, once there is one.
    pub(super) fn session(&self) -> Option<&Arc<DeviceSession>> {
        self.attached.as_ref().map(|attached| &attached.attachment.session)
    }

    /// The session with its source, once there is one.
    pub(super) fn source_session(&self) -> Option<SourceSession> {
        let AttachedSession { source, attachment } = self.attached.as_ref()?;
        Some(SourceSession { source: source.clone(), session: attachment.session.clone() })
    }

    /// Runs a function while this connection is attached; none if a newer connection is, or the session has ended.
    pub(super) fn while_attached<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        self.attached.as_ref()?.attachment.while_attached(then)
    }

    /// The registration of this connection, once it has a session.
    pub(super) fn registration(&self) -> Option<CallerRegistration> {
        let AttachedSession { source, attachment } = self.attached.as_ref()?;
        let lease = attachment.session.with_lease(Lease::id)?;
        Some(CallerRegistration { source: source.slug().clone(), lease })
    }

    /// The session of this connection; makes one if there is none yet.
    pub(super) async fn require_session(&mut self, cx: &SocketContext) -> Result<SourceSession, CloseReason> {
        if self.attached.is_none() {
            self.attach(cx, false).await?;
        }
        self.source_session().ok_or_else(|| CloseReason::with_code(INTERNAL, "no source could be made"))
    }

    /// Attaches as `connect` asks: to the session that it resumes, or to a new one.
    pub(super) async fn attach_or_resume(&mut self, cx: &SocketContext) -> Result<(), CloseReason> {
        let token = cx.hello.as_ref().and_then(|hello| hello.resume_token.as_deref());
        let resumed = token.and_then(|token| {
            let found = cx.app.sources.resume(&cx.token.principal.id, token)?;
            can_resume(cx, &found.source).then_some(found)
        });
        match resumed {
            Some(found) => self.resume(cx, found).await,
            None => self.attach(cx, true).await,
        }
    }

    /// Attaches to a new session of this connection's source.
    async fn attach(&mut self, cx: &SocketContext, greet: bool) -> Result<(), CloseReason> {
        let source = join(cx).await?;
        let resumes =
            cx.version >= 2 && cx.kind == SocketKind::Device && cx.has_capability(capability::RESUME);
        let lease = cx.app.registry.lease(source.slug().clone(), DeviceSources::keep_policy(&source));
        let options = DeviceSessionOptions {
            version: cx.version,
            resume_token: if resumes { Some(new_resume_token()?) } else { None },
            calls_limit: cx.app.settings.limits.calls_in_flight_per_device,
        };
        let session = DeviceSession::new(source.slug().clone(), lease, options);
        match cx.kind {
            SocketKind::Device => {
                if let Some(old) = source.replace_device_session(session.clone()) {
                    cx.app.sources.end_session(&source, &old);
                }
            }
            SocketKind::Chat => source.add_chat_session(&session),
        }
        cx.app.sources.make_resumable(&session);
        // The peer must have `connected` before the first request that attaching lets through.
        if greet {
            cx.send(connected(cx, Some(&session))).await?;
        }
        self.attach_to(cx, SourceSession { source: source.clone(), session }).await;
        self.registration.set(self.registration());
        tracing::info!(source = %source.slug(), token = %cx.token.id(), "a device connected");
        Ok(())
    }

    /// Attaches to the session of an earlier socket of this device.
    async fn resume(&mut self, cx: &SocketContext, found: SourceSession) -> Result<(), CloseReason> {
        cx.send(connected(cx, Some(&found.session))).await?;
        tracing::info!(source = %found.source.slug(), token = %cx.token.id(), "a device resumed");
        let session = found.session.clone();
        self.attach_to(cx, found).await;
        if session.has_ended() {
            // The grace time ran out in this very moment.
            return Err(CloseReason::with_code(GOING_AWAY, "the session to resume is gone; connect again"));
        }
        Ok(())
    }

    async fn attach_to(&mut self, cx: &SocketContext, SourceSession { source, session }: SourceSession) {
        let now = cx.app.clock.now_ms();
        let attachment = session.attach(cx.outbox.clone(), self.displaced.clone(), now).await;
        self.attached = Some(AttachedSession { source, attachment });
    }

    /// Leaves the session, because the connection is over. The session waits for its device if the device can resume
    /// and did not say goodbye. Otherwise it ends.
    pub(super) fn detach(&mut self, cx: &SocketContext, close: &CloseReason) {
        let Some(AttachedSession { source, attachment }) = self.attached.take() else { return };
        if !attachment.detach() {
            return;
        }
        let (sources, session) = (cx.app.sources.clone(), attachment.session.clone());
        let resumable = session.resume_token().is_some() && cx.token.end_reason().is_none();
        if *close == CloseReason::Goodbye || !resumable || cx.app.closing.is_cancelled() {
            return sources.end_session(&source, &session);
        }
        let (grace, closing, token) = (cx.app.resume_grace(), cx.app.closing.clone(), cx.token.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = closing.cancelled() => {}
                _ = token.wait_until_ended() => {}
            }
            // A newer socket may have attached meanwhile, and the session is its own then.
            if attachment.is_unattached_since() {
                sources.end_session(&source, &session);
            }
        });
    }
}

/// The reason why a token of this role may not offer tools, for its client.
pub(super) fn offer_refusal(role: Role) -> Option<&'static str> {
    (!role.may_offer_tools())
        .then_some("a token of the role client may not offer tools; pair as a device or a companion")
}

/// `connected`, for a connection with this session, or with none.
pub(super) fn connected(cx: &SocketContext, session: Option<&Arc<DeviceSession>>) -> Connected {
    // Version 1 knows none of the other fields.
    let newer = cx.version >= 2;
    let session = session.filter(|_| newer);
    Connected {
        v: cx.version,
        message: CONNECTED_MESSAGE.to_owned(),
        source: session.map(|session| session.source().to_string()),
        resume_token: session.and_then(|session| session.resume_token()).map(str::to_owned),
        heartbeat_ms: newer.then(|| cx.app.heartbeat_ms()),
        limits: newer.then(|| cx.app.wire_limits()),
    }
}

/// Returns whether this connection claims to be the device of this source.
fn can_resume(cx: &SocketContext, source: &DeviceSource) -> bool {
    let identity = cx.claims().identity();
    cx.kind == SocketKind::Device && (identity.is_none() || identity.as_ref() == source.identity())
}

async fn join(cx: &SocketContext) -> Result<Arc<DeviceSource>, CloseReason> {
    let hello = cx.hello.as_ref();
    let arrival = JoinRequest {
        claims: cx.claims(),
        token_label: Some(cx.token.label.as_str()).filter(|label| !label.is_empty()),
        platform: hello.and_then(|it| it.platform.as_deref()).or(cx.token.device.platform.as_deref()),
        app_version: hello.and_then(|hello| hello.app_version.as_deref()),
        role: cx.token.role(),
    };
    match cx.app.sources.join(&cx.token.principal.id, arrival).await {
        Ok(source) => Ok(source),
        Err(error) => {
            let (code, close) = match error {
                JoinError::TooMany(_) => (error_code::LIMIT_EXCEEDED, POLICY),
                JoinError::Store(_) => (error_code::SOURCE_NOT_STORED, INTERNAL),
            };
            let text = error.to_string();
            cx.send_error(code, text.clone()).await?;
            Err(CloseReason::with_code(close, text))
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
