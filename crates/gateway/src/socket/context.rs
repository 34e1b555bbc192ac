//! The context that the handlers of one connection share: the gateway, the token, the protocol version and
//! the outbox.

use std::sync::Arc;

use toolway_types::text::{MAX_MESSAGE, shorten};
use toolway_wire::client_message::Connect;
use toolway_wire::gateway_message::ErrorMessage;
use toolway_wire::{GatewayMessage, VERSION};

use super::close::CloseReason;
use crate::access::TokenState;
use crate::memory_budget::MemoryAccount;
use crate::outbox::{Outbox, PeerGone};
use crate::sources::identity::IdentityClaims;
use crate::state::AppState;

/// Size above which frames are parsed on a blocking thread, so that they do not delay other connections, in
/// bytes.
pub(super) const PARSE_BLOCKING_THRESHOLD: usize = 256 << 10;

/// The kind of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// `/ws/device`: the peer only offers tools.
    Device,
    /// `/ws/chat`: a chat client, which may also offer tools.
    Chat,
}

impl SocketKind {
    /// Returns the name of the entry point in metrics.
    pub(super) fn entry_point(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Chat => "chat",
        }
    }
}

/// Query parameters of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct SocketParams {
    pub(crate) session_id: Option<Arc<str>>,
    pub(crate) name: Option<String>,
    pub(crate) persona: Option<String>,
}

/// One connection, without the state of its handlers.
pub(super) struct SocketContext {
    pub(super) app: Arc<AppState>,
    pub(super) token: Arc<TokenState>,
    pub(super) kind: SocketKind,
    /// The protocol version in use.
    pub(super) version: u32,
    pub(super) outbox: Outbox,
    /// Memory of the connection.
    pub(super) account: MemoryAccount,
    pub(super) params: SocketParams,
    /// The `connect` message, once it has arrived.
    pub(super) hello: Option<Connect>,
    /// Time zone from `connect`.
    pub(super) time_zone: Option<Arc<str>>,
    /// The open session of a chat connection.
    pub(super) session: Option<Arc<str>>,
}

/// The client that a turn is shown to. Cheap to clone, so that a turn can outlive the connection.
#[derive(Clone)]
pub(super) struct TurnAudience {
    pub(super) app: Arc<AppState>,
    pub(super) token: Arc<TokenState>,
    pub(super) outbox: Outbox,
    /// The protocol version of the client.
    pub(super) version: u32,
}

impl TurnAudience {
    pub(super) async fn send_error(&self, error: ErrorMessage) -> Result<(), PeerGone> {
        self.app.metrics.record_refusal(error.code.as_deref().unwrap_or_default());
        self.outbox.send(GatewayMessage::from(error).encode()).await
    }
}

impl SocketContext {
    /// Stores `connect`, which may raise the version but never lowers it.
    pub(super) fn record_hello(&mut self, hello: Connect, time_zone: Option<Arc<str>>) {
        self.version = self.version.max(hello.v.unwrap_or(1).clamp(1, VERSION));
        self.hello = Some(hello);
        self.time_zone = time_zone;
    }

    /// Returns the client that turns of this connection are shown to.
    pub(super) fn audience(&self) -> TurnAudience {
        TurnAudience {
            app: Arc::clone(&self.app),
            token: Arc::clone(&self.token),
            outbox: self.outbox.clone(),
            version: self.version,
        }
    }

    /// Returns the identity that the peer claims.
    pub(super) fn claims(&self) -> IdentityClaims<'_> {
        let hello = self.hello.as_ref();
        IdentityClaims {
            device_id: hello.and_then(|hello| hello.device_id.as_deref()),
            paired_id: self.token.device.id.as_deref(),
            paired_name: self.token.device.name.as_deref(),
            device_name: hello.and_then(|hello| hello.device_name.as_deref()),
            name: self.params.name.as_deref(),
        }
    }

    pub(super) fn has_capability(&self, capability: &str) -> bool {
        let hello = self.hello.as_ref();
        hello.is_some_and(|hello| hello.capabilities.iter().any(|named| named == capability))
    }

    pub(super) async fn send(&self, message: impl Into<GatewayMessage>) -> Result<(), CloseReason> {
        self.outbox.send(message.into().encode()).await.map_err(|PeerGone| CloseReason::PeerGone)
    }

    pub(super) async fn send_error(&self, code: &str, message: impl Into<String>) -> Result<(), CloseReason> {
        self.send_error_about(code, message, None).await
    }

    /// Sends an error about the message with this id.
    pub(super) async fn send_error_about(
        &self,
        code: &str,
        message: impl Into<String>,
        id: Option<String>,
    ) -> Result<(), CloseReason> {
        self.app.metrics.record_refusal(code);
        self.send(ErrorMessage {
            message: shorten(&message.into(), MAX_MESSAGE),
            code: Some(code.to_owned()),
            id: id.filter(|_| self.version >= 2),
            ..ErrorMessage::default()
        })
        .await
    }
}
