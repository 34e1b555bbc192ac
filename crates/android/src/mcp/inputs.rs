//! Reads the tools of dialect C: a map of names to descriptions. The types of inputs are names of classes
//! (`….ToolInput.StringInput`).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_types::json::nests_deeper_than;

use super::properties::json_type;
use crate::bounds::{self, cut};
use crate::failure::{ProviderFailure, malformed};
use crate::note::ProviderNotes;
use crate::ordered_json::{ObjectMembers, object};
use crate::provider_tool_list::ProviderToolDescription;

#[derive(Deserialize)]
struct RawMcpTool {
    description: Option<Value>,
    inputs: Option<Value>,
}

/// Reads the tools in the text, in order.
pub(crate) fn read(
    text: &str,
    notes: &mut ProviderNotes,
) -> Result<Vec<ProviderToolDescription>, ProviderFailure> {
    if text.len() > bounds::REPLY_BYTES {
        return Err(malformed(format!("its tools take more than {} bytes", bounds::REPLY_BYTES)));
    }
    if nests_deeper_than(text, bounds::DEPTH) {
        return Err(malformed(format!("its tools nest deeper than {} levels", bounds::DEPTH)));
    }
    let parsed: &RawValue = serde_json::from_str(text.trim())
        .map_err(|error| malformed(format!("its tools are not JSON: {error}")))?;
    let tools = ObjectMembers::of(parsed)
        .and_then(|members| members.get("tools"))
        .and_then(ObjectMembers::of)
        .ok_or_else(|| malformed("its tools are not an object with an object \"tools\""))?;
    Ok(tools.0.iter().filter_map(|(name, tool)| describe(name, tool, notes)).collect())
}

fn describe(name: &str, tool: &RawValue, notes: &mut ProviderNotes) -> Option<ProviderToolDescription> {
    let Ok(tool) = serde_json::from_str::<RawMcpTool>(tool.get()) else {
        notes.refuse(Some(name), "its description is not an object");
        return None;
    };
    let description = tool.description.as_ref().and_then(Value::as_str).map(str::to_owned);
    let inputs = match tool.inputs {
        Some(Value::Array(inputs)) => inputs,
        None | Some(Value::Null) => Vec::new(),
        Some(_) => {
            notes.flag(Some(name), "its inputs are not a list; it is offered without parameters");
            Vec::new()
        }
    };
    if inputs.len() > bounds::INPUTS {
        notes
            .refuse(Some(name), format!("it has {} inputs; the maximum is {}", inputs.len(), bounds::INPUTS));
        return None;
    }
    let mut properties: Vec<(String, String)> = Vec::new();
    let mut required: Vec<Value> = Vec::new();
    for input in &inputs {
        let Some(input_name) = input.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
        else {
            notes.flag(Some(name), "one of its inputs has no name and is ignored");
            continue;
        };
        if properties.iter().any(|(known, _)| known == input_name) {
            notes.flag(Some(name), format!("two of its inputs have the name {:?}", cut(input_name, 100)));
            continue;
        }
        let class = input.get("type").and_then(Value::as_str).unwrap_or_default();
        let mut fields = Vec::new();
        match of_class(class) {
            Some(known) => fields.push(("type", format!("{known:?}"))),
            None => notes.flag(
                Some(name),
                format!(
                    "its input {:?} has the unknown type {:?}, which is left out",
                    cut(input_name, 100),
                    cut(class, 100)
                ),
            ),
        }
        if let Some(text) = input.get("description").and_then(Value::as_str) {
            fields.push(("description", Value::from(text).to_string()));
        }
        properties.push((input_name.to_owned(), object(fields)));
        if input.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(input_name));
        }
    }
    let mut schema = vec![
        ("type", r#""object""#.to_owned()),
        ("properties", object(properties.iter().map(|(name, schema)| (name.as_str(), schema.clone())))),
    ];
    if !required.is_empty() {
        schema.push(("required", Value::from(required).to_string()));
    }
    Some(ProviderToolDescription { name: name.to_owned(), description, parameters: Some(object(schema)) })
}

/// Returns the type for a class: `se.example.ToolInput.StringInput` and `…ToolInput$StringInput` are a
/// string.
fn of_class(class: &str) -> Option<&'static str> {
    let last = class.rsplit(['.', '$']).next().unwrap_or_default();
    json_type(last.strip_suffix("Input").unwrap_or(last))
}
