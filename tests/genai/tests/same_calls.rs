//! Sends the same requests with `genai` and with Toolway's adapters to the same fake model servers, and
//! compares the results: texts, thinking, calls with arguments, tokens.

use std::sync::Arc;

use futures_util::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, Tool};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};
use toolway_fake_models::{
    ApiKind, FakeModels, KEY, ResponseStep, ScriptedResponse, ScriptedToolCall, ScriptedUsage,
};
use toolway_models::config::ProviderConfig;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{
    MessagePart, ModelMessage, ModelOptions, ModelRequest, ProviderKind, ResponseCollector, ToolChoice,
    ToolDefinition, ToolSet, build_provider,
};

const MODEL: &str = "fake-model";

/// Result of an answer.
#[derive(Debug, Default, PartialEq)]
struct Read {
    text: String,
    thinking: String,
    calls: Vec<(String, Value)>,
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
}

/// In the strict form, which is the default of Responses: genai does not send it.
fn lamp() -> Value {
    json!({
        "type": "object",
        "properties": {"on": {"type": "boolean"}, "room": {"type": ["string", "null"]}},
        "required": ["on", "room"],
        "additionalProperties": false,
    })
}

async fn genai_reads(fakes: &FakeModels, api: ApiKind) -> Read {
    let base = fakes.base_url(api);
    let (kind, base) = match api {
        ApiKind::Openai | ApiKind::Compatible => (AdapterKind::OpenAI, format!("{base}/")),
        ApiKind::OpenaiResponses => (AdapterKind::OpenAIResp, format!("{base}/")),
        ApiKind::Anthropic => (AdapterKind::Anthropic, format!("{base}/v1/")),
        ApiKind::Gemini => (AdapterKind::Gemini, format!("{base}/v1beta/")),
    };
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(base),
        auth: AuthData::from_single(KEY),
        model: ModelIden::new(kind, MODEL),
    };
    let tool = Tool::new("lamp").with_description("A lamp").with_schema(lamp());
    let request = ChatRequest::new(vec![ChatMessage::user("Light, please.")]).with_tools([tool]);
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        // For Responses it would request thinking, which other models refuse.
        .with_capture_reasoning_content(kind != AdapterKind::OpenAIResp)
        .with_capture_tool_calls(true);
    // Its HTTP client requires a provider, although nothing here is encrypted. Another test may have
    // installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new().expect("a client");
    let mut stream =
        client.exec_chat_stream(target, request, Some(&options)).await.expect("an answer").stream;
    let mut read = Read::default();
    while let Some(event) = stream.next().await {
        match event.expect("an event") {
            ChatStreamEvent::Chunk(chunk) => read.text.push_str(&chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => read.thinking.push_str(&chunk.content),
            ChatStreamEvent::End(end) => {
                let calls = end.captured_tool_calls().unwrap_or_default();
                read.calls =
                    calls.iter().map(|call| (call.fn_name.clone(), call.fn_arguments.clone())).collect();
                let usage = end.captured_usage.unwrap_or_default();
                let number = |number: Option<i32>| number.and_then(|number| u64::try_from(number).ok());
                read.input = number(usage.prompt_tokens);
                read.output = number(usage.completion_tokens);
                // With some APIs, it reports none if the value is missing.
                read.cached = number(usage.prompt_tokens_details.and_then(|details| details.cached_tokens))
                    .filter(|count| *count > 0);
            }
            _ => {}
        }
    }
    read
}

async fn we_read(fakes: &FakeModels, api: ApiKind) -> Read {
    let kind: ProviderKind = api.as_str().parse().expect("a kind");
    let mut config = ProviderConfig::new("fake", kind, fakes.base_url(api).parse().expect("an address"))
        .with_key(KEY.to_owned(), "the test");
    config.compatibility.stream_usage = true;
    let http = ProviderHttpClient::new(|| Err("nothing here uses TLS".to_owned()));
    let request = ModelRequest {
        model: MODEL.into(),
        system: String::new(),
        messages: vec![ModelMessage::user("Light, please.")],
        tools: Arc::new(ToolSet::new(vec![Arc::new(ToolDefinition::new(
            "lamp",
            "A lamp",
            Some(serde_json::from_value(lamp()).expect("a schema")),
        ))])),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions::default(),
    };
    let mut stream = build_provider(config, http).stream(Arc::new(request));
    let mut collector = ResponseCollector::default();
    while let Some(event) = stream.next().await {
        collector.add_event(&event.expect("an event"));
    }
    let collected = collector.finish();
    let mut read = Read {
        input: collected.usage.input,
        output: collected.usage.output,
        cached: collected.usage.cached.filter(|count| *count > 0),
        ..Read::default()
    };
    for part in collected.parts {
        match part {
            MessagePart::Text { text, .. } => read.text.push_str(&text),
            MessagePart::Thinking { text, .. } => read.thinking.push_str(&text),
            MessagePart::ToolCall(call) => {
                assert!(!call.is_cut);
                read.calls.push((call.name, serde_json::from_str(&call.arguments).expect("whole arguments")));
            }
            MessagePart::Image { .. } | MessagePart::ToolResult(_) => panic!("no answer has this: {part:?}"),
        }
    }
    read
}

/// Reads this answer with both through every API, and returns the results.
async fn both_read(answer: &ScriptedResponse) -> Vec<(ApiKind, Read)> {
    let mut all = Vec::new();
    for api in ApiKind::ALL {
        let fakes = FakeModels::start().await;
        fakes.answers([answer.clone(), answer.clone()]);
        let (theirs, ours) = (genai_reads(&fakes, api).await, we_read(&fakes, api).await);
        for seen in fakes.requests() {
            assert_eq!(seen.refused, None, "{api}");
            assert_eq!(seen.said.tools, ["lamp"], "{api}");
            assert_eq!(seen.said.last_user_text(), "Light, please.", "{api}");
        }
        assert_eq!(ours, theirs, "{api}: our result and genai's");
        all.push((api, ours));
    }
    all
}

#[tokio::test]
async fn a_text() {
    for (api, read) in
        both_read(&ScriptedResponse::new().text_deltas(["One ", "mömént ✓"]).usage(100, 20)).await
    {
        assert_eq!(read.text, "One mömént ✓", "{api}");
        assert_eq!((read.input, read.output), (Some(100), Some(20)), "{api}");
    }
}

#[tokio::test]
async fn a_call_in_fragments() {
    let answer = ScriptedResponse::text("I look.")
        .tool_call_in_fragments("lamp", ["{\"on\"", ": tr", "ue, \"room\": \"Küche\"}"]);
    for (api, read) in both_read(&answer).await {
        assert_eq!(read.calls, [("lamp".to_owned(), json!({"on": true, "room": "Küche"}))], "{api}");
    }
}

#[tokio::test]
async fn parallel_calls() {
    let answer = ScriptedResponse::new().then(ResponseStep::Together(vec![
        ScriptedToolCall::new("lamp", json!({"on": true})),
        ScriptedToolCall::new("lamp", json!({"on": false, "room": "hall"})),
        ScriptedToolCall::new("lamp", json!({"on": true})),
    ]));
    for (api, read) in both_read(&answer).await {
        assert_eq!(read.calls.len(), 3, "{api}");
        assert_eq!(read.calls[1].1, json!({"on": false, "room": "hall"}), "{api}");
    }
}

#[tokio::test]
async fn tokens_from_the_cache() {
    let usage = ScriptedUsage { input: 100, output: 20, cached: 60, ..ScriptedUsage::default() };
    for (api, read) in both_read(&ScriptedResponse::text("Yes.").full_usage(usage)).await {
        assert_eq!((read.input, read.output, read.cached), (Some(100), Some(20), Some(60)), "{api}");
    }
}
