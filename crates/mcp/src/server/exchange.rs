//! A request under way: its identity, its work, and its client.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, ReadResourceResult};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolway_core::Engine;
use toolway_core::consent::Question;
use toolway_types::RawJson;

use super::client::{ClientMessage, QueuedClient};
use super::client_scope::ClientScope;
use super::consent::ConsentRequest;

/// What a request ends in.
#[derive(Debug)]
pub(crate) enum ExchangeResult {
    /// A result of `tools/call`: a JSON object.
    Tool(String),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
}

/// The work of a request.
pub(crate) type ExchangeFuture = Pin<Box<dyn Future<Output = Result<ExchangeResult, ErrorData>> + Send>>;

/// Which request it is: only the same one takes up work that waits.
#[derive(Debug, Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) method: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) target: String,
    pub(crate) arguments: Option<RawJson>,
}

impl PartialEq for RequestIdentity {
    /// The same arguments may be written in other ways.
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
    /// What was last reported.
    pub(crate) last_progress: f64,
    /// What is to be said to the client next: a question that made a task of the request.
    pub(crate) next_message: Option<ClientMessage>,
}

impl ClientExchange {
    /// A question of the gateway to this request's client.
    pub(crate) fn consent_request(&self, question: Arc<Question>) -> ConsentRequest {
        ConsentRequest { engine: Arc::clone(&self.engine), question }
    }
}

/// The error of a request that ended in the result of another kind of request.
pub(crate) fn unexpected_result() -> ErrorData {
    ErrorData::internal_error("the request ended in the answer to another kind of request", None)
}
