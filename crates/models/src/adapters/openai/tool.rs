//! Tools as Chat Completions has them: `{"type":"function","function":{"name","description"?,"parameters"?,"strict"?}}`.
//! The schema goes as its source wrote it but for what is known to be refused; in strict form only where the owner
//! wants that and the schema can be said in it.

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

/// A tool in this form.
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

/// Most tools in one request.
pub(super) fn max_tools(switches: &Switches) -> usize {
    if switches.tools { switches.max_tools } else { 0 }
}

/// The name of the form: each of the switches that make a tool come out differently has its own.
pub(super) fn tool_format(switches: &Switches) -> ToolFormat {
    ToolFormat(match (switches.strict, switches.long_descriptions) {
        (false, false) => "chat",
        (false, true) => "chat-long",
        (true, false) => "chat-strict",
        (true, true) => "chat-strict-long",
    })
}

/// The list of tools that is sent; none where none is.
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

/// The tools by which arguments of an answer are turned back; none where there is nothing to turn back.
pub(super) fn tools_to_restore(switches: &Switches, request: &ModelRequest) -> Option<Arc<ConvertedTools>> {
    let convert = |tool: &ToolDefinition| convert(switches, tool);
    (switches.strict && switches.tools).then(|| request.tools.converted_to(tool_format(switches), convert))
}
