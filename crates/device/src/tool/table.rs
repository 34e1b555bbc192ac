//! The tools that a device offers at one moment, and the messages that register them.

use std::collections::HashMap;
use std::sync::Arc;

use toolway_types::{NameError, RawJson};
use toolway_wire::ClientMessage;
use toolway_wire::client_message::{RegisterMode, RegisterTools};

use super::Tool;

/// Room that a registering message needs beside the specs, in bytes.
const FRAME_MARGIN: usize = 256;

/// Why a list of tools was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTool {
    /// Its name.
    #[error("tool {0:?}: {1}")]
    Name(String, NameError),
    /// Two of one name.
    #[error("there are two tools called {0:?}")]
    Duplicate(String),
    /// Its schema.
    #[error("the parameters of tool {0:?} are not a usable schema: {1}")]
    Schema(String, String),
}

/// An unchanging list of tools.
#[derive(Debug, Default)]
pub(crate) struct ToolTable {
    by_name: HashMap<String, Arc<Tool>>,
    /// In the order in which they were given.
    tools: Vec<Arc<Tool>>,
    /// Their specs, in the same order.
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

    /// The frames that make this the whole list: one, unless it is larger than a frame may be. Version 1
    /// has no mode: there, tools are only ever added.
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
