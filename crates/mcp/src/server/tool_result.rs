//! Conversion of a call's outcome to a result of `tools/call`, as JSON text that keeps the tool's output unchanged. A
//! failure is a result with an error message.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use toolway_types::{ContentPart, JsonRpcError, OriginalError, Outcome, RawJson, ResultEnvelope, ToolOutput};

use super::json_fields::JsonFields;

/// The form of results for one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolResultFormat<'a> {
    /// True for 2026-07-28 and later, where a result has a type and server info, and structured results need not be
    /// objects.
    pub(crate) is_modern: bool,
    /// The server info for `_meta`, as JSON.
    pub(crate) server_info_json: &'a str,
}

/// The JSON-RPC error that an MCP server answered a call with, if the outcome is one.
pub(crate) fn rpc_error(outcome: &Outcome) -> Option<ErrorData> {
    match outcome.error()?.original.as_deref()? {
        OriginalError::JsonRpc(JsonRpcError { code, message, data }) => {
            Some(ErrorData::new(ErrorCode(*code), message.clone(), data.clone()))
        }
        OriginalError::Result(_) => None,
    }
}

/// The result of an ended call: a JSON object.
pub(crate) fn render_outcome(outcome: &Outcome, form: ToolResultFormat<'_>) -> String {
    let original = outcome.original_result().and_then(|original| convert_original(original, form));
    original.unwrap_or_else(|| render(outcome, form))
}

/// Converts an upstream's own result between protocol versions.
fn convert_original(original: &RawJson, form: ToolResultFormat<'_>) -> Option<String> {
    let mut fields = JsonFields::parse(original.get())?;
    fields.0.retain(|(key, _)| key != "resultType");
    if !form.is_modern {
        drop_structured_unless_object(&mut fields);
    }
    if fields.get("content").is_none() {
        fields.0.push(("content".into(), "[]".into()));
    }
    Some(finish_result(fields, form))
}

/// Renders an outcome.
fn render(outcome: &Outcome, form: ToolResultFormat<'_>) -> String {
    let mut fields = JsonFields::default();
    match outcome {
        Outcome::Success(output) => write_output(&mut fields, output, form),
        Outcome::Error(_) => {
            let envelope = serde_json::to_string(&ResultEnvelope(outcome)).unwrap_or_default();
            fields.push("content", json(&[ContentPart::text(envelope)]));
            fields.push("isError", "true".to_owned());
        }
    }
    finish_result(fields, form)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Writes a tool's output as MCP fields.
fn write_output(fields: &mut JsonFields<'_>, output: &ToolOutput, form: ToolResultFormat<'_>) {
    match &output.structured {
        // For clients that only read text.
        Some(value) if output.content.is_empty() => {
            fields.push("content", json(&[ContentPart::text(value.get())]));
        }
        _ => fields.push("content", json(&output.content)),
    }
    if let Some(value) = &output.structured {
        fields.push("structuredContent", value.get().to_owned());
    }
    if !form.is_modern {
        drop_structured_unless_object(fields);
    }
    fields.push("isError", "false".to_owned());
}

/// Removes a structured result that is not an object, for versions before 2026-07-28.
fn drop_structured_unless_object(fields: &mut JsonFields<'_>) {
    fields.0.retain(|(key, value)| key != "structuredContent" || value.starts_with('{'));
}

fn finish_result(mut fields: JsonFields<'_>, form: ToolResultFormat<'_>) -> String {
    if form.is_modern {
        fields.0.insert(0, ("resultType".into(), "\"complete\"".into()));
        add_server_info(&mut fields, form.server_info_json);
    }
    fields.to_json()
}

/// Adds the server info, unless the result has one.
fn add_server_info(fields: &mut JsonFields<'_>, server: &str) {
    const KEY: &str = "io.modelcontextprotocol/serverInfo";
    let said = format!("\"{KEY}\":{server}");
    let Some((_, meta)) = fields.0.iter_mut().find(|(key, _)| key == "_meta") else {
        fields.push("_meta", format!("{{{said}}}"));
        return;
    };
    let says_it = JsonFields::parse(meta).is_some_and(|fields| fields.get(KEY).is_some());
    let inside = meta.trim_start().strip_prefix('{').map(str::trim_start).unwrap_or("}");
    if !says_it {
        let comma = if inside.starts_with('}') { "" } else { "," };
        *meta = format!("{{{said}{comma}{inside}").into();
    }
}

#[cfg(test)]
mod tests;
