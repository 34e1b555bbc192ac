//! Tools in the form of Chat Completions:
//! `{"type":"function","function":{"name","description"?,"parameters"?,"strict"?}}`. The schema is sent as its source
//! wrote it, except for parts that are known to be refused. It has strict form only if the tool asks for it, or if the owner
//! enables that and the schema allows it.

use std::sync::Arc;

use serde::Serialize;
use toolway_types::RawJson;

use crate::adapters::openai_common::{convert_parameters, limit_description};
use crate::config::{ProviderConfig, Switches, ToolChoiceSupport};
use crate::error::ModelError;
use crate::request::{ModelRequest, ToolChoice};
use crate::request_body::check_tool_count;
use crate::schema::ConvertedSchema;
use crate::schema::NotExpressible;
use crate::tool_names;
use crate::tools::ConvertedTool;
use crate::tools::{ConvertedTools, ToolDefinition, ToolFormat};

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Converts a tool to this form.
pub(super) fn convert(switches: &Switches, tool: &ToolDefinition) -> Result<ConvertedTool, NotExpressible> {
    let (converted, is_strict) = convert_parameters(switches.strict, tool)?;
    let ConvertedSchema { schema, losses: mut lost, arguments } = converted;
    let description = limit_description(&tool.description, switches.long_descriptions, &mut lost);
    let name = tool_names::wire_name(&tool.name);
    let function = ChatFunction {
        name: &name,
        description: &description,
        parameters: schema.as_ref(),
        strict: is_strict.then_some(true),
    };
    let json = RawJson::from_value(&ChatTool { r#type: "function", function });
    Ok(ConvertedTool {
        json: json.map_err(|error| NotExpressible(error.to_string()))?,
        losses: lost,
        arguments,
    })
}

/// Returns the maximum number of tools in one request.
pub(super) fn max_tools(switches: &Switches) -> usize {
    if switches.tools { switches.max_tools } else { 0 }
}

/// Returns the name of the form. Each switch that changes a converted tool has its own name.
pub(super) fn tool_format(switches: &Switches) -> ToolFormat {
    ToolFormat(match (switches.strict, switches.long_descriptions) {
        (false, false) => "chat",
        (false, true) => "chat-long",
        (true, false) => "chat-strict",
        (true, true) => "chat-strict-long",
    })
}

/// Returns the list of tools; `None` if no tool is sent.
pub(super) fn tool_list(
    config: &ProviderConfig,
    request: &ModelRequest,
) -> Result<Option<RawJson>, ModelError> {
    let switches = &config.compatibility;
    let is_wanted =
        request.tool_choice != ToolChoice::None || switches.tool_choice != ToolChoiceSupport::None;
    if !switches.tools || !is_wanted {
        return Ok(None);
    }
    let (form, convert) = (tool_format(switches), |tool: &ToolDefinition| convert(switches, tool));
    if let (ToolChoice::Tool(name), ToolChoiceSupport::StringOnly) =
        (&request.tool_choice, switches.tool_choice)
    {
        let only = request.tools.get(name).and_then(|tool| tool.converted_to(form, convert).ok());
        return Ok(only.and_then(|only| RawJson::from_value(&[&only.json]).ok()));
    }
    let tools = request.tools.converted_to(form, convert);
    check_tool_count(&config.name, tools.len(), switches.max_tools)?;
    Ok((!tools.is_empty()).then(|| tools.json.clone()))
}

/// Returns the tools that convert arguments from strict form; `None` if no tool is strict.
pub(super) fn tools_to_restore(switches: &Switches, request: &ModelRequest) -> Option<Arc<ConvertedTools>> {
    let convert = |tool: &ToolDefinition| convert(switches, tool);
    let has_strict = switches.strict || request.tools.has_strict();
    (has_strict && switches.tools).then(|| request.tools.converted_to(tool_format(switches), convert))
}
