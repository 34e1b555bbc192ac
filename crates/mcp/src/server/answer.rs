//! A call's outcome as MCP says it: a result of `tools/call`, written as JSON so that what the tool gave stays as it
//! was written. A failure is a result as well, in the envelope's words.

use rmcp::model::{CallToolResult, ProtocolVersion, ResultType};
use toolway_core::Finished;
use toolway_types::{ContentPart, Envelope, Outcome, RawJson, ToolOutput};

use super::fields::Fields;
use crate::verbatim::Verbatim;

/// How an answer is written for one client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form<'a> {
    /// Whether the client speaks 2026-07-28 or later, where a result says what it is and who gave it, and structured
    /// results may be other than objects.
    pub(crate) is_modern: bool,
    /// Who gives it (`_meta`'s server info), as JSON.
    pub(crate) server: &'a str,
}

/// Whether a version is of the era in which each request stands for itself.
pub(crate) fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// The result of an ended call: a JSON object.
pub(crate) fn of(finished: &Finished, form: Form<'_>) -> String {
    let original = finished.original.as_ref().and_then(|original| rewrite(original, form));
    original.unwrap_or_else(|| write(&finished.outcome, form))
}

/// A result that is written as this JSON object, for `rmcp`.
pub(crate) fn carry(json: &str, verbatim: &Verbatim) -> CallToolResult {
    let mut result = CallToolResult::success(Vec::new());
    result.is_error = None;
    // A type is a string, and may be any.
    result.result_type = serde_json::from_value::<ResultType>(verbatim.result(json).into()).ok();
    result
}

/// An upstream's own result, with what its version has and the client's has not, or the other way round.
fn rewrite(original: &RawJson, form: Form<'_>) -> Option<String> {
    let mut fields = Fields::of(original.get())?;
    fields.0.retain(|(key, _)| key != "resultType");
    if !form.is_modern {
        drop_structured_unless_object(&mut fields);
    }
    if fields.get("content").is_none() {
        fields.0.push(("content".into(), "[]".into()));
    }
    Some(written(fields, form))
}

/// An outcome in MCP's form.
fn write(outcome: &Outcome, form: Form<'_>) -> String {
    let mut fields = Fields::default();
    match outcome {
        Outcome::Success(output) => fill(&mut fields, output, form),
        Outcome::Error(_) => {
            let envelope = serde_json::to_string(&Envelope(outcome)).unwrap_or_default();
            fields.push("content", json(&[ContentPart::text(envelope)]));
            fields.push("isError", "true".to_owned());
        }
    }
    written(fields, form)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// What a tool gave, in MCP's fields.
fn fill(fields: &mut Fields<'_>, output: &ToolOutput, form: Form<'_>) {
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
fn drop_structured_unless_object(fields: &mut Fields<'_>) {
    fields.0.retain(|(key, value)| key != "structuredContent" || value.starts_with('{'));
}

fn written(mut fields: Fields<'_>, form: Form<'_>) -> String {
    if form.is_modern {
        fields.0.insert(0, ("resultType".into(), "\"complete\"".into()));
        say_server(&mut fields, form.server);
    }
    fields.text()
}

/// Says who gave the result, unless it says so itself.
fn say_server(fields: &mut Fields<'_>, server: &str) {
    const KEY: &str = "io.modelcontextprotocol/serverInfo";
    let said = format!("\"{KEY}\":{server}");
    let Some((_, meta)) = fields.0.iter_mut().find(|(key, _)| key == "_meta") else {
        fields.push("_meta", format!("{{{said}}}"));
        return;
    };
    let says_it = Fields::of(meta).is_some_and(|fields| fields.get(KEY).is_some());
    let inside = meta.trim_start().strip_prefix('{').map(str::trim_start).unwrap_or("}");
    if !says_it {
        let comma = if inside.starts_with('}') { "" } else { "," };
        *meta = format!("{{{said}{comma}{inside}").into();
    }
}

#[cfg(test)]
mod tests;
