//! The connection to the client of a request that is under way.

use rmcp::model::ProgressToken;
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

/// How the client of a request is reached meanwhile, and what says that it waits no longer. Nothing, where it wants to
/// hear nothing before the answer and its request is dropped with it.
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

    /// Whether it wants to hear how far its request is.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// Resolves once its client does not wait any more, where that is said.
    pub(crate) async fn cancelled(&self) {
        match self.cancelled {
            Some(cancelled) => cancelled.cancelled().await,
            None => std::future::pending().await,
        }
    }
}
