//! What the owner can set about conversations.

use crate::context::ContextSettings;

/// What the owner can set about conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationSettings {
    /// Whether models give sessions their titles: one small request after the first answer (true).
    pub titles: bool,
    /// Most tools that a model is told of at once, where the agent does not say (40).
    pub max_tools: usize,
    /// Most turns at once (1,000).
    pub turns: usize,
    /// How conversations are made to fit their models.
    pub context: ContextSettings,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self { titles: true, max_tools: 40, turns: 1000, context: ContextSettings::default() }
    }
}
