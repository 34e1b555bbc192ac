//! Events of a model's response.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::message::MessagePart;
use crate::usage::ModelUsage;

/// An event of a response. Deltas are for live display; each part comes once more, complete and in order, as
/// [`ModelEvent::Part`]. These parts together are the response.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The request failed without output and will be retried.
    Retrying {
        /// Number of the failed attempt, from 1.
        attempt: u32,
        /// Delay before the next attempt.
        wait: Duration,
        /// Error of the failed attempt.
        error: ModelError,
    },
    /// The provider has started to respond.
    Started {
        /// Name of the model as the provider reports it.
        model: Option<String>,
    },
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The model has started a tool call.
    ToolCallStarted {
        /// Index of the call in the response, from 0.
        index: usize,
        /// Name of the tool.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallArguments {
        /// Index of the call in the response, from 0.
        index: usize,
        /// JSON text to append.
        delta: String,
    },
    /// A complete part. Parts come in the order of the response.
    Part(MessagePart),
    /// Token counts of this request; replaces earlier ones.
    Usage(ModelUsage),
    /// The end of the response.
    Finished(FinishReason),
}

/// Reason for the end of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model has finished.
    Stop,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The model reached the maximum number of output tokens.
    Length,
    /// Request and response exceed the context window.
    ContextExceeded,
    /// The provider's filter or the model itself refused.
    Refused,
    /// The provider paused a long response. It continues when the response is sent back.
    Paused,
    /// The model called a tool in a form that its provider could not parse.
    MalformedToolCall,
    /// Any other reason, in the provider's words.
    Other(String),
}

/// Maximum length of a provider's own reason, in characters.
const MAX_REASON_CHARS: usize = 64;

impl FinishReason {
    /// A reason that only the provider knows.
    pub(crate) fn other(reason: &str) -> Self {
        Self::Other(reason.chars().take(MAX_REASON_CHARS).collect())
    }
}
