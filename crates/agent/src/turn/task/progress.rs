//! The state of a running turn: everything that changes from one request to the next.

use std::sync::Arc;

use parking_lot::Mutex;
use toolway_models::{FinishReason, ModelMessage, ToolSet};
use toolway_store::{ModelRequestRecord, NewMessage};

use crate::agents::Agent;
use crate::context::TokenCounter;
use crate::selection::{DefinitionCache, ToolSelector};
use crate::turn::meter::TurnMeter;
use crate::turn::refused_parts::TurnReplacements;
use crate::turn::repeated_failures::RepeatedFailures;

/// The state of a running turn.
pub(super) struct TurnProgress {
    pub(super) selector: ToolSelector,
    pub(super) repeated_failures: Mutex<RepeatedFailures>,
    pub(super) meter: TurnMeter,
    pub(super) unsaved: UnsavedRecords,
    pub(super) context: ContextState,
    pub(super) replacements: TurnReplacements,
    /// The tools of the last request.
    pub(super) told_tools: Arc<ToolSet>,
    /// A message that only the next request contains. It is not part of the conversation.
    pub(super) one_time_prompt: Option<ModelMessage>,
    pub(super) finish: Option<FinishReason>,
    /// Responses in a row that the provider paused.
    pub(super) pauses: u32,
    /// Responses in a row that were cut in the middle of all their calls.
    pub(super) cut_answers: u32,
    pub(super) has_sent_malformed_prompt: bool,
    pub(super) sent_notices: SentNotices,
}

/// Messages, and the requests that they came from, that are not stored yet.
#[derive(Default)]
pub(super) struct UnsavedRecords {
    pub(super) messages: Vec<NewMessage>,
    pub(super) requests: Vec<ModelRequestRecord>,
}

/// The size of the conversation in tokens.
#[derive(Default)]
pub(super) struct ContextState {
    /// Learns from each request how many tokens a text takes.
    pub(super) counter: TokenCounter,
    /// Estimated tokens of the last request.
    pub(super) estimated: u64,
    /// A limit below the model's own, set after the provider refused a request as too long.
    pub(super) shrunk_to: Option<u64>,
}

/// Notices that the turn has sent. Each is sent once.
#[derive(Default)]
pub(super) struct SentNotices {
    pub(super) tools_left_out: bool,
    pub(super) unpriced: bool,
    pub(super) budget: bool,
    pub(super) nearly_full: bool,
    pub(super) compacted: Option<String>,
    pub(super) parts_replaced: Option<String>,
}

impl TurnProgress {
    pub(super) fn new(definitions: Arc<DefinitionCache>, agent: &Agent) -> Self {
        Self {
            selector: ToolSelector::new(definitions),
            repeated_failures: Mutex::default(),
            meter: TurnMeter::new(agent.definition.limits),
            unsaved: UnsavedRecords::default(),
            context: ContextState::default(),
            replacements: TurnReplacements::default(),
            told_tools: Arc::default(),
            one_time_prompt: None,
            finish: None,
            pauses: 0,
            cut_answers: 0,
            has_sent_malformed_prompt: false,
            sent_notices: SentNotices::default(),
        }
    }
}
