//! How a call ended, for people and for programs.

use serde::Deserialize;
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

/// What a call ended in.
#[derive(Debug)]
enum CallOutcome {
    Error(CallErrorOutcome),
    Success(CallSuccessOutcome),
}

#[derive(Debug, Deserialize)]
struct CallErrorOutcome {
    call_id: String,
    error_type: String,
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    dispatched: bool,
}

#[derive(Debug, Deserialize)]
struct CallSuccessOutcome {
    result: RawJson,
    #[serde(default)]
    content: Vec<ContentPart>,
}

impl CallOutcome {
    /// Reads the envelope. The two forms are read apart, so that the result stays as it came.
    fn parse(answer: &str) -> CliResult<Self> {
        #[derive(Deserialize)]
        struct OutcomeStatus {
            status: String,
        }
        match parse_response::<OutcomeStatus>(answer)?.status.as_str() {
            "success" => parse_response(answer).map(Self::Success),
            _ => parse_response(answer).map(Self::Error),
        }
    }
}

/// Prints a result; an error becomes the command's own.
pub(crate) fn print_outcome(answer: &str, recorded: RecordLocation, context: &CliContext) -> CliResult {
    let outcome = CallOutcome::parse(answer)?;
    if context.printer.json {
        context.printer.raw_json(answer)?;
        return match outcome {
            CallOutcome::Success(_) => Ok(()),
            CallOutcome::Error(_) => Err(CliError::already_reported()),
        };
    }
    match outcome {
        CallOutcome::Success(CallSuccessOutcome { result, content }) => {
            print_result(&result, !content.is_empty(), context)?;
            for part in &content {
                context.printer.line(&escape::line(&describe_content(part)))?;
            }
            Ok(())
        }
        CallOutcome::Error(error) => Err(outcome_error(error, recorded)),
    }
}

fn outcome_error(error: CallErrorOutcome, recorded: RecordLocation) -> CliError {
    let CallErrorOutcome { call_id, error_type, code, message, hint, dispatched } = error;
    let next = match (recorded, code.as_str()) {
        (_, "tool_not_available") => Some("`toolway tools list` shows what can be called".to_owned()),
        (RecordLocation::GatewayRecord, _) => {
            Some(format!("`toolway calls show {}` shows the whole call", escape::line(&call_id)))
        }
        (RecordLocation::Nowhere, _) => None,
    };
    let failure = CliError::new(format!("{message} ({code})")).with_code(code).with_optional_hint(hint);
    match error_type.as_str() {
        "timeout" if dispatched => failure.with_hint("the tool had begun, so it may have had effects"),
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
