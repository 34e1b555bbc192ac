//! The connection to the client of a request that is under way.

use rmcp::model::ProgressToken;
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

/// The peer, progress token and cancellation of a request under way. Empty if the client wants no messages before the
/// response and cancels by dropping its request.
#[derive(Default)]
pub(crate) struct ClientHandle<'a> {
    pub(crate) peer: Option<&'a Peer<RoleServer>>,
    pub(crate) progress_token: Option<ProgressToken>,
    cancelled: Option<&'a CancellationToken>,
}

impl<'a> ClientHandle<'a> {
    pub(crate) fn from_context(context: &'a RequestContext<RoleServer>) -> Self {
        Self {
            peer: Some(&context.peer),
            progress_token: context.meta.get_progress_token(),
            cancelled: Some(&context.ct),
        }
    }

    /// Returns true if the client wants progress reports.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// Resolves when the client cancels the request; never, if the handle has no cancellation.
    pub(crate) async fn cancelled(&self) {
        match self.cancelled {
            Some(cancelled) => cancelled.cancelled().await,
            None => std::future::pending().await,
        }
    }
}
