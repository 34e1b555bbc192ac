//! A request to run a tool.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolway_types::CallId;

use crate::arguments::RawArguments;
use crate::caller::Caller;
use crate::consent::QuestionSink;
use crate::context::CallExtension;
use crate::progress::ProgressSink;

/// One request to run a tool.
pub struct CallRequest {
    /// The call's id.
    pub id: CallId,
    /// The tool's name as the caller gave it.
    pub name: Arc<str>,
    /// The arguments.
    pub arguments: RawArguments,
    /// The caller.
    pub caller: Caller,
    /// The caller's timeout.
    pub timeout: Option<Duration>,
    /// The idempotency key, which makes it safe to repeat the call.
    pub idempotency_key: Option<Arc<str>>,
    /// Receives progress reports.
    pub progress: Option<ProgressSink>,
    /// Receives questions to the caller, if it can answer any.
    pub questions: Option<QuestionSink>,
    /// Learns of questions that the call waits for and its caller can't answer.
    pub question_observer: Option<QuestionSink>,
    /// Data for tools of the entry point's own protocol ([`crate::CallContext::extension`]).
    pub extension: Option<CallExtension>,
    /// Cancelling it ends the call. Dropping the future of [`Engine::call`](crate::Engine::call) does the same.
    pub cancel: Option<CancellationToken>,
}

impl CallRequest {
    /// A call without any optional part.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, arguments: RawArguments, caller: Caller) -> Self {
        Self {
            id: CallId::new(),
            name: name.into(),
            arguments,
            caller,
            timeout: None,
            idempotency_key: None,
            progress: None,
            questions: None,
            question_observer: None,
            extension: None,
            cancel: None,
        }
    }
}

impl std::fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallRequest").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}
