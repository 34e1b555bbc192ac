//! Tools as Gemini has them: `{"name","description"?,"parametersJsonSchema"?}`. A tool without parameters has no
//! schema at all, and `parameters`, which knows far less, is never sent (pitfall M1).

use std::sync::Arc;

use serde::Serialize;
use toolway_types::RawJson;

use crate::request::ModelRequest;
use crate::schema::NotExpressible;
use crate::schema::{self, SchemaTarget};
use crate::tool_names;
use crate::tools::ConvertedTool;
use crate::tools::{ConvertedTools, ToolDefinition, ToolFormat};

/// The form.
pub(super) const FORMAT: ToolFormat = ToolFormat("gemini");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a RawJson>,
}

/// Converts a tool to this form.
pub(super) fn convert(tool: &ToolDefinition) -> Result<ConvertedTool, NotExpressible> {
    let converted = schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::Gemini)?;
    let declaration = FunctionDeclaration {
        name: &tool_names::wire_name(&tool.name),
        description: &tool.description,
        parameters_json_schema: converted.schema.as_ref(),
    };
    let json = RawJson::from_value(&declaration).map_err(|error| NotExpressible(error.to_string()))?;
    Ok(ConvertedTool { json, losses: converted.losses, arguments: converted.arguments })
}

/// The tools of a request.
pub(super) fn convert_tools(request: &ModelRequest) -> Arc<ConvertedTools> {
    request.tools.converted_to(FORMAT, convert)
}
