//! Functions of the fuzz targets. The targets (`fuzz_targets/`) run them with inputs that a nightly
//! compiler's coverage finds; a workspace test runs them with the corpus and the stable compiler.
//!
//! A function panics if a parser violates a guarantee, regardless of the validity of the input.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a broken promise is a panic")]

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use toolway_android::provider_tool_list::ProviderToolList;
use toolway_android::{Bundle, BundleValue, ProviderDialect, cetp, mcp};
use toolway_core::{Arguments, RawArguments, Schema, ToolSpec};
use toolway_models::config::ProviderConfig;
use toolway_models::replay::{ReplayedResponse, replay};
use toolway_models::schema::{NotExpressible, SchemaTarget};
use toolway_models::tools::{ConvertedTool, ToolFormat};
use toolway_models::transport::SseParser;
use toolway_models::{
    MessagePart, ModelEvent, ModelOptions, ModelRequest, ProviderKind, ToolChoice, ToolDefinition, ToolSet,
};
use toolway_types::{ExposedName, RawJson, Slug, SpecDocument};
use toolway_wire::pairing::{KeyPin, PairingCode, PairingInput, PairingLink};
use toolway_wire::{ClientMessage, FrameError, GatewayMessage, error_code};

/// Function of a target.
pub type Target = fn(&[u8]);

/// All targets: the name, which is also that of the corpus folder, and the function.
pub const TARGETS: &[(&str, Target)] = &[
    ("client_frame", client_frame),
    ("gateway_frame", gateway_frame),
    ("spec", spec),
    ("arguments", arguments),
    ("pairing", pairing),
    ("events", events),
    ("chat_answer", chat_answer),
    ("responses_answer", responses_answer),
    ("messages_answer", messages_answer),
    ("gemini_answer", gemini_answer),
    ("tool_schema", tool_schema),
    ("provider_list", provider_list),
    ("provider_schema", provider_schema),
    ("packed_bundle", packed_bundle),
    ("adb_output", adb_output),
    ("manifest", manifest),
];

/// Tests a frame from a device or chat client.
pub fn client_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ClientMessage::decode(text) {
        Err(error) => check_refusal(&error),
        Ok(message) => {
            let written = message.encode();
            let again = ClientMessage::decode(&written).expect("what was written can be read");
            // Fractions may lose their last bit; everything else is unchanged.
            if !matches!(message, ClientMessage::ToolProgress(_)) {
                assert_eq!(again, message);
            }
            if let ClientMessage::RegisterTools(message) = &message {
                for spec in message.specs().flatten() {
                    let _ = ToolSpec::compile(spec);
                }
            }
        }
    }
}

/// Tests a frame from the gateway, as parsed by a device's SDK or a client.
pub fn gateway_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match GatewayMessage::decode(text) {
        Err(error) => check_refusal(&error),
        Ok(message) => {
            let written = message.encode();
            let again = GatewayMessage::decode(&written).expect("what was written can be read");
            assert_eq!(again.kind(), message.kind());
        }
    }
}

fn check_refusal(error: &FrameError) {
    assert!(error_code::ALL.contains(&error.code()));
    assert!(!error.to_string().is_empty());
}

/// Tests a tool's spec: compiles schemas and validates values with them.
pub fn spec(data: &[u8]) {
    let Ok(document) = serde_json::from_slice::<SpecDocument>(data) else { return };
    let given = document.parameters.clone();
    let Ok(spec) = ToolSpec::compile(document) else { return };
    let exposed = ExposedName::of(&Slug::from_label("fuzz"), spec.name().as_str());
    assert!(exposed.as_str().parse::<ExposedName>().is_ok(), "{exposed}");
    // A schema means "no parameters" only if it says so.
    if spec.parameters().raw().is_none() {
        let given = given.as_ref().map_or("null", |raw| raw.get());
        assert!(given == "null" || given.trim_start_matches(['[', ' ', '\t', '\r', '\n']) == "]", "{given}");
    }
    for schema in [Some(spec.parameters()), spec.output()].into_iter().flatten() {
        validate_values(schema);
    }
}

fn validate_values(schema: &Schema) {
    for value in [
        serde_json::json!({}),
        serde_json::json!({"a": {"a": {"a": []}}, "b": [1, "x", null]}),
        serde_json::json!({"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "n": 1e300}),
        serde_json::json!([[[[]]]]),
        serde_json::json!("text"),
    ] {
        let _ = schema.violations(&value);
    }
}

/// Tests the arguments of a call by a caller or a model.
pub fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(arguments) = Arguments::parse(RawArguments::Text(text.to_owned())) else { return };
    assert!(arguments.value().is_object());
    // Only empty input means no arguments.
    if arguments.raw().get() == "{}" {
        let said: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(matches!(said.as_str(), "" | "{}" | "\"\"" | "null"), "{text:?}");
    }
}

/// Tests a pairing code, key or link.
pub fn pairing(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(code) = text.parse::<PairingCode>() {
        assert_eq!(code.to_string().parse::<PairingCode>().as_ref(), Ok(&code));
        assert!(!format!("{code:?}").contains(code.secret()), "the secret is not for logs");
    }
    if let Ok(pin) = text.parse::<KeyPin>() {
        assert_eq!(pin.to_string().parse::<KeyPin>(), Ok(pin));
    }
    if let Ok(PairingInput::Link(link)) = text.parse::<PairingInput>() {
        let written = link.to_string().parse::<PairingLink>().expect("what was written can be read");
        assert_eq!(
            (written.url, written.code.secret(), written.key),
            (link.url.clone(), link.code.secret(), link.key)
        );
    }
}

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

/// Tests a list, a description or an answer of an app provider (CETP), and its description in one text (MCP,
/// dialect C).
pub fn provider_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let answer = Bundle::new().with("status", "success").with("data", text);
    if let Ok(listed) = cetp::read_list(Some(&answer)) {
        check_listed(&listed);
    }
    let _ = cetp::read_info(Some(&answer));
    if let Ok(result) = cetp::read_result(Some(&answer)) {
        assert_eq!(result.get(), text.trim(), "a result is kept as it was written");
    }
    let answer = Bundle::new().with("success", true).with("tool", text);
    if let Ok((dialect, listed)) = mcp::read_info(Some(&answer), ProviderDialect::McpB) {
        assert_eq!(dialect, ProviderDialect::McpC);
        check_listed(&listed);
    }
}

/// Tests the schema of an MCP provider's tool.
pub fn provider_schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let answer = Bundle::new()
        .with("success", true)
        .with("tool_name", "tool")
        .with("tool_description", "What it does")
        .with("tool_input_schema", text)
        .with("tool_input_required", BundleValue::Texts(vec!["a".to_owned()]));
    if let Ok((_, listed)) = mcp::read_info(Some(&answer), ProviderDialect::McpA) {
        check_listed(&listed);
    }
}

/// Checks that all offered tools are valid and within limits, and that names are unique.
fn check_listed(listed: &ProviderToolList) {
    assert!(listed.tools.len() <= toolway_android::bounds::TOOLS);
    assert!(listed.notes.to_vec().len() <= toolway_android::bounds::NOTES);
    let mut names = HashSet::new();
    for spec in &listed.tools {
        assert!(names.insert(&spec.name));
        let written = serde_json::to_string(spec).expect("a spec can be written");
        let again: SpecDocument = serde_json::from_str(&written).expect("what was written can be read");
        assert_eq!(again, *spec);
        if let Some(schema) = &spec.parameters {
            assert!(schema.get().len() <= 2 * toolway_android::bounds::SCHEMA_BYTES);
        }
    }
}

/// Tests a bundle from Java.
pub fn packed_bundle(data: &[u8]) {
    use toolway_android_jni::codec::{CodecReader, CodecWriter};
    let mut reader = CodecReader::new(data);
    let Ok(bundle) = reader.bundle() else { return };
    let mut writer = CodecWriter::default();
    // Values that exist only in Java can be read but not written.
    if writer.bundle(&bundle).is_err() {
        return;
    }
    let written = writer.into_bytes();
    let mut reader = CodecReader::new(&written);
    let again = reader.bundle().expect("what was written can be read");
    reader.end().expect("and nothing more");
    // NaN does not equal itself.
    assert_eq!(format!("{again:?}"), format!("{bundle:?}"));
}

/// Tests the output of a phone's `content call`: the method in the first line, standard output, a NUL,
/// standard error.
pub fn adb_output(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (method, output) = text.split_once('\n').unwrap_or(("list_tools", &text));
    let (stdout, stderr) = output.split_once('\0').unwrap_or((output, ""));
    if let Ok(Some(bundle)) = toolway_android::host::adb::read_answer(stdout, stderr, method) {
        let texts = bundle.iter().map(|(key, value)| match value {
            BundleValue::Text(text) => key.len() + text.len(),
            _ => key.len(),
        });
        assert!(texts.sum::<usize>() <= stdout.len(), "nothing is made up");
    }
    // The present keys are unchanged, regardless of the text in an error message or a JSON string.
    let message = text.replace('\n', " ");
    let line =
        format!("Result: Bundle[{{error_message={message}, status=error, error_code=INTERNAL_ERROR}}]\n");
    let answer = toolway_android::host::adb::read_answer(&line, "", "execute_tool").unwrap().unwrap();
    assert_eq!(answer.get("status"), Some(&"error".into()));
    assert_eq!(answer.get("error_code"), Some(&"INTERNAL_ERROR".into()));
    let json = serde_json::json!({ "text": text }).to_string();
    let line = format!("Result: Bundle[{{status=success, data={json}}}]\n");
    let answer = toolway_android::host::adb::read_answer(&line, "", "execute_tool").unwrap().unwrap();
    assert_eq!(answer, Bundle::new().with("status", "success").with("data", json));
}

/// Tests a binary manifest, a resource table that a known manifest refers to, or an APK.
pub fn manifest(data: &[u8]) {
    use toolway_android::lint::lint_manifest;
    use toolway_android::manifest::{Apk, AppManifest};
    // A manifest followed by a table: the size of the first chunk is the start of the second.
    let size = data.get(4..8).and_then(|size| size.try_into().ok()).map_or(0, u32::from_le_bytes);
    let (first, second) = data.split_at(usize::try_from(size).unwrap_or(usize::MAX).min(data.len()));
    for read in [AppManifest::read(data), AppManifest::read_with(first, second)].into_iter().flatten() {
        assert!(!read.package.is_empty());
        let _ = lint_manifest(&read);
    }
    if let Ok(apk) = Apk::read(std::io::Cursor::new(data), Some(33)) {
        let _ = lint_manifest(&apk.manifest);
        assert!(apk.certificate.is_none_or(|all| all.split(',').all(|one| one.len() == 64)));
    }
}
