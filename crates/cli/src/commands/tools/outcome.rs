//! How a call ended, for people and for programs.

use toolway_api::tools::CallToolResponse;
use toolway_types::{ContentPart, RawJson};

use crate::client::parse_response;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::{escape, json, time};

/// Where more can be read about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordLocation {
    /// In the gateway's record.
    GatewayRecord,
    /// Nowhere: it was a trial.
    Nowhere,
}

/// Prints a result; an error becomes the command's own.
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
        (_, "tool_not_available") => Some("`toolway tools list` shows what can be called".to_owned()),
        (RecordLocation::GatewayRecord, _) => {
            Some(format!("`toolway calls show {}` shows the whole call", escape::line(&call_id)))
        }
        (RecordLocation::Nowhere, _) => None,
    };
    let failure = CliError::new(format!("{message} ({code})")).with_code(code).with_optional_hint(hint);
    match outcome.error_type.as_deref() {
        Some("timeout") if outcome.dispatched == Some(true) => {
            failure.with_hint("the tool had begun, so it may have had effects")
        }
        _ => failure,
    }
    .with_optional_hint(next)
}

/// Text as text, everything else as JSON laid out.
fn print_result(result: &RawJson, has_content: bool, context: &CliContext) -> CliResult {
    match result.to::<String>() {
        Ok(text) if text.is_empty() && has_content => Ok(()),
        Ok(text) => context.printer.untrusted_text(&text),
        Err(_) => context.printer.raw_json(&json::pretty(result.get())),
    }
}

/// A part that is not text, in words.
fn describe_content(part: &ContentPart) -> String {
    let size = |data: &str| time::format_bytes(data.len() as u64 / 4 * 3);
    let whole = "--json shows it whole";
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Image { data, mime_type } => format!("[image, {mime_type}, {}; {whole}]", size(data)),
        ContentPart::Audio { data, mime_type } => format!("[audio, {mime_type}, {}; {whole}]", size(data)),
        ContentPart::Resource { resource } => {
            let uri = resource.get("uri").and_then(serde_json::Value::as_str).unwrap_or("without address");
            format!("[resource, {uri}; {whole}]")
        }
        ContentPart::ResourceLink { uri, name, .. } => format!("[link, {name}: {uri}]"),
    }
}

#[cfg(test)]
mod tests;
