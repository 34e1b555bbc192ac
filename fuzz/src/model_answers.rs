//! Answers of models, and tools in the forms of their APIs.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use toolway_models::config::ProviderConfig;
use toolway_models::replay::{ReplayedResponse, replay};
use toolway_models::schema::{NotExpressible, SchemaTarget};
use toolway_models::tools::{ConvertedTool, ToolFormat};
use toolway_models::transport::SseParser;
use toolway_models::{
    MessagePart, ModelEvent, ModelOptions, ModelRequest, ProviderKind, ToolChoice, ToolDefinition, ToolSet,
};
use toolway_types::RawJson;

/// Tests a stream of server-sent events. The first byte is the size of its pieces.
pub fn events(data: &[u8]) {
    let Some((size, stream)) = data.split_first() else { return };
    let read = |size: usize| {
        let (mut parser, mut events) = (SseParser::with_limit(1 << 16), Vec::new());
        for piece in stream.chunks(size.max(1)) {
            parser.push(piece);
            while let Ok(Some(event)) = parser.next_event() {
                assert!(!event.name.contains(['\n', '\r']), "{event:?}");
                events.push((event.name.into_owned(), event.data.into_owned()));
            }
        }
        events
    };
    // After an event that is too long, nothing is guaranteed.
    if stream.len() < 1 << 16 {
        assert_eq!(read(usize::from(*size)), read(stream.len()), "it makes a difference where it was cut");
    }
}

/// Tests an answer of Chat Completions.
pub fn chat_answer(data: &[u8]) {
    answer(ProviderKind::Compatible, data);
}

/// Tests an answer of OpenAI's Responses API.
pub fn responses_answer(data: &[u8]) {
    answer(ProviderKind::OpenaiResponses, data);
}

/// Tests an answer of Anthropic's Messages API.
pub fn messages_answer(data: &[u8]) {
    answer(ProviderKind::Anthropic, data);
}

/// Tests an answer of Gemini.
pub fn gemini_answer(data: &[u8]) {
    answer(ProviderKind::Gemini, data);
}

/// Tests a model's answer. The first byte is the size of its pieces.
fn answer(kind: ProviderKind, data: &[u8]) {
    thread_local!(static REQUEST: OnceCell<ModelRequest> = const { OnceCell::new() });
    let Some((size, body)) = data.split_first() else { return };
    let base_url = "http://localhost".parse().expect("that is an address");
    let config = Arc::new(ProviderConfig::new("fuzz", kind, base_url));
    let read = |size: usize| {
        REQUEST.with(|request| {
            replay(&config, request.get_or_init(request_without_tools), body.chunks(size.max(1)))
        })
    };
    let (pieces, whole) = (read(usize::from(*size)), read(body.len()));
    check_answer(&pieces);
    assert_eq!(pieces.error, whole.error, "it makes a difference where it was cut");
    assert_eq!(pieces.events.len(), whole.events.len(), "it makes a difference where it was cut");
}

fn request_without_tools() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: String::new(),
        messages: Vec::new(),
        tools: Arc::default(),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions::default(),
    }
}

/// Checks that an answer ends once, with a finish or an error, and that the streamed pieces equal the final
/// parts.
fn check_answer(answer: &ReplayedResponse) {
    let finished = answer.events.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
    assert_eq!(finished + usize::from(answer.error.is_some()), 1, "{answer:?}");
    if answer.error.is_some() {
        return;
    }
    assert!(matches!(answer.events.last(), Some(ModelEvent::Finished(_))), "something follows the end");
    let (mut calls, mut started) = (0, HashSet::new());
    for event in &answer.events {
        match event {
            ModelEvent::ToolCallStarted { index, .. } => assert!(started.insert(*index), "{answer:?}"),
            ModelEvent::ToolCallArguments { index, .. } => assert!(started.contains(index), "{answer:?}"),
            ModelEvent::Part(MessagePart::ToolCall(_)) => calls += 1,
            _ => {}
        }
    }
    assert!(calls >= started.len(), "a call was told that never came: {answer:?}");
}

/// Maximum size of a converted schema for a small input, in bytes.
const MAX_SCHEMA_BYTES: usize = 2_000_000;

/// Tests an untrusted tool's parameters, and arguments of a model in the next line.
pub fn tool_schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(parameters) = RawJson::parse(schema) else { return };
    let tool = Arc::new(ToolDefinition::new("fuzz", "", Some(parameters)));
    for form in [
        SchemaTarget::OpenAi,
        SchemaTarget::OpenAiStrict,
        SchemaTarget::Anthropic,
        SchemaTarget::AnthropicOutput,
        SchemaTarget::Gemini,
    ] {
        let set = ToolSet::new(vec![Arc::clone(&tool)]);
        let converted = set.converted_to(ToolFormat(name_of(form)), |tool| in_form(tool, form));
        assert_eq!(converted.len() + converted.rejected.len(), 1);
        if converted.is_empty() {
            assert!(converted.rejected.iter().all(|(_, why)| !why.0.is_empty()));
            continue;
        }
        assert_eq!(in_form(&tool, form).map(|of| of.json), in_form(&tool, form).map(|of| of.json));
        let restored = converted.restore_arguments("fuzz", arguments.to_owned());
        // Values other than objects are unchanged, and an object stays an object.
        match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments) {
            Err(_) => assert_eq!(restored, arguments),
            Ok(_) => {
                assert!(RawJson::parse(&restored).expect("that is JSON").get().trim_start().starts_with('{'))
            }
        }
    }
}

fn name_of(form: SchemaTarget) -> &'static str {
    match form {
        SchemaTarget::OpenAi => "openai",
        SchemaTarget::OpenAiStrict => "openai-strict",
        SchemaTarget::Anthropic => "anthropic",
        SchemaTarget::AnthropicOutput => "anthropic-output",
        SchemaTarget::Gemini => "gemini",
    }
}

fn in_form(tool: &ToolDefinition, form: SchemaTarget) -> Result<ConvertedTool, NotExpressible> {
    let converted = toolway_models::schema::convert_parameters(tool.parameters.as_ref(), form)?;
    let given = tool.parameters.as_ref().map_or(0, |raw| raw.get().len());
    if let Some(schema) = &converted.schema {
        assert!(schema.get().starts_with('{'), "{form:?}: {}", schema.get());
        assert!(
            schema.get().len() <= MAX_SCHEMA_BYTES.max(8 * given),
            "{form:?}: {} bytes",
            schema.get().len()
        );
    }
    let json = converted.schema.unwrap_or_default();
    Ok(ConvertedTool { json, losses: converted.losses, arguments: converted.arguments })
}
