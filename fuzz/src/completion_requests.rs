//! Requests to `/v1/chat/completions`.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use toolway_gateway::http::completion_replay::{ReplayedCompletionRequest, replay};
use toolway_models::config::ProviderConfig;
use toolway_models::provider::ModelProvider;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{MessagePart, ModelRequest, ProviderKind, ToolSet, build_provider};

/// Kinds of providers with different request bodies.
const KINDS: &[ProviderKind] = &[
    ProviderKind::Openai,
    ProviderKind::Compatible,
    ProviderKind::OpenaiResponses,
    ProviderKind::Anthropic,
    ProviderKind::Gemini,
];

/// Tests the body of a chat completion request. Accepted ones become a valid body for every model API, or an error.
pub fn v1_request(data: &[u8]) {
    let request = match replay(data) {
        Ok(request) => request,
        Err((status, body)) => {
            assert!((400..500).contains(&status), "{status}");
            let body: serde_json::Value = serde_json::from_str(&body).expect("errors are JSON");
            let message = body.pointer("/error/message").and_then(serde_json::Value::as_str);
            assert!(message.is_some_and(|words| !words.is_empty() && words.len() < 8 << 10), "{body}");
            return;
        }
    };
    let ReplayedCompletionRequest { system, messages, tools, tool_choice, output, options } = request;
    assert!(!messages.is_empty());
    let (mut calls, mut names) = (HashSet::new(), HashSet::new());
    assert!(tools.iter().all(|tool| names.insert(tool.name.clone())), "two tools have one name");
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            MessagePart::ToolCall(call) => _ = calls.insert(call.id),
            MessagePart::ToolResult(result) => assert!(calls.contains(&result.call_id), "{result:?}"),
            _ => {}
        }
    }
    let request = ModelRequest {
        model: "m".into(),
        system: system.join("\n\n"),
        messages,
        tools: Arc::new(ToolSet::new(tools.into_iter().map(Arc::new).collect())),
        tool_choice,
        output,
        options,
    };
    thread_local!(static PROVIDERS: OnceCell<Vec<Arc<dyn ModelProvider>>> = const { OnceCell::new() });
    PROVIDERS.with(|providers| {
        for provider in providers.get_or_init(providers_of_all_kinds) {
            match provider.request_body(&request) {
                Ok(body) => assert!(body.get().starts_with('{'), "{}", body.get()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
}

fn providers_of_all_kinds() -> Vec<Arc<dyn ModelProvider>> {
    let http = ProviderHttpClient::new(|| Err("nothing is sent".to_owned()));
    let base_url = || "http://localhost".parse().expect("that is an address");
    KINDS
        .iter()
        .map(|kind| build_provider(ProviderConfig::new("fuzz", *kind, base_url()), http.clone()))
        .collect()
}
