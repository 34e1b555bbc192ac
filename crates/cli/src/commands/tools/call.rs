//! `toolway tools call`: one call by hand. The result goes to standard output, progress to standard error.

use std::io::Read;

use clap::Args;
use serde::{Deserialize, Serialize};
use toolway_types::{ContentPart, RawJson};

use crate::client::{Client, ConnectArgs, read};
use crate::context::Context;
use crate::print::{escape, json, time};
use crate::report::{Done, Failure};
use crate::when::Span;

/// Flags of `tools call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool, as `tools list` shows it; a bare name will do where only one source has it
    name: String,
    /// Arguments, as a JSON object; - reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// How long to wait at most, as 10s or 2m; the tool's own limit holds as well
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Makes the same call again safe for ten minutes: it runs once and both get its outcome
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Serialize)]
struct Body<'a> {
    args: &'a RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
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

#[derive(Debug, Deserialize)]
struct Progress {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// Runs the command.
pub(super) async fn run(args: &CallArgs, context: &Context) -> Done {
    let arguments = arguments(&args.arguments)?;
    if args.timeout.is_some_and(|timeout| timeout.0 == 0) {
        return Err(Failure::usage("--timeout must be more than 0"));
    }
    let body = Body {
        args: &arguments,
        timeout_ms: args.timeout.map(|timeout| timeout.0),
        idempotency_key: args.idempotency_key.as_deref(),
    };
    let client = context.client(&args.connect)?;
    let path = ["api", "tools", &args.name, "call"];
    // Progress is for somebody who watches.
    let watched = context.printer.stderr().is_terminal && !context.printer.json;
    let answer = if watched {
        watch(&client, &path, &body, context).await?
    } else {
        client.send_and_wait(reqwest::Method::POST, &path, &body).await?
    };
    show(&answer, context)
}

/// The arguments as they were given, if they are a JSON object.
fn arguments(given: &str) -> Done<RawJson> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(|error| {
            Failure::new(format!("cannot read the arguments: {}", crate::report::plain(&error)))
        })?;
    }
    let hint = "write them as a JSON object in single quotes: '{\"limit\": 5}'";
    let text = if text.trim().is_empty() { "{}" } else { text.trim() };
    let raw = RawJson::parse(text)
        .map_err(|error| Failure::usage(format!("the arguments are not JSON: {error}")).hint(hint))?;
    if !raw.get().starts_with('{') {
        return Err(Failure::usage("the arguments are JSON, but not an object").hint(hint));
    }
    Ok(raw)
}

/// Calls and shows progress until the outcome is there.
async fn watch(client: &Client, path: &[&str], body: &Body<'_>, context: &Context) -> Done<String> {
    let mut events = client.post_for_events(path, body).await?;
    while let Some(event) = events.next().await? {
        match event.kind.as_str() {
            "outcome" => return Ok(event.data),
            "progress" => {
                let progress: Progress = read(&event.data)?;
                context.printer.status(&progress.in_words());
            }
            _ => {}
        }
    }
    Err(Failure::new("the gateway ended the answer before the outcome was there")
        .code("connection_lost")
        .hint("`toolway calls list` shows what became of the call"))
}

impl Progress {
    fn in_words(&self) -> String {
        let amount = match self.total {
            Some(total) if total > 0.0 => format!("{:.0} %", 100.0 * self.progress / total),
            // Without a total a device says a part of one.
            _ if (0.0..=1.0).contains(&self.progress) => format!("{:.0} %", 100.0 * self.progress),
            _ => self.progress.to_string(),
        };
        match &self.message {
            Some(message) => format!("{amount}  {}", escape::line(message)),
            None => amount,
        }
    }
}

fn show(answer: &str, context: &Context) -> Done {
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
        Outcome::Error(Error { call_id, error_type, code, message, hint, dispatched }) => {
            let next = match code.as_str() {
                "tool_not_available" => "`toolway tools list` shows what can be called".to_owned(),
                _ => format!("`toolway calls show {}` shows the whole call", escape::line(&call_id)),
            };
            let failure = Failure::new(format!("{message} ({code})")).code(code).maybe_hint(hint);
            Err(match error_type.as_str() {
                "timeout" if dispatched => failure.hint("the tool had begun, so it may have had effects"),
                _ => failure,
            }
            .hint(next))
        }
    }
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
