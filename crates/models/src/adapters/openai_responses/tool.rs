//! Tools in the form of the Responses API: `{"type":"function","name","description"?,"parameters","strict"}`. `strict`
//! is always sent, because its default is true.

use std::sync::Arc;

use serde::Serialize;
use toolway_types::RawJson;

use crate::adapters::openai_common::{convert_parameters, limit_description};
use crate::config::{ProviderConfig, Switches};
use crate::error::ModelError;
use crate::request::ModelRequest;
use crate::request_body::check_tool_count;
use crate::schema::ConvertedSchema;
use crate::schema::NotExpressible;
use crate::tool_names;
use crate::tools::ConvertedTool;
use crate::tools::{ConvertedTools, ToolDefinition, ToolFormat};

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Option<&'a RawJson>,
    strict: bool,
}

/// Converts a tool to this form.
pub(super) fn convert(switches: &Switches, tool: &ToolDefinition) -> Result<ConvertedTool, NotExpressible> {
    let (converted, strict) = convert_parameters(switches.strict, tool)?;
    let ConvertedSchema { schema, losses: mut lost, arguments } = converted;
    let description = limit_description(&tool.description, switches.long_descriptions, &mut lost);
    let name = tool_names::wire_name(&tool.name);
    let tool = ResponsesTool {
        r#type: "function",
        name: &name,
        description: &description,
        parameters: schema.as_ref(),
        strict,
    };
    let json = RawJson::from_value(&tool).map_err(|error| NotExpressible(error.to_string()))?;
    Ok(ConvertedTool { json, losses: lost, arguments })
}

pub(super) fn tool_format(switches: &Switches) -> ToolFormat {
    ToolFormat(match (switches.strict, switches.long_descriptions) {
        (false, false) => "responses",
        (false, true) => "responses-long",
        (true, false) => "responses-strict",
        (true, true) => "responses-strict-long",
    })
}

/// Returns the list of tools; `None` if no tool is sent.
pub(super) fn tool_list(
    config: &ProviderConfig,
    request: &ModelRequest,
) -> Result<Option<RawJson>, ModelError> {
    let convert = |tool: &ToolDefinition| convert(&config.compatibility, tool);
    let tools = request.tools.converted_to(tool_format(&config.compatibility), convert);
    check_tool_count(&config.name, tools.len(), config.compatibility.max_tools)?;
    Ok((!tools.is_empty()).then(|| tools.json.clone()))
}

/// Returns the tools that convert arguments from strict form; `None` if no tool is strict.
pub(super) fn tools_to_restore(switches: &Switches, request: &ModelRequest) -> Option<Arc<ConvertedTools>> {
    let convert = |tool: &ToolDefinition| convert(switches, tool);
    let has_strict = switches.strict || request.tools.has_strict();
    has_strict.then(|| request.tools.converted_to(tool_format(switches), convert))
}
