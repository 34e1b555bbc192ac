//! What comes back from a model while it answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::message::MessagePart;
use crate::usage::ModelUsage;

/// One thing that happened. Deltas are for whoever watches; each part comes once more, whole and in its place, as
/// [`ModelEvent::Part`], and these together are the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The request failed before anything came of it and will be made again.
    Retrying {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How long until the next.
        wait: Duration,
        /// Why it failed.
        error: ModelError,
    },
    /// The provider answers.
    Started {
        /// The model that answers, as the provider calls it.
        model: Option<String>,
    },
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The model begins to call a tool.
    ToolCallStarted {
        /// Which of the answer's calls, from 0.
        index: usize,
        /// The tool's name as the model was told it.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallArguments {
        /// Which of the answer's calls, from 0.
        index: usize,
        /// JSON text that follows what came before.
        delta: String,
    },
    /// A part is whole. Parts come in the order of the answer.
    Part(MessagePart),
    /// The latest word on the tokens of this request.
    Usage(ModelUsage),
    /// The answer is over; nothing follows.
    Finished(FinishReason),
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model said all it wanted.
    Stop,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It wrote as many tokens as it might.
    Length,
    /// Question and answer together are longer than it can read.
    ContextExceeded,
    /// The provider's filter, or the model itself, refused.
    Refused,
    /// The provider paused a long answer, which goes on when it is sent back.
    Paused,
    /// The model called a tool in a form that its provider could not read.
    MalformedToolCall,
    /// What the provider said that we have no word for.
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
