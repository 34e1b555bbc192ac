//! The tools of the harness's devices. Each has at least the parameter `text`, and returns it.

use serde_json::{Map, Value, json};
use toolway_types::RawJson;
use toolway_wire::ClientMessage;
use toolway_wire::client_message::RegisterTools;

/// Tools of each device in a load run: an app's tools with typical descriptions.
pub(crate) const APP_TOOLS: [&str; 5] =
    ["search_notes", "read_note", "create_event", "send_message", "list_accounts"];

/// Returns the frame that registers [`APP_TOOLS`]. With a number, schemas and descriptions differ from those
/// of other devices.
pub(crate) fn app_frame(distinct: Option<usize>) -> String {
    let mark = distinct.map(|number| format!(" of phone {number}")).unwrap_or_default();
    let tools = APP_TOOLS.iter().map(|name| {
        let mut properties = json!({
            "text": {"type": "string", "description": format!("What to look for or to write{mark}")},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most"},
            "order": {"type": "string", "enum": ["newest", "oldest", "best"]},
            "labels": {"type": "array", "items": {"type": "string"}, "description": "Only with these labels"},
        });
        if let (Some(number), Some(fields)) = (distinct, properties.as_object_mut()) {
            fields.insert(format!("option_{number}"), json!({"type": "boolean"}));
        }
        tool(name, &format!("Works on what the app{mark} keeps: {}.", name.replace('_', " ")), properties)
    });
    frame(tools)
}

/// Returns the frame that registers `count` tools in about `bytes` bytes, with equal or different schemas.
pub(crate) fn bulk_frame(count: usize, bytes: usize, distinct: bool) -> String {
    let each = bytes / count.max(1);
    let tools = (0..count).map(|number| {
        let suffix = if distinct { format!("_{number}") } else { String::new() };
        let mut properties = Map::new();
        properties.insert("text".to_owned(), json!({"type": "string"}));
        for field in 0..16 {
            properties.insert(format!("name_{field}{suffix}"), field_schema(field));
        }
        let name = format!("bulk_{number:04}");
        let bare = tool(&name, "", Value::Object(properties.clone()));
        let missing = each.saturating_sub(bare.to_string().len() + 1);
        tool(&name, &filler(missing), Value::Object(properties))
    });
    frame(tools)
}

fn field_schema(field: usize) -> Value {
    match field % 4 {
        0 => json!({"type": "string", "minLength": 1, "description": "A name, as people write it"}),
        1 => json!({"type": "integer", "minimum": 0, "maximum": 1000}),
        2 => json!({"type": "array", "items": {"type": "string"}, "maxItems": 20}),
        _ => json!({"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}),
    }
}

fn tool(name: &str, description: &str, properties: Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": ["text"]},
    })
}

fn filler(length: usize) -> String {
    "What this tool does, at some length. ".chars().cycle().take(length).collect()
}

fn frame(tools: impl Iterator<Item = Value>) -> String {
    let tools = tools.map(|tool| RawJson::from(&tool)).collect();
    ClientMessage::from(RegisterTools { tools, mode: None }).encode()
}

#[cfg(test)]
mod tests;
