//! Puts an answer together from its events.

use crate::event::{FinishReason, ModelEvent};
use crate::message::Part;
use crate::usage::Usage;

/// An answer, or as much of it as came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    /// Its parts, in order; a text that was cut off stands last.
    pub parts: Vec<Part>,
    /// Tokens, as last reported.
    pub usage: Usage,
    /// Why it ended; none where it was cut off.
    pub finish: Option<FinishReason>,
    /// The model that answered, as the provider calls it.
    pub model: Option<String>,
}

/// Puts an answer together.
#[derive(Debug, Default)]
pub struct Collector {
    collected: Collected,
    /// Text since the last whole part.
    text: String,
}

impl Collector {
    /// Takes the next event.
    pub fn take(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Started { model } => self.collected.model.clone_from(model),
            ModelEvent::Text(text) => self.text.push_str(text),
            ModelEvent::Part(part) => {
                if matches!(part, Part::Text { .. }) {
                    self.text.clear();
                }
                self.collected.parts.push(part.clone());
            }
            ModelEvent::Usage(usage) => self.collected.usage = self.collected.usage.updated(*usage),
            ModelEvent::Finished(reason) => self.collected.finish = Some(reason.clone()),
            ModelEvent::Retrying { .. }
            | ModelEvent::Thinking(_)
            | ModelEvent::ToolCallStarted { .. }
            | ModelEvent::ToolCallArguments { .. } => {}
        }
    }

    /// What there is. Text that did not become a whole part is kept; thinking and tool calls that did not are not.
    #[must_use]
    pub fn end(mut self) -> Collected {
        if !self.text.is_empty() {
            self.collected.parts.push(Part::text(self.text));
        }
        self.collected
    }
}
