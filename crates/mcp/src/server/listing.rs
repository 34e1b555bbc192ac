//! The list of tools, written as JSON straight from what the sources sent.

use serde_json::Value;
use toolway_types::RawJson;

use super::fields::Fields;
use super::visitor::{Seen, Visitor};

/// Tools of one page.
pub(crate) const PAGE: usize = 1_000;

/// One page: its tools as JSON, with commas between them, and where the next one begins.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) tools: String,
    pub(crate) next: Option<String>,
}

/// The tools that come after the one with this id, in the order of ids, so that a page means the same whatever was
/// added or removed before it. `takes_any` says whether the client's version has output schemas that are no objects.
pub(crate) fn page(visitor: &Visitor, tools: &[Seen], after: Option<&str>, takes_any: bool) -> Page {
    let begin = after.map_or(0, |after| tools.partition_point(|seen| seen.id.to_string().as_str() <= after));
    let rest = tools.get(begin..).unwrap_or_default();
    let here = rest.get(..PAGE.min(rest.len())).unwrap_or_default();
    let mut page = Page::default();
    for seen in here {
        if !page.tools.is_empty() {
            page.tools.push(',');
        }
        write_tool(&mut page.tools, &visitor.name(&seen.id), seen, takes_any);
    }
    if rest.len() > PAGE {
        page.next = here.last().map(|seen| seen.id.to_string());
    }
    page
}

fn write_tool(to: &mut String, name: &str, seen: &Seen, takes_any: bool) {
    let document = seen.tool.spec().document();
    let output = document.output_schema.as_ref().filter(|schema| schema.get().starts_with('{'));
    let keeps_output = takes_any || output.is_none_or(is_of_object);
    if let Some(listed) = document.listed.as_ref().filter(|_| keeps_output) {
        match document.name == name {
            true => return to.push_str(listed.get()),
            false => {
                if let Some(renamed) = renamed(listed, name) {
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

/// An entry as its server listed it, under another name.
fn renamed(listed: &RawJson, name: &str) -> Option<String> {
    let mut fields = Fields::of(listed.get())?;
    let (_, own) = fields.0.iter_mut().find(|(key, _)| key == "name")?;
    *own = Value::from(name).to_string().into();
    Some(fields.text())
}

/// The schema as its source wrote it. The specification wants `type` to be there, so where it is not it is put in
/// front; a tool without a schema takes no arguments that anybody described.
fn input_schema(parameters: Option<&RawJson>) -> String {
    let Some(schema) = parameters.map(RawJson::get).filter(|schema| schema.starts_with('{')) else {
        return r#"{"type":"object"}"#.to_owned();
    };
    if parameters.is_some_and(is_of_object) {
        return schema.to_owned();
    }
    let inside = schema.get(1..).unwrap_or_default();
    let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
    format!(r#"{{"type":"object"{comma}{inside}"#)
}

fn is_of_object(schema: &RawJson) -> bool {
    #[derive(serde::Deserialize)]
    struct Root<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a serde_json::value::RawValue>,
    }
    schema.to::<Root<'_>>().is_ok_and(|root| root.kind.is_some_and(|kind| kind.get() == "\"object\""))
}

fn push_text(to: &mut String, text: &str) {
    to.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests;
