//! Masks secrets in messages that are stored. The running turn keeps the values, because the model needs them; the stored
//! conversation never has them.

use std::borrow::Cow;

use toolway_core::SecretMask;
use toolway_models::{MessagePart, ModelMessage, ToolCall, ToolResult};

use super::TurnTask;
use super::progress::TurnProgress;

impl TurnTask {
    /// Returns a message with masked secrets in its tool calls and results.
    pub(super) fn mask_secrets<'m>(
        &self,
        progress: &TurnProgress,
        message: &'m ModelMessage,
    ) -> Cow<'m, ModelMessage> {
        let is_of_tool =
            |part: &MessagePart| matches!(part, MessagePart::ToolCall(_) | MessagePart::ToolResult(_));
        if !message.parts.iter().any(is_of_tool) {
            return Cow::Borrowed(message);
        }
        let mut masked = message.clone();
        for part in &mut masked.parts {
            match part {
                MessagePart::ToolCall(ToolCall { name, arguments, .. }) => {
                    if let Cow::Owned(text) = self.secret_mask(progress, name).mask_arguments(arguments) {
                        *arguments = text;
                    }
                }
                MessagePart::ToolResult(ToolResult { name, outcome, .. }) => {
                    *outcome = self.secret_mask(progress, name).mask_outcome(outcome);
                }
                _ => {}
            }
        }
        Cow::Owned(masked)
    }

    /// Returns the mask of a tool as the model knows it. Its definition counts too: the tool may have left since.
    fn secret_mask(&self, progress: &TurnProgress, tool: &str) -> SecretMask {
        let mut mask = self.deps.engine.secret_mask(&self.caller(), tool);
        if let Some(schema) = progress.told_tools.get(tool).and_then(|tool| tool.parameters.as_ref()) {
            mask.add_schema(schema);
        }
        mask
    }
}
