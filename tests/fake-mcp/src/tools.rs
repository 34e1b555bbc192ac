//! The list of tools. `tools.json` has the bytes that clients get.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool};
use serde_json::value::RawValue;

use crate::exact_json;
use crate::raw_tools::{RAW, RawTool};

/// The tool that can be added and removed.
pub(crate) const SOMETIMES: &str = "test_sometimes";

/// Returns the schema of a tool's arguments, byte for byte as clients get it.
#[must_use]
pub fn exact_schema(tool: &str) -> Option<&'static str> {
    RAW.iter().find(|raw| raw.name == tool).map(|raw| raw.input_schema.get())
}

/// Returns all tools, with or without [`SOMETIMES`]. Their schemas are placeholders ([`crate::exact_json`]).
pub(crate) fn list_tools(with_sometimes: bool) -> Vec<Tool> {
    RAW.iter()
        .filter(|raw| with_sometimes || raw.name != SOMETIMES)
        .map(|raw| tool(raw, |schema| exact_json::schema(schema.get())))
        .collect()
}

/// Returns a tool with its schemas.
pub(crate) fn find_tool(name: &str) -> Option<Tool> {
    let parsed = |schema: &RawValue| serde_json::from_str(schema.get()).unwrap_or_default();
    RAW.iter().find(|raw| raw.name == name).map(|raw| tool(raw, parsed))
}

fn tool(raw: &'static RawTool, schema: impl Fn(&'static RawValue) -> JsonObject) -> Tool {
    let mut tool = Tool::new(raw.name.as_str(), raw.description.as_str(), schema(&raw.input_schema));
    tool.title.clone_from(&raw.title);
    tool.output_schema = raw.output_schema.as_deref().map(|text| Arc::new(schema(text)));
    tool.annotations.clone_from(&raw.annotations);
    tool.meta = raw.meta.clone().map(MetaObject);
    tool
}
