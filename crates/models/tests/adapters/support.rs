//! Helpers for the tests of the adapters.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolway_models::config::{ProviderConfig, Switches};
use toolway_models::replay::{ReplayedResponse, replay};
use toolway_models::{
    MessagePart, ModelEvent, ModelMessage, ModelOptions, ModelRequest, OpaqueState, ProviderKind, ToolChoice,
    ToolDefinition, ToolSet,
};
use toolway_types::RawJson;

/// The folder of what was recorded for a kind, or of one of its files.
pub(crate) fn golden(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path)
}

/// Holds a text against a file. With `UPDATE_GOLDEN` set, the file is written in place of it.
#[track_caller]
pub(crate) fn check_golden(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(expected == actual, "{}: expected\n{expected}\nbut it is\n{actual}", path.display());
}

/// A configuration named `mine`, as it is without any setting.
pub(crate) fn config(kind: ProviderKind) -> Arc<ProviderConfig> {
    let mut config = ProviderConfig::new("mine", kind, "http://127.0.0.1:1/v1".parse().unwrap());
    config.compatibility = Switches::for_kind(kind);
    Arc::new(config)
}

/// A tool with parameters.
pub(crate) fn tool(name: &str, parameters: &str) -> Arc<ToolDefinition> {
    let parameters = Some(RawJson::parse(parameters).unwrap());
    Arc::new(ToolDefinition::new(name, format!("What {name} does"), parameters))
}

/// A request with three tools.
pub(crate) fn request() -> ModelRequest {
    let text = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    ModelRequest {
        model: "m-1".into(),
        system: String::new(),
        messages: vec![ModelMessage::user("What is the weather?")],
        tools: Arc::new(ToolSet::new(vec![
            tool("phone__weather", text),
            tool("time", r#"{"type":"object","properties":{"zone":{"type":"string"}}}"#),
            tool(
                "files__write",
                r#"{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}}"#,
            ),
        ])),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions::default(),
    }
}

/// Decodes a recorded response in pieces of the given size.
pub(crate) fn replay_body(kind: ProviderKind, body: &[u8], piece: usize) -> ReplayedResponse {
    thread_local!(static REQUEST: ModelRequest = request());
    REQUEST.with(|request| replay(&config(kind), request, body.chunks(piece.max(1))))
}

/// An answer as lines of text. Our own ids of calls are left out: they are new each time.
pub(crate) fn format_response(replayed: &ReplayedResponse) -> String {
    let mut text = String::new();
    for event in &replayed.events {
        writeln!(text, "{}", format_event(event)).unwrap();
    }
    if let Some(error) = &replayed.error {
        writeln!(text, "error {:?}: {error} | {}", error.kind, error.hint.as_deref().unwrap_or("-")).unwrap();
    }
    text
}

fn format_event(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Retrying { attempt, wait, error } => format!("retrying {attempt} in {wait:?}: {error}"),
        ModelEvent::Started { model } => format!("started {}", model.as_deref().unwrap_or("-")),
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::Thinking(text) => format!("thinking {text:?}"),
        ModelEvent::ToolCallStarted { index, name } => format!("call {index} {name}"),
        ModelEvent::ToolCallArguments { index, delta } => format!("call {index} + {delta:?}"),
        ModelEvent::Part(part) => format_part(part),
        ModelEvent::Usage(usage) => {
            let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
            format!(
                "usage input {} (cached {}, written {}), output {} (thinking {})",
                number(usage.input),
                number(usage.cached),
                number(usage.cache_written),
                number(usage.output),
                number(usage.reasoning)
            )
        }
        ModelEvent::Finished(reason) => format!("finished {reason:?}"),
    }
}

fn format_part(part: &MessagePart) -> String {
    let opaque = |opaque: &Option<OpaqueState>| match opaque {
        Some(OpaqueState { provider, data }) => format!(" | {provider} {}", data.get()),
        None => String::new(),
    };
    match part {
        MessagePart::Text { text, opaque: data } => format!("part text {text:?}{}", opaque(data)),
        MessagePart::Thinking { text, opaque: data } => format!("part thinking {text:?}{}", opaque(data)),
        MessagePart::ToolCall(call) => {
            let cut = if call.is_cut { " CUT" } else { "" };
            format!("part call {} {}{cut}{}", call.name, call.arguments, opaque(&call.opaque))
        }
        MessagePart::Image { mime_type, .. } => format!("part image {mime_type}"),
        MessagePart::ToolResult(result) => format!("part result {}", result.name),
    }
}
