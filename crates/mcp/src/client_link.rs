//! The link from a running call back to the MCP client that made it. A server behind the gateway may ask that client
//! for input (MCP's `elicitation/create`, `sampling/createMessage`, `roots/list`) and may send it log messages
//! (`notifications/message`). The server side attaches a [`ClientLink`] to each call; the upstream side reads it
//! there.
//!
//! Calls that no MCP client made have no link, so nobody can be asked.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{
    ClientCapabilities, InputRequests, InputResponses, LoggingMessageNotificationParam, ProtocolVersion,
    RequestMetaObject,
};
use toolway_core::CallContext;
use toolway_types::PrincipalId;

/// The reason why a client gave no answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputRequestError {
    /// The client did not declare the capability.
    #[error("the client cannot be asked this")]
    NotSupported,
    /// The client did not answer in time.
    #[error("the client did not answer in time")]
    TimedOut,
    /// The client disconnected or cancelled its request.
    #[error("the client has gone")]
    Disconnected,
    /// Too many of its requests wait for answers already.
    #[error("too many questions wait for answers")]
    TooMany,
}

/// The MCP client behind one request.
#[async_trait]
pub trait RequestingClient: Send + Sync + 'static {
    /// The principal of the client, if known.
    fn principal(&self) -> Option<PrincipalId> {
        None
    }

    /// The capabilities that the client declared for this request.
    fn capabilities(&self) -> &ClientCapabilities;

    /// The protocol version of the client.
    fn protocol_version(&self) -> ProtocolVersion;

    /// The `_meta` of the request.
    fn meta(&self) -> &RequestMetaObject;

    /// Answers that the request already contained (2026-07-28, `inputResponses` without a `requestState`).
    fn initial_responses(&self) -> Option<InputResponses>;

    /// Sends all these requests to the client at once and waits for the answers, up to the client's own timeout.
    /// Answers may be missing, and there may be more of them than requests; their content is not checked.
    ///
    /// # Errors
    /// [`InputRequestError`]. A client is never asked for something that it did not declare.
    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError>;

    /// Forwards a log message if the client wants its level. A client that does not read loses messages.
    fn send_log(&self, message: LoggingMessageNotificationParam);
}

/// A [`RequestingClient`] attached to a call.
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
