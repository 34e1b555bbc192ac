//! Conversations with models: how much of each thing there is, and how long conversations are made to fit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use toolway_agent::budget::{BudgetSettings, OnExceeded};

/// Conversations with models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChatSettings {
    /// Whether models give sessions their titles: one small request after the first answer.
    pub generate_titles: bool,
    /// Most tools that a model is told of at once, where its agent does not say; the others it finds with
    /// `find_tools`.
    pub max_tools: usize,
    /// Most turns at once.
    pub max_concurrent_turns: usize,
    /// Part of what a model can read from which on it is said that a conversation nears its end, and old results of
    /// tools are shortened: 0.1 to 1.
    pub context_threshold: f64,
    /// So many of the newest requests keep the results of their tools whole.
    pub context_keep_rounds: usize,
    /// Tokens that are kept free for an answer of which nothing is said how long it may be; at most a quarter of what
    /// the model can read.
    pub context_reserve_tokens: u64,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            generate_titles: true,
            max_tools: 40,
            max_concurrent_turns: 1000,
            context_threshold: 0.8,
            context_keep_rounds: 3,
            context_reserve_tokens: 8192,
        }
    }
}
