//! The tools that a conversation called, or found with `find_tools`, most recently. They are derived from the stored
//! messages, so they are the same after a restart.

use std::collections::VecDeque;

use toolway_models::{MessagePart, ModelMessage};
use toolway_types::Outcome;

/// Maximum number of remembered names: more than any request contains.
const MAX_NAMES: usize = 256;
/// Maximum number of names in a summary.
const MAX_SUMMARIZED: usize = 128;
/// Full name of the built-in tool that searches for tools.
const FIND_TOOLS_NAME: &str = "find_tools";

/// Full names of the recent tools, the most recent first.
#[derive(Debug, Default)]
pub(crate) struct RecentTools {
    names: VecDeque<String>,
    version: u64,
}

impl RecentTools {
    /// Returns a number that changes with every change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the position of a tool in the order of last use: 0 is the most recent tool. `None` if the tool was
    /// neither called nor found.
    pub(super) fn recency(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|it| it == name)
    }

    /// Returns the names for a summary, the most recent first.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().take(MAX_SUMMARIZED).cloned().collect()
    }

    /// Records the tools of a summary, the most recent first.
    pub(crate) fn record_names(&mut self, names: &[String]) {
        names.iter().take(MAX_SUMMARIZED).rev().for_each(|name| self.record_used(name));
    }

    /// Records the tools that a message calls or finds. They become more recent than all earlier ones.
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

    /// Records found tools. The best match counts as the most recent.
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
