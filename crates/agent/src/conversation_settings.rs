//! The owner's settings for conversations.

use crate::context::ContextSettings;

/// The owner's settings for conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationSettings {
    /// True to let models write session titles, with one small request after the first response (true).
    pub titles: bool,
    /// Maximum number of tools in a request, unless the agent has its own limit (40).
    pub max_tools: usize,
    /// Maximum number of running turns (1,000).
    pub turns: usize,
    /// Settings for fitting conversations to models.
    pub context: ContextSettings,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self { titles: true, max_tools: 40, turns: 1000, context: ContextSettings::default() }
    }
}
