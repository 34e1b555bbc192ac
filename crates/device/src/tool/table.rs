//! Tools that a device offers at one moment, and the messages that register them.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::{NameError, RawJson};
use toolway_wire::ClientMessage;
use toolway_wire::client_message::{RegisterMode, RegisterTools};

use super::Tool;

/// Space in a registration message besides the specs, in bytes.
const FRAME_MARGIN: usize = 256;

/// Reason why a list of tools is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTool {
    /// The name is invalid.
    #[error("tool {0:?}: {1}")]
    Name(String, NameError),
    /// Two tools have the same name.
    #[error("two tools have the name {0:?}")]
    Duplicate(String),
    /// The schema is invalid.
    #[error("tool {0:?} has an invalid parameter schema: {1}")]
    Schema(String, String),
}

/// Immutable list of tools.
#[derive(Debug, Default)]
pub(crate) struct ToolTable {
    by_name: HashMap<String, Arc<Tool>>,
    /// Tools in the order given.
    tools: Vec<Arc<Tool>>,
    /// Specs in the same order.
    specs: Vec<RawJson>,
}

impl ToolTable {
    pub(crate) fn new(tools: Vec<Tool>) -> Result<Self, BadTool> {
        let mut table = Self::default();
        for tool in tools {
            let name = tool.name().to_owned();
            tool.check()?;
            let spec = RawJson::from_value(tool.spec())
                .map_err(|error| BadTool::Schema(name.clone(), error.to_string()))?;
            let tool = Arc::new(tool);
            table.specs.push(spec);
            table.tools.push(Arc::clone(&tool));
            if table.by_name.insert(name.clone(), tool).is_some() {
                return Err(BadTool::Duplicate(name));
            }
        }
        Ok(table)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.by_name.get(name).cloned()
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = Tool> {
        self.tools.iter().map(|tool| Tool::clone(tool))
    }

    /// Encodes the frames that register exactly this list. One frame, unless it would exceed the limit.
    /// Version 1 has no mode and can only add tools.
    pub(crate) fn frames(&self, version: u32, frame_limit: usize) -> Vec<String> {
        let room = frame_limit.saturating_sub(FRAME_MARGIN);
        let mut chunks: Vec<Vec<RawJson>> = vec![Vec::new()];
        let mut size = 0;
        for spec in &self.specs {
            let length = spec.get().len() + 1;
            if size > 0 && size + length > room {
                chunks.push(Vec::new());
                size = 0;
            }
            size += length;
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(spec.clone());
            }
        }
        let frame = |(at, tools): (usize, Vec<RawJson>)| {
            let mode = if at == 0 { RegisterMode::Replace } else { RegisterMode::Add };
            ClientMessage::from(RegisterTools { tools, mode: (version >= 2).then_some(mode) }).encode()
        };
        chunks.into_iter().enumerate().map(frame).collect()
    }
}
