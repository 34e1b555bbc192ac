//! Tools of the Messages API: `{"name","description"?,"input_schema"}`. The last tool has a cache breakpoint.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use toolway_types::RawJson;

use crate::raw_fields::append_field;
use crate::request::ModelRequest;
use crate::schema::NotExpressible;
use crate::schema::{self, SchemaTarget};
use crate::tool_names;
use crate::tools::ConvertedTool;
use crate::tools::{ConvertedTools, ToolDefinition, ToolFormat};

/// The form.
pub(super) const FORMAT: ToolFormat = ToolFormat("anthropic");

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawJson,
}

/// Converts a tool to this form.
pub(super) fn convert(tool: &ToolDefinition) -> Result<ConvertedTool, NotExpressible> {
    let converted = schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::Anthropic)?;
    let schema = converted.schema.unwrap_or_else(RawJson::empty_object);
    let json = definition_json(&tool_names::wire_name(&tool.name), &tool.description, &schema);
    Ok(ConvertedTool { json, losses: converted.losses, arguments: converted.arguments })
}

/// A definition.
pub(super) fn definition_json(name: &str, description: &str, schema: &RawJson) -> RawJson {
    RawJson::from_value(&AnthropicTool { name, description, input_schema: schema }).unwrap_or_default()
}

/// The tools of a request.
pub(super) fn convert_tools(request: &ModelRequest) -> Arc<ConvertedTools> {
    request.tools.converted_with(FORMAT, convert, |tools| {
        let Some((last, others)) = tools.split_last() else { return tool_list(&[]) };
        let last = append_field(last, "cache_control", &cache_control_json());
        let mut all: Vec<&RawJson> = others.to_vec();
        all.push(&last);
        tool_list(&all)
    })
}

fn tool_list(tools: &[&RawJson]) -> RawJson {
    RawJson::from_value(tools).unwrap_or_default()
}

/// Value of `cache_control` for a cache breakpoint.
fn cache_control_json() -> RawJson {
    RawJson::from(&json!({"type": "ephemeral"}))
}
