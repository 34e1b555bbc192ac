//! How a call ended, for people and for programs.

use serde::Deserialize;
use toolway_types::{ContentPart, RawJson};

use crate::client::read;
use crate::context::Context;
use crate::print::{escape, json, time};
use crate::report::{Done, Failure};

/// Where more can be read about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// In the gateway's record.
    ByGateway,
    /// Nowhere: it was a trial.
    Nowhere,
}

/// What a call ended in.
#[derive(Debug)]
enum Outcome {
    Error(Error),
    Success(Success),
}

#[derive(Debug, Deserialize)]
struct Error {
    call_id: String,
    error_type: String,
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    dispatched: bool,
}

#[derive(Debug, Deserialize)]
struct Success {
    result: RawJson,
    #[serde(default)]
    content: Vec<ContentPart>,
}

impl Outcome {
    /// Reads the envelope. The two forms are read apart, so that the result stays as it came.
    fn read(answer: &str) -> Done<Self> {
        #[derive(Deserialize)]
        struct Status {
            status: String,
        }
        match read::<Status>(answer)?.status.as_str() {
            "success" => read(answer).map(Self::Success),
            _ => read(answer).map(Self::Error),
        }
    }
}

/// Prints a result; an error becomes the command's own.
pub(crate) fn show(answer: &str, recorded: Recorded, context: &Context) -> Done {
    let outcome = Outcome::read(answer)?;
    if context.printer.json {
        context.printer.raw_json(answer)?;
        return match outcome {
            Outcome::Success(_) => Ok(()),
            Outcome::Error(_) => Err(Failure::told()),
        };
    }
    match outcome {
        Outcome::Success(Success { result, content }) => {
            show_result(&result, !content.is_empty(), context)?;
            for part in &content {
                context.printer.line(&escape::line(&described(part)))?;
            }
            Ok(())
        }
        Outcome::Error(error) => Err(failure(error, recorded)),
    }
}

fn failure(error: Error, recorded: Recorded) -> Failure {
    let Error { call_id, error_type, code, message, hint, dispatched } = error;
    let next = match (recorded, code.as_str()) {
        (_, "tool_not_available") => Some("`toolway tools list` shows what can be called".to_owned()),
        (Recorded::ByGateway, _) => {
            Some(format!("`toolway calls show {}` shows the whole call", escape::line(&call_id)))
        }
        (Recorded::Nowhere, _) => None,
    };
    let failure = Failure::new(format!("{message} ({code})")).code(code).maybe_hint(hint);
    match error_type.as_str() {
        "timeout" if dispatched => failure.hint("the tool had begun, so it may have had effects"),
        _ => failure,
    }
    .maybe_hint(next)
}

/// Text as text, everything else as JSON laid out.
fn show_result(result: &RawJson, has_content: bool, context: &Context) -> Done {
    match result.to::<String>() {
        Ok(text) if text.is_empty() && has_content => Ok(()),
        Ok(text) => context.printer.foreign(&text),
        Err(_) => context.printer.raw_json(&json::pretty(result.get())),
    }
}

/// A part that is not text, in words.
fn described(part: &ContentPart) -> String {
    let size = |data: &str| time::bytes(data.len() as u64 / 4 * 3);
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
