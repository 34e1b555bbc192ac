//! Settings for conversations with models: limits and context management.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use toolway_agent::budget::{BudgetSettings, OnExceeded};

/// Conversations with models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChatSettings {
    /// Lets models generate session titles, with one small request after the first answer.
    pub generate_titles: bool,
    /// Maximum number of tools that a model gets at once, unless its agent has its own limit. Built-in tools and tools
    /// that the agent names may exceed it. The model finds the others with `find_tools`.
    pub max_tools: usize,
    /// Maximum number of running turns. A quarter of them is kept for the owner; any other token may have a quarter.
    pub max_concurrent_turns: usize,
    /// Fraction of the context window (0.1 to 1) above which the user is warned and old tool results are
    /// shortened.
    pub context_threshold: f64,
    /// Number of newest model requests whose tool results are never shortened.
    pub context_keep_rounds: usize,
    /// Tokens reserved for an answer without a known maximum length; at most a quarter of the context window.
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
