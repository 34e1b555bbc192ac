//! The owner's settings for conversations.

use crate::context::ContextSettings;

/// The owner's settings for conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationSettings {
    /// True to let models write session titles, with one small request after the first response (true).
    pub titles: bool,
    /// Most tools that a model is told of at once, where the agent does not say (40).
    pub max_tools: usize,
    /// Most turns at once (1,000).
    pub turns: usize,
    /// Settings for fitting conversations to models.
    pub context: ContextSettings,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self { titles: true, max_tools: 40, turns: 1000, context: ContextSettings::default() }
    }
}
