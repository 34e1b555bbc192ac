//! Which tools a conversation used or found last. It is read from what was said, so that it is the same after a
//! restart.

use std::collections::VecDeque;

use toolway_models::{MessagePart, ModelMessage};
use toolway_types::Outcome;

/// Names that are remembered: more than any request carries.
const MAX_NAMES: usize = 256;
/// The tool that finds others, by the name that models know.
const FIND_TOOLS_NAME: &str = "find_tools";

/// The names of tools, as a model knows them, the last first.
#[derive(Debug, Default)]
pub(crate) struct RecentTools {
    names: VecDeque<String>,
    version: u64,
}

impl RecentTools {
    /// Changes whenever anything else does.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Recency of a tool's last use or find: 0 is the most recent tool.
    pub(super) fn recency(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| it == name)
    }

    /// Notes all that was used and found in a message, later than in those before.
    pub(crate) fn record_message(&mut self, message: &ModelMessage) {
        for part in &message.parts {
            match part {
                MessagePart::ToolCall(call) => self.record_used(&call.name),
                MessagePart::ToolResult(result) if result.name == FIND_TOOLS_NAME => {
                    self.record_found(&result.outcome)
                }
                _ => {}
            }
        }
    }

    fn record_used(&mut self, name: &str) {
        if self.names.front().is_some_and(|first| first == name) {
            return;
        }
        self.version += 1;
        match self.recency(name) {
            Some(at) => {
                if let Some(name) = self.names.remove(at) {
                    self.names.push_front(name);
                }
            }
            None => {
                self.names.push_front(name.to_owned());
                self.names.truncate(MAX_NAMES);
            }
        }
    }

    /// The best of what was found counts as the last.
    fn record_found(&mut self, outcome: &Outcome) {
        let Outcome::Success(output) = outcome else { return };
        let answer = match &output.structured {
            Some(value) => value.to_value(),
            None => serde_json::from_str(&output.joined_text()).unwrap_or_default(),
        };
        let tools = answer.get("tools").and_then(serde_json::Value::as_array);
        for tool in tools.into_iter().flatten().rev() {
            if let Some(name) = tool.get("name").and_then(serde_json::Value::as_str) {
                self.record_used(name);
            }
        }
    }
}
