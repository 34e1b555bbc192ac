//! The way from a running call back to the MCP client that made it. A server behind the gateway may ask that client
//! for something (MCP's `elicitation/create`, `sampling/createMessage`, `roots/list`) and may tell it something
//! (`notifications/message`). The server side puts a [`Link`] on each call; the upstream side finds it there.
//!
//! Calls that no MCP client made have none: then nobody can be asked.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{
    ClientCapabilities, InputRequests, InputResponses, LoggingMessageNotificationParam, ProtocolVersion,
    RequestMetaObject,
};
use toolway_core::CallContext;
use toolway_types::PrincipalId;

/// Why a client gave no answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputRequestError {
    /// It did not say that it can be asked this.
    #[error("the client cannot be asked this")]
    NotSupported,
    /// It did not answer in time.
    #[error("the client did not answer in time")]
    TimedOut,
    /// It has gone, or has cancelled its request.
    #[error("the client has gone")]
    Disconnected,
    /// More of its answers are waited for than may be.
    #[error("too many questions wait for answers")]
    TooMany,
}

/// The MCP client behind one request.
#[async_trait]
pub trait RequestingClient: Send + Sync + 'static {
    /// Who is behind it, where that is known.
    fn principal(&self) -> Option<PrincipalId> {
        None
    }

    /// What it declared that it can do, for this request.
    fn capabilities(&self) -> &ClientCapabilities;

    /// The version that it speaks.
    fn protocol_version(&self) -> ProtocolVersion;

    /// The `_meta` of its request.
    fn meta(&self) -> &RequestMetaObject;

    /// Answers that came with the request though nobody had asked (2026-07-28, `inputResponses` without a state).
    fn initial_responses(&self) -> Option<InputResponses>;

    /// Asks it all of these at once and waits for its answers, within a bound of its own. Answers may be missing, and
    /// there may be more than were asked for; what they hold is not checked.
    ///
    /// # Errors
    /// [`NoAnswer`]. A client is never asked what it did not declare.
    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError>;

    /// Passes a log message on, where the client wants ones of its level. One that does not read misses some.
    fn send_log(&self, message: LoggingMessageNotificationParam);
}

/// A [`Client`], as it is attached to a call.
#[derive(Clone)]
pub struct ClientLink(pub Arc<dyn RequestingClient>);

impl ClientLink {
    /// The client that made this call.
    #[must_use]
    pub fn of(call: &CallContext) -> Option<Arc<dyn RequestingClient>> {
        call.extension::<Self>().map(|link| Arc::clone(&link.0))
    }
}

impl std::fmt::Debug for ClientLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientLink").finish_non_exhaustive()
    }
}
