//! Tools as the Responses API has them: `{"type":"function","name","description"?,"parameters","strict"}`. `strict`
//! is always said: left out it means yes.

use std::sync::Arc;

use serde::Serialize;
use toolway_types::RawJson;

use crate::body::too_many_tools;
use crate::config::{ProviderConfig, Switches};
use crate::error::ModelError;
use crate::names;
use crate::openai::{described, parameters};
use crate::provider::{Converted, NotExpressible};
use crate::request::ModelRequest;
use crate::schema::ConvertedSchema;
use crate::tools::{ConvertedTools, ToolDefinition, ToolForm};

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Option<&'a RawJson>,
    strict: bool,
}

/// A tool in this form.
pub(super) fn convert(switches: &Switches, tool: &ToolDefinition) -> Result<Converted, NotExpressible> {
    let (converted, strict) = parameters(switches.strict, tool)?;
    let ConvertedSchema { schema, mut lost, arguments } = converted;
    let description = described(&tool.description, switches.long_descriptions, &mut lost);
    let name = names::sent(&tool.name);
    let tool = Tool {
        r#type: "function",
        name: &name,
        description: &description,
        parameters: schema.as_ref(),
        strict,
    };
    let json = RawJson::from_value(&tool).map_err(|error| NotExpressible(error.to_string()))?;
    Ok(Converted { json, lost, arguments })
}

pub(super) fn form(switches: &Switches) -> ToolForm {
    ToolForm(match (switches.strict, switches.long_descriptions) {
        (false, false) => "responses",
        (false, true) => "responses-long",
        (true, false) => "responses-strict",
        (true, true) => "responses-strict-long",
    })
}

/// The list of tools that is sent; none where none is.
pub(super) fn list(config: &ProviderConfig, request: &ModelRequest) -> Result<Option<RawJson>, ModelError> {
    let convert = |tool: &ToolDefinition| convert(&config.switches, tool);
    let tools = request.tools.converted(form(&config.switches), convert);
    too_many_tools(&config.name, tools.len(), config.switches.max_tools)?;
    Ok((!tools.is_empty()).then(|| tools.json.clone()))
}

/// The tools by which arguments of an answer are turned back; none where there is nothing to turn back.
pub(super) fn restored(switches: &Switches, request: &ModelRequest) -> Option<Arc<ConvertedTools>> {
    let convert = |tool: &ToolDefinition| convert(switches, tool);
    switches.strict.then(|| request.tools.converted(form(switches), convert))
}
