//! The session through which a connection offers tools: attaches to a new one, resumes an earlier one, and
//! detaches when the connection ends.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolway_agent::turn::ConnectionRegistration;
use toolway_core::{CallerRegistration, Lease};
use toolway_types::Role;
use toolway_types::text::hex;
use toolway_wire::gateway_message::Connected;
use toolway_wire::{CONNECTED_MESSAGE, capability, error_code};

use super::close::{CloseReason, GOING_AWAY, INTERNAL, POLICY};
use super::context::{SocketContext, SocketKind};
use crate::access::secret;
use crate::sources::device_session::{DeviceAttachment, DeviceSession, DeviceSessionOptions};
use crate::sources::device_source::DeviceSource;
use crate::sources::{DeviceSources, JoinError, JoinRequest, SourceSession};

/// The tool provider part of a connection.
#[derive(Debug, Default)]
pub(super) struct ToolProvider {
    attached: Option<AttachedSession>,
    /// Cancelled when another socket takes over the session.
    displaced: CancellationToken,
    /// The tools of this connection, for its turns.
    registration: ConnectionRegistration,
}

/// A session that this connection is attached to.
#[derive(Debug)]
struct AttachedSession {
    source: Arc<DeviceSource>,
    attachment: DeviceAttachment,
}

impl ToolProvider {
    /// Creates a provider whose tools are available to turns through `registration`.
    pub(super) fn new(registration: ConnectionRegistration) -> Self {
        Self { registration, ..Self::default() }
    }

    /// Returns a token that is cancelled when another socket takes over the session.
    pub(super) fn displaced(&self) -> CancellationToken {
        self.displaced.clone()
    }

    /// Returns the session, if there is one.
    pub(super) fn session(&self) -> Option<&Arc<DeviceSession>> {
        self.attached.as_ref().map(|attached| &attached.attachment.session)
    }

    /// Returns the session with its source, if there is one.
    pub(super) fn source_session(&self) -> Option<SourceSession> {
        let AttachedSession { source, attachment } = self.attached.as_ref()?;
        Some(SourceSession { source: source.clone(), session: attachment.session.clone() })
    }

    /// Runs a function while this connection is attached; returns `None` if a newer connection is attached or
    /// the session has ended.
    pub(super) fn while_attached<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        self.attached.as_ref()?.attachment.while_attached(then)
    }

    /// Returns the tools of this connection, if it has a session.
    pub(super) fn registration(&self) -> Option<CallerRegistration> {
        let AttachedSession { source, attachment } = self.attached.as_ref()?;
        let lease = attachment.session.with_lease(Lease::id)?;
        Some(CallerRegistration { source: source.slug().clone(), lease })
    }

    /// Returns the session of this connection, and creates one if necessary.
    pub(super) async fn require_session(&mut self, cx: &SocketContext) -> Result<SourceSession, CloseReason> {
        let is_replaced = |attached: &AttachedSession| {
            attached.source.identity().is_none() && attached.attachment.session.has_ended()
        };
        if self.attached.as_ref().is_none_or(is_replaced) {
            self.attach(cx, false).await?;
        }
        self.source_session().ok_or_else(|| CloseReason::with_code(INTERNAL, "no source could be made"))
    }

    /// Attaches as requested by `connect`: to the session that it resumes, or to a new one.
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
            SocketKind::Chat => {
                source.add_chat_session(&session);
                cx.app.sources.replace_unnamed(&source, &session);
            }
        }
        cx.app.sources.make_resumable(&session);
        // The peer must get `connected` before the first request, which attaching may send.
        if greet {
            cx.send(connected(cx, Some(&session))).await?;
        }
        self.attach_to(cx, SourceSession { source: source.clone(), session }).await;
        self.registration.set(self.registration());
        if let Some(line) = cx.app.peer_log.admit(&cx.token.principal.id) {
            let omitted = line.omitted;
            tracing::info!(source = %source.slug(), token = %cx.token.id(), omitted, "a device connected");
        }
        Ok(())
    }

    /// Attaches to the session of an earlier socket of this device.
    async fn resume(&mut self, cx: &SocketContext, found: SourceSession) -> Result<(), CloseReason> {
        cx.send(connected(cx, Some(&found.session))).await?;
        if let Some(line) = cx.app.peer_log.admit(&cx.token.principal.id) {
            let (source, omitted) = (found.source.slug(), line.omitted);
            tracing::info!(%source, token = %cx.token.id(), omitted, "a device resumed");
        }
        let session = found.session.clone();
        self.attach_to(cx, found).await;
        if session.has_ended() {
            // The grace time has ended at this very moment.
            return Err(CloseReason::with_code(GOING_AWAY, "the session to resume is gone; connect again"));
        }
        Ok(())
    }

    async fn attach_to(&mut self, cx: &SocketContext, SourceSession { source, session }: SourceSession) {
        let now = cx.app.clock.now_ms();
        let attachment = session.attach(cx.outbox.clone(), self.displaced.clone(), now).await;
        self.attached = Some(AttachedSession { source, attachment });
    }

    /// Detaches from the session, because the connection has ended. The session waits for its device if the
    /// device can resume and did not close normally. Otherwise it ends.
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
            // A newer socket may have attached meanwhile and owns the session now.
            if attachment.is_unattached_since() {
                sources.end_session(&source, &session);
            }
        });
    }
}

/// Returns the reason why a token of this role may not offer tools, for its client.
pub(super) fn offer_refusal(role: Role) -> Option<&'static str> {
    (!role.may_offer_tools())
        .then_some("a token of the role client may not offer tools; pair as a device or a companion")
}

/// Creates `connected` for a connection with or without a session.
pub(super) fn connected(cx: &SocketContext, session: Option<&Arc<DeviceSession>>) -> Connected {
    // Version 1 has none of the other fields.
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

/// Returns true if this connection claims to be the device of this source.
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
        chat_session: cx.session.as_ref().filter(|_| cx.version < 2),
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

/// Creates a resume token of 128 random bits.
fn new_resume_token() -> Result<String, CloseReason> {
    match secret::random::<16>() {
        Ok(bits) => Ok(hex(&bits)),
        Err(error) => Err(CloseReason::with_code(INTERNAL, error.to_string())),
    }
}
