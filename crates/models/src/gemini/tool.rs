//! Tools as Gemini has them: `{"name","description"?,"parametersJsonSchema"?}`. A tool without parameters has no
//! schema at all, and `parameters`, which knows far less, is never sent (pitfall M1).

use std::sync::Arc;

use serde::Serialize;
use toolway_types::RawJson;

use crate::names;
use crate::provider::{Converted, NotExpressible};
use crate::request::ModelRequest;
use crate::schema::{self, Target};
use crate::tools::{ConvertedTools, ToolDefinition, ToolForm};

/// The form.
pub(super) const FORM: ToolForm = ToolForm("gemini");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a RawJson>,
}

/// A tool in this form.
pub(super) fn convert(tool: &ToolDefinition) -> Result<Converted, NotExpressible> {
    let converted = schema::parameters(tool.parameters.as_ref(), Target::Gemini)?;
    let declaration = Declaration {
        name: &names::sent(&tool.name),
        description: &tool.description,
        parameters_json_schema: converted.schema.as_ref(),
    };
    let json = RawJson::from_value(&declaration).map_err(|error| NotExpressible(error.to_string()))?;
    Ok(Converted { json, lost: converted.lost, arguments: converted.arguments })
}

/// The tools of a request.
pub(super) fn converted(request: &ModelRequest) -> Arc<ConvertedTools> {
    request.tools.converted(FORM, convert)
}
