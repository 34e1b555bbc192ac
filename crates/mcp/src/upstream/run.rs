//! Keeps a server connected.
use super::server::Upstream;
use std::sync::Arc;
use tokio::task::JoinHandle;
pub(super) async fn run(upstream: Arc<Upstream>, before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        let _ = before.await;
    }
    upstream.stopped().cancelled().await;
}
