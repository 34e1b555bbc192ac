//! The connection to the client of a request that is under way.

use std::sync::Arc;

use rmcp::model::ProgressToken;
use tokio_util::sync::CancellationToken;

use super::message_sink::MessageSink;
use super::server_requests::ServerRequests;

/// The receivers of messages to a client, its progress token and the cancellation of its request. Empty if the client
/// reads no messages before the response and cancels by dropping its request.
#[derive(Default)]
pub(crate) struct ClientHandle {
    /// The receiver of messages that belong to the request.
    pub(crate) messages: Option<Arc<dyn MessageSink>>,
    /// The receiver of log messages.
    pub(crate) logs: Option<Arc<dyn MessageSink>>,
    /// The requests to a client with a session; `None` if the client gets questions as results.
    pub(crate) server_requests: Option<Arc<ServerRequests>>,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) cancelled: Option<CancellationToken>,
}

impl ClientHandle {
    /// Returns true if the client wants progress reports.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress_token.is_some() && self.messages.is_some()
    }

    /// Resolves when the client cancels the request; never, if the handle has no cancellation.
    pub(crate) async fn cancelled(&self) {
        match &self.cancelled {
            Some(cancelled) => cancelled.cancelled().await,
            None => std::future::pending().await,
        }
    }
}
