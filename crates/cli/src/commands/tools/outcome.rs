//! Prints the outcome of a call.

use toolway_api::tools::CallToolResponse;
use toolway_types::{ContentPart, RawJson};

use crate::client::parse_response;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::{escape, json, time};

/// Location of more details about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordLocation {
    /// The gateway's record of calls.
    GatewayRecord,
    /// No record, because the call was a test.
    Nowhere,
}

/// Prints the result. Returns an error if the call failed.
pub(crate) fn print_outcome(answer: &str, recorded: RecordLocation, context: &CliContext) -> CliResult {
    let outcome: CallToolResponse = parse_response(answer)?;
    if context.printer.json {
        context.printer.raw_json(answer)?;
        return if outcome.is_success() { Ok(()) } else { Err(CliError::already_reported()) };
    }
    if !outcome.is_success() {
        return Err(outcome_error(outcome, recorded));
    }
    let result = outcome.result.unwrap_or_else(RawJson::null);
    print_result(&result, !outcome.content.is_empty(), context)?;
    for part in &outcome.content {
        context.printer.line(&escape::line(&describe_content(part)))?;
    }
    Ok(())
}

fn outcome_error(outcome: CallToolResponse, recorded: RecordLocation) -> CliError {
    let CallToolResponse { call_id, hint, .. } = outcome;
    let code = outcome.code.unwrap_or_else(|| "error".to_owned());
    let message = outcome.message.unwrap_or_default();
    let next = match (recorded, code.as_str()) {
        (_, "tool_not_available") => Some("list the tools with `toolway tools list`".to_owned()),
        (RecordLocation::GatewayRecord, _) => {
            Some(format!("see the call with `toolway calls show {}`", escape::line(&call_id)))
        }
        (RecordLocation::Nowhere, _) => None,
    };
    let failure = CliError::new(format!("{message} ({code})")).with_code(code).with_optional_hint(hint);
    match outcome.error_type.as_deref() {
        Some("timeout") if outcome.dispatched == Some(true) => {
            failure.with_hint("the tool was already running, so it may have had effects")
        }
        _ => failure,
    }
    .with_optional_hint(next)
}

/// Prints a string as text, and any other value as formatted JSON.
fn print_result(result: &RawJson, has_content: bool, context: &CliContext) -> CliResult {
    match result.to::<String>() {
        Ok(text) if text.is_empty() && has_content => Ok(()),
        Ok(text) => context.printer.untrusted_text(&text),
        Err(_) => context.printer.raw_json(&json::pretty(result.get())),
    }
}

/// Describes a content part that is not text.
fn describe_content(part: &ContentPart) -> String {
    let size = |data: &str| time::format_bytes(data.len() as u64 / 4 * 3);
    let whole = "use --json for the data";
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Image { data, mime_type } => format!("[image, {mime_type}, {}; {whole}]", size(data)),
        ContentPart::Audio { data, mime_type } => format!("[audio, {mime_type}, {}; {whole}]", size(data)),
        ContentPart::Resource { resource } => {
            let uri = resource.get("uri").and_then(serde_json::Value::as_str).unwrap_or("without URI");
            format!("[resource, {uri}; {whole}]")
        }
        ContentPart::ResourceLink { uri, name, .. } => format!("[link, {name}: {uri}]"),
    }
}

#[cfg(test)]
mod tests;
