//! Request bodies, byte for byte (`golden/KIND/NAME.request.json`), and content that must never be sent.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway_models::build_provider;
use toolway_models::config::{ProviderConfig, StructuredOutputMode, Switches, ToolChoiceSupport};
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{
    MessagePart, MessageRole, ModelErrorKind, ModelMessage, ModelOptions, ModelProvider, ModelRequest,
    OpaqueState, OutputSchema, ProviderKind, ReasoningEffort, ToolCall, ToolChoice, ToolDefinition,
    ToolResult, ToolSet, presets,
};
use toolway_types::{Code, ContentPart, Outcome, RawJson, ToolError, ToolOutput};

use super::support::{check_golden, config, golden, request, tool};

const FIRST: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const SECOND: &str = "01890a5d-ac96-774b-bcce-b302099a8058";
const THIRD: &str = "01890a5d-ac96-774b-bcce-b302099a8059";

fn provider_with(config: ProviderConfig) -> Arc<dyn ModelProvider> {
    build_provider(config, ProviderHttpClient::new(|| Err("nothing is asked".to_owned())))
}

fn default_provider(kind: ProviderKind) -> Arc<dyn ModelProvider> {
    provider_with((*config(kind)).clone())
}

fn preset(name: &str) -> Arc<dyn ModelProvider> {
    provider_with(presets::get(name).unwrap().config("mine").unwrap())
}

fn opaque(provider: &str, data: &str) -> Option<OpaqueState> {
    Some(OpaqueState { provider: provider.into(), data: RawJson::parse(data).unwrap() })
}

fn call(id: &str, name: &str, arguments: &str, opaque: Option<OpaqueState>) -> MessagePart {
    let (name, arguments) = (name.to_owned(), arguments.to_owned());
    MessagePart::ToolCall(ToolCall { id: id.parse().unwrap(), name, arguments, is_cut: false, opaque })
}

fn result(id: &str, name: &str, outcome: Outcome) -> MessagePart {
    let outcome = Arc::new(outcome);
    MessagePart::ToolResult(ToolResult::new(id.parse().unwrap(), name.to_owned(), outcome))
}

fn success(content: Vec<ContentPart>, structured: Option<&str>) -> Outcome {
    let structured = structured.map(|text| RawJson::parse(text).unwrap());
    Outcome::Success(ToolOutput::new(content, structured))
}

fn picture() -> ContentPart {
    ContentPart::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned() }
}

fn image() -> MessagePart {
    MessagePart::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned() }
}

fn message(role: MessageRole, parts: Vec<MessagePart>) -> ModelMessage {
    ModelMessage { role, parts }
}

/// A conversation with every kind of part in it.
fn request_with_every_part() -> ModelRequest {
    let thought = opaque(
        "mine",
        r#"{"model":"m-1","item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},"reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]}"#,
    );
    let foreign = opaque("other", r#"{"id":"toolu_1","signature":"x"}"#);
    ModelRequest {
        system: "Be short.".to_owned(),
        messages: vec![
            message(MessageRole::User, vec![MessagePart::text("What is on \"this\"?"), image()]),
            message(
                MessageRole::Assistant,
                vec![
                    MessagePart::Thinking { text: "Hm".to_owned(), opaque: thought },
                    MessagePart::Text {
                        text: "Let me see.".to_owned(),
                        opaque: opaque("mine", r#"{"phase":"commentary"}"#),
                    },
                    call(
                        FIRST,
                        "phone__weather",
                        r#"{"city": "Köln"}"#,
                        opaque("mine", r#"{"id":"call_A"}"#),
                    ),
                    call(SECOND, "time", "", foreign.clone()),
                    call(THIRD, "files__write", r#"{"path":"/tmp/a","te"#, None),
                ],
            ),
            message(
                MessageRole::Tool,
                vec![
                    result(
                        FIRST,
                        "phone__weather",
                        success(vec![ContentPart::text("18 °C"), picture()], Some(r#"{"z":1.0,"a":18}"#)),
                    ),
                    result(SECOND, "time", success(vec![ContentPart::text("12:00")], None)),
                    result(
                        THIRD,
                        "files__write",
                        Outcome::Error(ToolError::new(
                            Code::InvalidArguments,
                            "the arguments end in the middle",
                        )),
                    ),
                ],
            ),
            message(
                MessageRole::Assistant,
                vec![MessagePart::Thinking { text: "Done".to_owned(), opaque: foreign }],
            ),
            message(MessageRole::User, vec![MessagePart::text("And now?")]),
        ],
        ..request()
    }
}

fn all_options() -> ModelRequest {
    let extra = json!({"service_tier": "flex", "temperature": 0.25});
    ModelRequest {
        tool_choice: ToolChoice::Tool("time".to_owned()),
        output: Some(OutputSchema::new("answer", RawJson::parse(r#"{"type":"object","properties":{"zulu":{"type":"string"},"alpha":{"type":"integer"}},"required":["zulu","alpha"],"additionalProperties":false}"#).unwrap())),
        options: ModelOptions {
            max_output_tokens: Some(500),
            temperature: Some(0.5),
            top_p: Some(0.9),
            stop: vec!["END".to_owned()],
            seed: Some(7),
            reasoning: Some(ReasoningEffort::Low),
            parallel_tool_calls: Some(false),
            extra: extra.as_object().unwrap().clone(),
        },
        ..request()
    }
}

#[test]
fn request_bodies_equal_their_golden_files() {
    let bare = ModelRequest { tools: Arc::default(), ..request() };
    for (name, provider, request) in [
        ("openai/bare", default_provider(ProviderKind::Openai), &bare),
        ("openai/everything", default_provider(ProviderKind::Openai), &request_with_every_part()),
        ("openai/all-options", default_provider(ProviderKind::Openai), &all_options()),
        ("openai-responses/bare", default_provider(ProviderKind::OpenaiResponses), &bare),
        (
            "openai-responses/everything",
            default_provider(ProviderKind::OpenaiResponses),
            &request_with_every_part(),
        ),
        ("openai-responses/all-options", default_provider(ProviderKind::OpenaiResponses), &all_options()),
        ("compatible/careful-bare", default_provider(ProviderKind::Compatible), &bare),
        (
            "compatible/careful-everything",
            default_provider(ProviderKind::Compatible),
            &request_with_every_part(),
        ),
        ("compatible/careful-all-options", default_provider(ProviderKind::Compatible), &all_options()),
        ("compatible/mistral-everything", preset("mistral"), &request_with_every_part()),
        ("compatible/mistral-all-options", preset("mistral"), &all_options()),
        ("compatible/deepseek-everything", preset("deepseek"), &request_with_every_part()),
        ("compatible/deepseek-all-options", preset("deepseek"), &all_options()),
        ("compatible/openrouter-everything", preset("openrouter"), &request_with_every_part()),
        ("compatible/lm-studio-all-options", preset("lm-studio"), &all_options()),
        ("compatible/ollama-all-options", preset("ollama"), &all_options()),
    ] {
        let body = provider.request_body(request).unwrap();
        check_golden(&golden(format!("{name}.request.json")), body.get());
    }
}

fn body(provider: &dyn ModelProvider, request: &ModelRequest) -> Value {
    provider.request_body(request).unwrap().to_value()
}

fn openai_with(change: impl FnOnce(&mut Switches)) -> Arc<dyn ModelProvider> {
    let mut config = (*config(ProviderKind::Openai)).clone();
    change(&mut config.compatibility);
    provider_with(config)
}

#[test]
fn third_party_tools_are_not_strict_m2() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}},"propertyNames":{"pattern":"^[a-z]+$"}}"##;
    let request = ModelRequest { tools: Arc::new(ToolSet::new(vec![tool("t", schema)])), ..request() };
    let chat = body(&*default_provider(ProviderKind::Openai), &request);
    assert_eq!(chat["tools"][0]["function"].get("strict"), None);
    assert_eq!(chat["tools"][0]["function"]["parameters"], serde_json::from_str::<Value>(schema).unwrap());
    // Here nothing said would mean strict.
    let responses = body(&*default_provider(ProviderKind::OpenaiResponses), &request);
    assert_eq!(responses["tools"][0]["strict"], json!(false));
    // Where the owner wants it, what can be said strictly is, and the rest is not.
    let strict = openai_with(|switches| switches.strict = true);
    let easy = tool("easy", r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#);
    let request = ModelRequest { tools: Arc::new(ToolSet::new(vec![easy])), ..request };
    let chat = body(&*strict, &request);
    assert_eq!(chat["tools"][0]["function"]["strict"], json!(true));
    assert_eq!(chat["tools"][0]["function"]["parameters"]["required"], json!(["n"]));
}

#[test]
fn an_unusual_name_is_sent_as_an_alias_and_resolved_again_m4() {
    let odd = ["1st", "a.b c", "ö", &"x".repeat(65)];
    let tools = odd.map(|name| Arc::new(ToolDefinition::new(name, "", None)));
    let tools = Arc::new(ToolSet::new(tools.to_vec()));
    let request = ModelRequest { tools: Arc::clone(&tools), ..request() };
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses, ProviderKind::Compatible] {
        let body = body(&*default_provider(kind), &request);
        for sent in body["tools"].as_array().unwrap() {
            let name = sent["name"].as_str().or(sent["function"]["name"].as_str()).unwrap();
            assert!(
                name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)),
                "{name}"
            );
            assert!(odd.contains(&tools.original_name(name)), "{name}");
        }
        assert_eq!(body["tools"].as_array().unwrap().len(), odd.len());
    }
}

#[test]
fn a_request_with_more_than_128_tools_is_an_error_that_names_the_limit_m6() {
    let tools = (0..130).map(|n| Arc::new(ToolDefinition::new(format!("t{n:03}"), "", None)));
    let request = ModelRequest { tools: Arc::new(ToolSet::new(tools.collect())), ..request() };
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses, ProviderKind::Compatible] {
        let provider = default_provider(kind);
        assert_eq!(provider.limits().max_tools, 128);
        let error = provider.request_body(&request).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::InvalidRequest);
        assert!(error.message.contains("130 tools") && error.message.contains("128"), "{error}");
    }
}

#[test]
fn images_in_results_are_sent_where_supported_and_described_elsewhere_m13() {
    let request = request_with_every_part();
    let chat = body(&*default_provider(ProviderKind::Openai), &request);
    let messages = chat["messages"].as_array().unwrap();
    let result =
        messages.iter().find(|message| message["role"] == "tool").unwrap()["content"].as_str().unwrap();
    assert!(result.contains("in the next message") && !result.contains("iVBOR"), "{result}");
    let follows = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    assert_eq!(follows["content"][0]["text"], "[From the result of phone__weather (call_A)]");
    assert_eq!(follows["content"][1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
    assert_eq!(follows["content"][2]["text"], "And now?");

    let responses = body(&*default_provider(ProviderKind::OpenaiResponses), &request);
    let mut items = responses["input"].as_array().unwrap().iter();
    let output = items.find(|item| item["type"] == "function_call_output").unwrap();
    assert_eq!(output["output"][1]["type"], "input_image");

    let careful = default_provider(ProviderKind::Compatible).request_body(&request).unwrap();
    assert!(!careful.get().contains("iVBOR"));
    assert!(careful.get().contains("This model does not accept images."));
    // The error stays one.
    assert!(careful.get().contains(r#"\"status\":\"error\""#));
}

#[test]
fn the_same_tools_give_the_same_bytes_m14() {
    let (one, other) = (request(), request());
    let mut tools = other.tools.tools().to_vec();
    tools.reverse();
    let other = ModelRequest { tools: Arc::new(ToolSet::new(tools)), ..other };
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses, ProviderKind::Compatible] {
        let provider = default_provider(kind);
        assert_eq!(provider.request_body(&one).unwrap(), provider.request_body(&other).unwrap());
    }
    // Their specs stand in the list alone.
    let body = default_provider(ProviderKind::Openai).request_body(&one).unwrap();
    assert_eq!(body.get().matches("What time does").count(), 1);
}

#[test]
fn a_call_without_a_matching_result_is_still_sent_m9() {
    // Whoever asks repairs history; what is left must not panic, and must not lose the text.
    let messages = vec![
        message(MessageRole::Tool, vec![result(FIRST, "time", success(Vec::new(), None))]),
        message(MessageRole::Assistant, vec![call(SECOND, "time", "{}", None)]),
        message(MessageRole::User, vec![MessagePart::text("Hello"), MessagePart::text("")]),
    ];
    let request = ModelRequest { messages, ..request() };
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses, ProviderKind::Compatible] {
        let body = default_provider(kind).request_body(&request).unwrap();
        assert!(body.get().contains("Hello") && body.get().contains(FIRST) && body.get().contains(SECOND));
    }
}

#[test]
fn thinking_goes_back_only_at_its_place_and_to_its_own_model() {
    let count = |request: &ModelRequest| {
        let body = body(&*default_provider(ProviderKind::OpenaiResponses), request);
        body["input"].as_array().unwrap().iter().filter(|item| item["type"] == "reasoning").count()
    };
    let request = request_with_every_part();
    assert_eq!(count(&request), 1);
    let other_model = ModelRequest { model: "m-2".into(), ..request_with_every_part() };
    assert_eq!(count(&other_model), 0);
    let mut nothing_came = request_with_every_part();
    nothing_came.messages[1].parts.truncate(1);
    assert_eq!(count(&nothing_came), 0);
}

#[test]
fn the_owners_thinking_options_are_sent_beside_the_effort() {
    let extra = json!({"reasoning": {"summary": "auto"}}).as_object().unwrap().clone();
    let options = ModelOptions { reasoning: Some(ReasoningEffort::High), extra, ..ModelOptions::default() };
    let sent =
        body(&*default_provider(ProviderKind::OpenaiResponses), &ModelRequest { options, ..request() });
    assert_eq!(sent["reasoning"], json!({"effort": "high", "summary": "auto"}));
}

#[test]
fn models_that_do_not_think_are_not_asked_for_encrypted_thinking() {
    let provider = default_provider(ProviderKind::OpenaiResponses);
    let asks = |model: &str| {
        let request = ModelRequest { model: model.into(), ..request() };
        body(&*provider, &request).get("include").is_some()
    };
    assert!(asks("gpt-5.1") && asks("o4-mini") && asks("grok-4.3"));
    assert!(!asks("gpt-4o") && !asks("gpt-4.1-mini"));
}

#[test]
fn tool_choices_that_a_server_does_not_know_are_replaced() {
    let forced = ModelRequest { tool_choice: ToolChoice::Tool("time".to_owned()), ..request() };
    let words = openai_with(|switches| switches.tool_choice = ToolChoiceSupport::StringOnly);
    let said = body(&*words, &forced);
    assert_eq!(
        (said["tool_choice"].as_str(), said["tools"].as_array().unwrap().len()),
        (Some("required"), 1)
    );
    let none = openai_with(|switches| switches.tool_choice = ToolChoiceSupport::None);
    assert_eq!(body(&*none, &forced).get("tool_choice"), None);
    let silent = ModelRequest { tool_choice: ToolChoice::None, ..request() };
    assert_eq!(body(&*none, &silent).get("tools"), None);
    assert_eq!(body(&*words, &silent)["tool_choice"], "none");
    // No list at all where there is nothing in it.
    let empty = ModelRequest { tools: Arc::default(), tool_choice: ToolChoice::Required, ..request() };
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses, ProviderKind::Compatible] {
        let body = body(&*default_provider(kind), &empty);
        assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{kind}");
        let unknown = ModelRequest { tool_choice: ToolChoice::Tool("nothing".to_owned()), ..request() };
        assert_eq!(
            default_provider(kind).request_body(&unknown).unwrap_err().kind,
            ModelErrorKind::InvalidRequest
        );
    }
}

#[test]
fn a_server_without_tools_or_parts_gets_text() {
    let provider = openai_with(|switches| {
        switches.tools = false;
        switches.content_parts = false;
        switches.structured_output = StructuredOutputMode::JsonObject;
    });
    let request = ModelRequest { output: all_options().output, ..request_with_every_part() };
    let body = body(&*provider, &request);
    assert!(body.get("tools").is_none());
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    assert!(body["messages"][0]["content"].as_str().unwrap().contains(r#""zulu":{"type":"string"}"#));
    assert!(body["messages"].as_array().unwrap().iter().all(|message| message["content"].is_string()));
    assert!(
        body["messages"][2]["content"].as_str().unwrap().contains("[Called the tool phone__weather with")
    );
    assert_eq!(provider.limits().max_tools, 0);
}

#[test]
fn long_descriptions_are_truncated_and_reported() {
    let long = ToolDefinition::new("t", "é".repeat(1500), None);
    for kind in [ProviderKind::Openai, ProviderKind::OpenaiResponses] {
        let converted = default_provider(kind).convert_tool(&long).unwrap();
        let json = converted.json.to_value();
        let description = json["description"].as_str().or(json["function"]["description"].as_str()).unwrap();
        assert_eq!(description.chars().count(), 1024);
        assert_eq!(converted.losses, ["the last 477 of the description's 1500 characters"]);
    }
    let converted = preset("ollama").convert_tool(&long).unwrap();
    assert!(converted.losses.is_empty() && converted.json.get().contains(&long.description));
}

#[test]
fn a_tool_that_asks_for_strict_form_is_sent_as_strict() {
    let strict_schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    let open_schema = r#"{"type":"object","additionalProperties":{"type":"integer"}}"#;
    let strict = |name: &str, schema: &str| {
        Arc::new(ToolDefinition::new(name, "", RawJson::parse(schema).ok()).strict(true))
    };
    let tools = vec![strict("a", strict_schema), strict("b", open_schema), tool("c", strict_schema)];
    let request = ModelRequest { tools: Arc::new(ToolSet::new(tools)), ..request() };
    let chat = body(&*default_provider(ProviderKind::Openai), &request)["tools"].clone();
    let functions: Vec<_> = chat.as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(functions[0]["parameters"], serde_json::from_str::<Value>(strict_schema).unwrap());
    // An object without properties gets an empty list of them, as in every request.
    let mut open = serde_json::from_str::<Value>(open_schema).unwrap();
    open["properties"] = json!({});
    assert_eq!(functions[1]["parameters"], open);
    let said: Vec<_> = functions.iter().map(|function| function.get("strict")).collect();
    assert_eq!(said, [Some(&json!(true)), Some(&json!(true)), None]);
    let responses = body(&*default_provider(ProviderKind::OpenaiResponses), &request)["tools"].clone();
    let said: Vec<_> = responses.as_array().unwrap().iter().map(|tool| tool["strict"].clone()).collect();
    assert_eq!(said, [json!(true), json!(true), json!(false)]);
}

#[test]
fn any_json_object_is_asked_for_in_the_apis_own_mode() {
    let request = ModelRequest {
        output: Some(OutputSchema::any_object()),
        tools: Arc::default(),
        tool_choice: ToolChoice::Auto,
        ..request()
    };
    let chat = body(&*default_provider(ProviderKind::Openai), &request);
    assert_eq!(chat["response_format"], json!({"type": "json_object"}));
    assert!(!chat["messages"].to_string().contains("JSON Schema"), "{chat}");
    let responses = body(&*default_provider(ProviderKind::OpenaiResponses), &request);
    assert_eq!(responses["text"], json!({"format": {"type": "json_object"}}));
    let gemini = body(&*default_provider(ProviderKind::Gemini), &request);
    assert_eq!(gemini["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(gemini["generationConfig"].get("responseJsonSchema"), None);
    let anthropic = body(&*default_provider(ProviderKind::Anthropic), &request);
    assert!(anthropic["system"].to_string().contains("Answer with one JSON object and nothing else."));
    let schema = OutputSchema::new("x", RawJson::parse(r#"{"type":"object"}"#).unwrap());
    let request = ModelRequest { output: Some(schema), ..request };
    let chat = body(&*default_provider(ProviderKind::Openai), &request);
    assert_eq!(chat["response_format"]["type"], "json_schema");
}
