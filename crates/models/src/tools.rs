//! The tools that a model is told of.

use std::sync::Arc;

use toolway_types::RawJson;

/// One tool, as its source described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// The name by which the model calls it; see [`toolway_types::ExposedName`].
    pub name: String,
    /// What it does, in its source's words.
    pub description: String,
    /// The JSON Schema of its arguments as its source wrote it; none where it takes none.
    pub parameters: Option<RawJson>,
}

/// The tools of one request, sorted by name: the same tools give the same bytes, whatever order they came in.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<ToolDefinition>>,
}

impl ToolSet {
    /// A set of these. Of two with the same name the first counts.
    #[must_use]
    pub fn new(mut tools: Vec<Arc<ToolDefinition>>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|later, first| later.name == first.name);
        Self { tools }
    }

    /// The tools, by name.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolDefinition>] {
        &self.tools
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}
