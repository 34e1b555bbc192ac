//! Tools as Messages has them: `{"name","description"?,"input_schema"}`, the last of them the end of what is cached.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use toolway_types::RawJson;

use crate::names;
use crate::provider::{Converted, NotExpressible};
use crate::request::ModelRequest;
use crate::schema::{self, Target};
use crate::tools::{ConvertedTools, ToolDefinition, ToolForm, with_field};

/// The form.
pub(super) const FORM: ToolForm = ToolForm("anthropic");

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawJson,
}

/// A tool in this form.
pub(super) fn convert(tool: &ToolDefinition) -> Result<Converted, NotExpressible> {
    let converted = schema::parameters(tool.parameters.as_ref(), Target::Anthropic)?;
    let schema = converted.schema.unwrap_or_else(RawJson::empty_object);
    let json = written(&names::sent(&tool.name), &tool.description, &schema);
    Ok(Converted { json, lost: converted.lost, arguments: converted.arguments })
}

/// A definition.
pub(super) fn written(name: &str, description: &str, schema: &RawJson) -> RawJson {
    RawJson::from_value(&Tool { name, description, input_schema: schema }).unwrap_or_default()
}

/// The tools of a request.
pub(super) fn converted(request: &ModelRequest) -> Arc<ConvertedTools> {
    request.tools.converted_as(FORM, convert, |tools| {
        let Some((last, others)) = tools.split_last() else { return list(&[]) };
        let last = with_field(last, "cache_control", &cached());
        let mut all: Vec<&RawJson> = others.to_vec();
        all.push(&last);
        list(&all)
    })
}

fn list(tools: &[&RawJson]) -> RawJson {
    RawJson::from_value(tools).unwrap_or_default()
}

/// What marks the end of something that is cached.
fn cached() -> RawJson {
    RawJson::from(&json!({"type": "ephemeral"}))
}
