//! The list of tools, written as JSON straight from what the sources sent.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;
use toolway_types::RawJson;

use super::client_scope::{ClientScope, VisibleTool};
use super::json_fields::JsonFields;

/// Maximum number of tools on a page.
pub(crate) const PAGE_SIZE: usize = 1_000;

/// The member of a tool's `execution` that tells whether calls are tasks (2025-11-25, "Tasks").
const TASK_SUPPORT: &str = "taskSupport";

/// A page: its tools as JSON separated by commas, and the start of the next page.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ToolPage {
    pub(crate) tools: String,
    pub(crate) next: Option<String>,
}

/// Renders the page of tools after the tool with this id, ordered by id, so that a cursor stays valid when tools come
/// and go. `takes_any` is true if clients of that version can read every output schema.
pub(crate) fn render_page(
    scope: &ClientScope,
    tools: &[VisibleTool],
    after: Option<&str>,
    takes_any: bool,
) -> ToolPage {
    let begin = after.map_or(0, |after| tools.partition_point(|seen| seen.id.to_string().as_str() <= after));
    let rest = tools.get(begin..).unwrap_or_default();
    let here = rest.get(..PAGE_SIZE.min(rest.len())).unwrap_or_default();
    let mut page = ToolPage::default();
    for seen in here {
        if !page.tools.is_empty() {
            page.tools.push(',');
        }
        write_tool(&mut page.tools, &scope.exposed_name(&seen.id), seen, takes_any);
    }
    if rest.len() > PAGE_SIZE {
        page.next = here.last().map(|seen| seen.id.to_string());
    }
    page
}

fn write_tool(to: &mut String, name: &str, seen: &VisibleTool, takes_any: bool) {
    let document = seen.tool.spec().document();
    let output = document.output_schema.as_ref().filter(|schema| schema.get().starts_with('{'));
    let keeps_output = takes_any || output.is_none_or(is_readable_output_schema);
    if let Some(listed) = &document.mcp_entry {
        let names_tasks = memchr::memmem::find(listed.get().as_bytes(), TASK_SUPPORT.as_bytes()).is_some();
        if keeps_output && document.name == name && !names_tasks {
            return to.push_str(listed.get());
        }
        if let Some(changed) = change_entry(listed, name, keeps_output) {
            return to.push_str(&changed);
        }
    }
    to.push_str("{\"name\":");
    push_text(to, name);
    if let Some(title) = &document.title {
        to.push_str(",\"title\":");
        push_text(to, title);
    }
    if let Some(description) = &document.description {
        to.push_str(",\"description\":");
        push_text(to, description);
    }
    to.push_str(",\"inputSchema\":");
    to.push_str(&input_schema(document.parameters.as_ref()));
    if let Some(schema) = output.filter(|_| keeps_output) {
        to.push_str(",\"outputSchema\":");
        to.push_str(schema.get());
    }
    if let Some(annotations) = document.annotations.as_ref().filter(|it| it.get().starts_with('{')) {
        to.push_str(",\"annotations\":");
        to.push_str(annotations.get());
    }
    to.push('}');
}

/// Changes the name of an entry that a server listed, and leaves out its output schema if it is not kept. The way in
/// which the server takes the call as a task is left out as well: the gateway takes every call in its own way, and
/// clients refuse to call a tool that must be a task of 2025-11-25.
fn change_entry(listed: &RawJson, name: &str, keeps_output: bool) -> Option<String> {
    let mut fields = JsonFields::parse(listed.get())?;
    fields.0.retain(|(key, _)| keeps_output || key != "outputSchema");
    let (_, own) = fields.0.iter_mut().find(|(key, _)| key == "name")?;
    *own = Value::from(name).to_string().into();
    if let Some(at) = fields.0.iter().position(|(key, _)| key == "execution")
        && let Some((_, execution)) = fields.0.get_mut(at)
        && let Some(changed) = without_task_support(execution)
    {
        if changed == "{}" {
            fields.0.remove(at);
        } else {
            *execution = changed.into();
        }
    }
    Some(fields.to_json())
}

fn without_task_support(execution: &str) -> Option<String> {
    let mut members = JsonFields::parse(execution)?;
    members.0.retain(|(key, _)| key != TASK_SUPPORT);
    Some(members.to_json())
}

/// The schema as its source wrote it. MCP requires `type` in an input schema (Server Features, "Tools"). A missing `type` is added in
/// front; a tool without a schema takes no arguments that anybody described.
fn input_schema(parameters: Option<&RawJson>) -> String {
    let Some(schema) = parameters.map(RawJson::get).filter(|schema| schema.starts_with('{')) else {
        return r#"{"type":"object"}"#.to_owned();
    };
    if parameters.is_some_and(is_object_schema) {
        return schema.to_owned();
    }
    let inside = schema.get(1..).unwrap_or_default();
    let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
    format!(r#"{{"type":"object"{comma}{inside}"#)
}

fn is_object_schema(schema: &RawJson) -> bool {
    #[derive(serde::Deserialize)]
    struct SchemaTypeField<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a serde_json::value::RawValue>,
    }
    schema
        .to_borrowed::<SchemaTypeField<'_>>()
        .is_ok_and(|root| root.kind.is_some_and(|kind| kind.get() == "\"object\""))
}

/// Returns true if the official SDKs of versions before 2026-07-28 can read this output schema. They know the fields
/// `type`, `properties`, `required` and `additionalProperties` of its root, and refuse the whole list if one of them
/// has another form.
fn is_readable_output_schema(schema: &RawJson) -> bool {
    #[derive(serde::Deserialize)]
    struct OutputSchemaRoot<'a> {
        #[serde(rename = "type", borrow, default)]
        kind: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        properties: Option<HashMap<Cow<'a, str>, &'a RawValue>>,
        #[serde(borrow, default, rename = "required")]
        _required: Option<Vec<Cow<'a, str>>>,
        #[serde(default, rename = "additionalProperties")]
        _additional_properties: Option<bool>,
    }
    let Ok(root) = serde_json::from_str::<OutputSchemaRoot<'_>>(schema.get()) else { return false };
    // `true` and `false` are schemas since draft 6, but not for these SDKs.
    let mut properties = root.properties.iter().flatten();
    root.kind.as_deref() == Some("object") && properties.all(|(_, schema)| schema.get().starts_with('{'))
}

fn push_text(to: &mut String, text: &str) {
    to.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests;
