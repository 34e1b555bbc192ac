//! A call's outcome as MCP says it: a result of `tools/call`, written as JSON so that what the tool gave stays as it
//! was written. A failure is a result as well, in the envelope's words.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ErrorCode, ProtocolVersion, ResultType};
use toolway_types::{ContentPart, JsonRpcError, OriginalError, Outcome, RawJson, ResultEnvelope, ToolOutput};

use super::json_fields::JsonFields;
use crate::verbatim::VerbatimMarker;

/// How an answer is written for one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolResultFormat<'a> {
    /// Whether the client speaks 2026-07-28 or later, where a result says what it is and who gave it, and structured
    /// results may be other than objects.
    pub(crate) is_modern: bool,
    /// Who gives it (`_meta`'s server info), as JSON.
    pub(crate) server_info_json: &'a str,
}

/// Whether a version is of the era in which each request stands for itself.
pub(crate) fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
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

/// A result that is written as this JSON object, for `rmcp`.
pub(crate) fn to_call_tool_result(json: &str, verbatim: &VerbatimMarker) -> CallToolResult {
    let mut result = CallToolResult::success(Vec::new());
    result.is_error = None;
    // A type is a string, and may be any.
    result.result_type = serde_json::from_value::<ResultType>(verbatim.mark_result(json).into()).ok();
    result
}

/// An upstream's own result, with what its version has and the client's has not, or the other way round.
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

/// An outcome in MCP's form.
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

/// What a tool gave, in MCP's fields.
fn write_output(fields: &mut JsonFields<'_>, output: &ToolOutput, form: ToolResultFormat<'_>) {
    match &output.structured {
        // For clients that read text alone.
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

/// Before 2026-07-28 a structured result is an object.
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

/// Says who gave the result, unless it says so itself.
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
