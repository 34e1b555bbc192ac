//! The list of tools, written as JSON straight from what the sources sent.

use serde_json::Value;
use toolway_types::RawJson;

use super::client_scope::{ClientScope, VisibleTool};
use super::json_fields::JsonFields;

/// Maximum number of tools on a page.
pub(crate) const PAGE_SIZE: usize = 1_000;

/// A page: its tools as JSON separated by commas, and the start of the next page.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ToolPage {
    pub(crate) tools: String,
    pub(crate) next: Option<String>,
}

/// Renders the page of tools after the tool with this id, ordered by id, so that a cursor stays valid when tools come
/// and go. `takes_any` is true if the client's version allows output schemas that are not objects.
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
    let keeps_output = takes_any || output.is_none_or(is_object_schema);
    if let Some(listed) = document.mcp_entry.as_ref().filter(|_| keeps_output) {
        match document.name == name {
            true => return to.push_str(listed.get()),
            false => {
                if let Some(renamed) = rename_tool(listed, name) {
                    return to.push_str(&renamed);
                }
            }
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

/// Renames an entry that a server listed.
fn rename_tool(listed: &RawJson, name: &str) -> Option<String> {
    let mut fields = JsonFields::parse(listed.get())?;
    let (_, own) = fields.0.iter_mut().find(|(key, _)| key == "name")?;
    *own = Value::from(name).to_string().into();
    Some(fields.to_json())
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
        .to::<SchemaTypeField<'_>>()
        .is_ok_and(|root| root.kind.is_some_and(|kind| kind.get() == "\"object\""))
}

fn push_text(to: &mut String, text: &str) {
    to.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests;
