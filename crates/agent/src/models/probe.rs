//! Trying a model: one small request in which it is to call a tool, and what that shows.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, timeout};
use toolway_models::{
    MessagePart, ModelError, ModelErrorKind, ModelEvent, ModelMessage, ModelOptions, ModelRequest,
    ResponseCollector, ToolCall, ToolChoice, ToolDefinition, ToolSet,
};
use toolway_types::RawJson;

use super::ModelRef;
use super::view::{ModelCheckStatus, ModelTestCheck, ModelTestReport};

/// Timeout of the whole test.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Enough for a model that thinks before it calls.
const MAX_OUTPUT: u64 = 2048;
/// Maximum length of a model's text in a report, in bytes.
const MAX_SHOWN_BYTES: usize = 200;

const PING: &str = "ping";
const EXPECTED_WORD: &str = "toolway";
const PARAMETERS: &str = r#"{"type":"object","properties":{"word":{"type":"string","description":"The word to send."}},"required":["word"]}"#;

/// Hint after a missing or wrong tool call.
const TOOL_CALL_HINT: &str = "this model may not support tools: choose another with `--model ID`, or try again, \
     because small models do not always call a tool correctly";

/// The checks in their order.
const CHECKS: [&str; 6] = ["connection", "key", "model", "tool_call", "streaming", "usage"];

/// The response so far.
#[derive(Default)]
struct ProbeObservation {
    collector: ResponseCollector,
    /// The response arrived in pieces.
    is_streamed: bool,
    answered: Option<String>,
    failed: Option<ModelError>,
}

/// Tries a model. `has_key` is whether a key is sent at all.
pub(super) async fn probe(model: &ModelRef, has_key: bool) -> ModelTestReport {
    let began = Instant::now();
    let mut seen = ProbeObservation::default();
    if timeout(TIMEOUT, ask(model, &mut seen)).await.is_err() {
        let message = format!("no complete response within {} s", TIMEOUT.as_secs());
        seen.failed =
            Some(ModelError::new(ModelErrorKind::Timeout, Arc::clone(model.provider.name()), message));
    }
    let checks = evaluate_checks(seen, model, has_key);
    // A model that answers in one piece, or does not count, can be talked to all the same.
    let ok = checks
        .iter()
        .all(|it| it.status != ModelCheckStatus::Failed || matches!(it.check, "streaming" | "usage"));
    ModelTestReport {
        name: model.provider.name().to_string(),
        model: Some(model.id.to_string()),
        ok,
        checks,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// Creates the report of a provider without a model to test.
pub(super) fn report_without_model(name: &str, problem: &str) -> ModelTestReport {
    let mut checks: Vec<_> = CHECKS.iter().map(|check| skipped(check)).collect();
    if let Some(check) = checks.iter_mut().find(|it| it.check == "model") {
        *check = failed("model", problem, Some("name one: `toolway models test NAME --model ID`".to_owned()));
    }
    ModelTestReport { name: name.to_owned(), model: None, ok: false, checks, duration_ms: 0 }
}

async fn ask(model: &ModelRef, seen: &mut ProbeObservation) {
    let ping = ToolDefinition::new(PING, "Send a word and get it back.", RawJson::parse(PARAMETERS).ok());
    let request = ModelRequest {
        model: Arc::clone(&model.id),
        system: String::new(),
        messages: vec![ModelMessage::user(format!(
            "Call the tool {PING} with the word {EXPECTED_WORD:?}, and say nothing else."
        ))],
        tools: Arc::new(ToolSet::new(vec![Arc::new(ping)])),
        tool_choice: ToolChoice::Tool(PING.to_owned()),
        output: None,
        options: ModelOptions { max_output_tokens: Some(MAX_OUTPUT), ..ModelOptions::default() },
    };
    let mut answer = model.provider.stream(Arc::new(request));
    while let Some(event) = answer.next().await {
        match event {
            Ok(event) => {
                seen.record_event(&event);
                if matches!(event, ModelEvent::Finished(_)) {
                    return;
                }
            }
            Err(error) => {
                seen.failed = Some(error);
                return;
            }
        }
    }
}

impl ProbeObservation {
    fn record_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Started { model } => self.answered.clone_from(model),
            ModelEvent::Text(_) | ModelEvent::Thinking(_) | ModelEvent::ToolCallArguments { .. } => {
                self.is_streamed = true;
            }
            _ => {}
        }
        self.collector.add_event(event);
    }
}

fn evaluate_checks(seen: ProbeObservation, model: &ModelRef, has_key: bool) -> Vec<ModelTestCheck> {
    let ProbeObservation { collector, is_streamed: in_pieces, answered, failed: error } = seen;
    let collected = collector.finish();
    let call = collected.parts.iter().find_map(|part| match part {
        MessagePart::ToolCall(call) => Some(call),
        _ => None,
    });
    let broken = error.as_ref().map(|error| (failed_check(error, call.is_some()), error));
    let passed = |check: &str| match broken {
        None => true,
        Some((fault, _)) => check_index(check) < check_index(fault),
    };
    CHECKS
        .iter()
        .map(|check| match (&broken, *check) {
            (Some((fault, error)), check) if *fault == check => {
                failed(check, error.message.clone(), error.hint.clone())
            }
            (_, check) if !passed(check) => skipped(check),
            // Without the key no request was sent.
            (Some(("key", error)), "connection") if error.status.is_none() => {
                ModelTestCheck { message: "skipped without the key".to_owned(), ..skipped("connection") }
            }
            (_, "connection") => ok("connection", format!("{} answers", model.provider.name())),
            (_, "key") if !has_key => ModelTestCheck {
                message: "no key is configured, and none was needed".to_owned(),
                ..skipped("key")
            },
            (_, "key") => ok("key", "the key was accepted"),
            (_, "model") => ok("model", answered.clone().unwrap_or_else(|| model.id.to_string())),
            (_, "tool_call") => tool_call(call, &collected.parts),
            (_, "streaming") if in_pieces => ok("streaming", "the response arrived in pieces"),
            (_, "streaming") => failed("streaming", "the response arrived in one piece", None),
            (_, _) if collected.usage.input.is_some() && collected.usage.output.is_some() => ok(
                "usage",
                format!(
                    "{} tokens read, {} written",
                    collected.usage.input.unwrap_or(0),
                    collected.usage.output.unwrap_or(0)
                ),
            ),
            (_, _) => failed(
                "usage",
                "the server does not report tokens, so usage and cost are unknown",
                Some("if the server can report them, set `compatibility.stream_usage = true`".to_owned()),
            ),
        })
        .collect()
}

/// The check that a failure belongs to.
fn failed_check(error: &ModelError, has_call: bool) -> &'static str {
    use ModelErrorKind as Kind;
    match error.kind {
        Kind::Auth => "key",
        Kind::ModelNotFound => "model",
        Kind::Network | Kind::Timeout if error.status.is_none() && !has_call => "connection",
        // With the key, and then refused.
        Kind::RateLimited | Kind::Overloaded => "model",
        Kind::InvalidRequest | Kind::ContextTooLong | Kind::Protocol | Kind::Network | Kind::Timeout => {
            "tool_call"
        }
    }
}

fn check_index(check: &str) -> usize {
    CHECKS.iter().position(|it| *it == check).unwrap_or(CHECKS.len())
}

fn tool_call(call: Option<&ToolCall>, parts: &[MessagePart]) -> ModelTestCheck {
    let Some(call) = call else {
        let said: String = parts.iter().filter_map(MessagePart::as_text).collect();
        let said = said.get(..said.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default().trim();
        let message = match said {
            "" => "the model called no tool and said nothing".to_owned(),
            said => format!("the model called no tool and said {said:?}"),
        };
        let message = format!("{message}; expected a call of the tool {PING:?} with the argument `word`");
        return failed("tool_call", message, Some(TOOL_CALL_HINT.to_owned()));
    };
    let word = serde_json::from_str::<serde_json::Value>(&call.arguments).ok();
    let word = word.as_ref().and_then(|arguments| arguments.get("word")?.as_str());
    match (call.name.as_str(), word) {
        (PING, Some(_)) if !call.is_cut => ok("tool_call", format!("the model called {PING}")),
        (name, _) => {
            let arguments =
                call.arguments.get(..call.arguments.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default();
            let message = format!(
                "the model called {name:?} with {arguments:?}; expected the tool {PING:?} with the argument `word`"
            );
            failed("tool_call", message, Some(TOOL_CALL_HINT.to_owned()))
        }
    }
}

fn ok(check: &'static str, message: impl Into<String>) -> ModelTestCheck {
    ModelTestCheck { check, status: ModelCheckStatus::Ok, message: message.into(), hint: None }
}

fn failed(check: &'static str, message: impl Into<String>, hint: Option<String>) -> ModelTestCheck {
    ModelTestCheck { check, status: ModelCheckStatus::Failed, message: message.into(), hint }
}

fn skipped(check: &'static str) -> ModelTestCheck {
    let message = "skipped, because an earlier check failed".to_owned();
    ModelTestCheck { check, status: ModelCheckStatus::Skipped, message, hint: None }
}
