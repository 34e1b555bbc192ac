//! Collects the events of a response.

use crate::event::{FinishReason, ModelEvent};
use crate::message::MessagePart;
use crate::usage::ModelUsage;

/// A response, or its beginning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CollectedResponse {
    /// Its parts in order. Incomplete text comes last.
    pub parts: Vec<MessagePart>,
    /// Tokens, as last reported.
    pub usage: ModelUsage,
    /// Reason for its end; `None` if it is truncated.
    pub finish: Option<FinishReason>,
    /// Name of the model as the provider reports it.
    pub model: Option<String>,
}

/// Collects a response.
#[derive(Debug, Default)]
pub struct ResponseCollector {
    collected: CollectedResponse,
    /// Text since the last whole part.
    text: String,
}

impl ResponseCollector {
    /// Takes the next event.
    pub fn add_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Started { model } => self.collected.model.clone_from(model),
            ModelEvent::Text(text) => self.text.push_str(text),
            ModelEvent::Part(part) => {
                if matches!(part, MessagePart::Text { .. }) {
                    self.text.clear();
                }
                self.collected.parts.push(part.clone());
            }
            ModelEvent::Usage(usage) => self.collected.usage = self.collected.usage.updated_with(*usage),
            ModelEvent::Finished(reason) => self.collected.finish = Some(reason.clone()),
            ModelEvent::Retrying { .. }
            | ModelEvent::Thinking(_)
            | ModelEvent::ToolCallStarted { .. }
            | ModelEvent::ToolCallArguments { .. } => {}
        }
    }

    /// Returns the response so far. Incomplete text is included; incomplete thinking and tool calls are not.
    #[must_use]
    pub fn finish(mut self) -> CollectedResponse {
        if !self.text.is_empty() {
            self.collected.parts.push(MessagePart::text(self.text));
        }
        self.collected
    }
}
