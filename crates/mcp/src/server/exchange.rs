//! A request under way: its identity, its work, and its client.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolway_core::Engine;
use toolway_core::consent::Question;
use toolway_types::RawJson;

use super::client::{ClientMessage, QueuedClient};
use super::client_scope::ClientScope;
use super::consent::ConsentRequest;

/// The work of a request. Its result is a JSON object.
pub(crate) type ExchangeFuture = Pin<Box<dyn Future<Output = Result<String, ErrorData>> + Send>>;

/// The identity of a request. Only an equal request may resume pending work.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) method: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) target: String,
    pub(crate) arguments: Option<RawJson>,
}

impl PartialEq for RequestIdentity {
    /// Compares arguments by value: the same arguments may be written differently.
    fn eq(&self, other: &Self) -> bool {
        let value = |which: &Self| which.arguments.as_ref().map(RawJson::to_value);
        self.method == other.method && self.target == other.target && value(self) == value(other)
    }
}

/// A request under way.
pub(crate) struct ClientExchange {
    pub(crate) identity: RequestIdentity,
    pub(crate) scope: ClientScope,
    pub(crate) engine: Arc<Engine>,
    pub(crate) client: Arc<QueuedClient>,
    pub(crate) messages: mpsc::Receiver<ClientMessage>,
    pub(crate) work: ExchangeFuture,
    /// Cancels the work.
    pub(crate) cancel: CancellationToken,
    /// The last reported progress.
    pub(crate) last_progress: f64,
    /// The message of a progress report, for the status of a task.
    pub(crate) last_message: Option<String>,
    /// The next message to the client: a question that turned the request into a task.
    pub(crate) next_message: Option<ClientMessage>,
}

impl ClientExchange {
    /// A question of the gateway to this request's client.
    pub(crate) fn consent_request(&self, question: Arc<Question>) -> ConsentRequest {
        ConsentRequest { engine: Arc::clone(&self.engine), question }
    }
}
