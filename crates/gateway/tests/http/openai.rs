//! `/v1` with raw requests; the official libraries are tested elsewhere.

use serde_json::{Value, json};
use toolway_fake_models::{
    RequestMatcher, ResponseEnd, ResponseStep, ScriptedFailure, ScriptedFinish, ScriptedResponse,
};

use crate::chat_harness::ChatHarness;
use crate::events::SseTestReader;
use crate::probe_tools::ProbeTools;
use crate::support::GatewayHarness;

const PATH: &str = "/v1/chat/completions";

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn body(messages: Value, more: Value) -> Value {
    let mut body = json!({"model": "default", "messages": messages});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn stream_completion(it: &ChatHarness, token: &str, messages: Value, more: Value) -> SseTestReader {
    let mut body = body(messages, more);
    body["stream"] = json!(true);
    SseTestReader::open(&it.gateway, "POST", PATH, token, Some(body)).await
}

/// Returns the next chunk, whose head must be the same as in all others.
async fn next_chunk(events: &mut SseTestReader) -> Value {
    let (name, data) = events.next().await;
    assert_eq!(name, "", "OpenAI's events have no name");
    if data.get("error").is_none() && data.is_object() {
        assert_eq!((&data["object"], &data["model"]), (&json!("chat.completion.chunk"), &json!("default")));
        assert!(data["id"].as_str().unwrap().starts_with("chatcmpl-"));
        assert_eq!(data["created"], 1_700_000_000);
    }
    data
}

#[tokio::test]
async fn models_are_the_agents_that_the_token_may_use() {
    let it = ChatHarness::new().await;
    it.put_agent("home", json!({})).await;
    let model = |id: &str| json!({"id": id, "object": "model", "created": 0, "owned_by": "toolway"});
    let client = it.create_token("client").await;
    let list = it.gateway.send("GET", "/v1/models", Some(&client), None).await.json();
    assert_eq!(list, json!({"object": "list", "data": [model("default"), model("home")]}));
    for path in ["/v1/models/home", "/v1/models/toolway/home", "/v1/models/toolway%2Fhome"] {
        assert_eq!(it.gateway.send("GET", path, Some(&client), None).await.json(), model("home"), "{path}");
    }
    let missing = it.gateway.send("GET", "/v1/models/hme", Some(&client), None).await;
    assert_eq!((missing.status, &missing.json()["error"]["code"]), (404, &json!("model_not_found")));
    let bound = it.gateway.create_agent_token("home").await.token;
    let list = it.gateway.send("GET", "/v1/models", Some(&bound), None).await.json();
    assert_eq!(list["data"], json!([model("home")]));
    let refused =
        it.gateway.send("POST", PATH, Some(&bound), Some(body(json!([user("hi")]), json!({})))).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("agent_forbidden")));
}

#[tokio::test]
async fn the_agents_tools_run_in_the_gateway_and_the_answer_has_openais_form() {
    let it = ChatHarness::new().await;
    let probe = ProbeTools::offer(&it.gateway, "desk", &["look"]);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().tool_call("desk__look", json!({})).usage(10, 2),
    );
    it.fakes.when(RequestMatcher::result_of("desk__look"), ScriptedResponse::text("It ran.").usage(20, 3));
    let token = it.create_token("client").await;
    let messages = json!([{"role": "system", "content": "Speak plainly."}, user("look")]);
    let answer = it.gateway.send("POST", PATH, Some(&token), Some(body(messages, json!({})))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(
        answer["choices"],
        json!([{"index": 0, "message": {"role": "assistant", "content": "It ran.", "refusal": null},
                "logprobs": null, "finish_reason": "stop"}])
    );
    assert_eq!(
        (
            &answer["usage"]["prompt_tokens"],
            &answer["usage"]["completion_tokens"],
            &answer["usage"]["total_tokens"]
        ),
        (&json!(30), &json!(5), &json!(35))
    );
    assert_eq!(
        (&answer["toolway"]["rounds"], &answer["toolway"]["calls"][0]["name"]),
        (&json!(2), &json!("desk__look"))
    );
    assert_eq!(probe.run_count(), 1);
    let system = &it.fakes.requests()[0].said.system;
    let default = it.send_as_owner("GET", "/api/agents/default", None).await.json()["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    let (own, theirs) = (system.find(&default).unwrap(), system.find("Speak plainly.").unwrap());
    assert!(own < theirs, "the agent's own comes first: {system}");
    // Only the call and its cost are stored.
    assert_eq!(it.send_as_owner("GET", "/api/sessions", None).await.json()["sessions"], json!([]));
    let call = it.send_as_owner("GET", "/api/calls?tool=desk/look", None).await.json()["calls"][0].clone();
    assert_eq!((&call["turn_id"], &call["agent"]), (&answer["toolway"]["turn_id"], &json!("default")));
    let used = it.gateway.send("GET", "/api/usage?by=agent", Some(&token), None).await.json();
    assert_eq!(used["rows"][0]["requests"], 2);
}

#[tokio::test]
async fn a_stream_has_openais_chunks() {
    let it = ChatHarness::new().await;
    let _probe = ProbeTools::offer(&it.gateway, "desk", &["look"]);
    it.fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().tool_call("desk__look", json!({})).usage(10, 2),
    );
    it.fakes.when(
        RequestMatcher::result_of("desk__look"),
        ScriptedResponse::new().text_deltas(["It ", "ran."]).usage(20, 3),
    );
    let more = json!({"stream_options": {"include_usage": true}});
    let mut events =
        stream_completion(&it, &it.create_token("client").await, json!([user("look")]), more).await;
    let first = next_chunk(&mut events).await;
    assert_eq!(
        first["choices"],
        json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": null, "finish_reason": null}])
    );
    let (mut text, mut notes) = (String::new(), Vec::new());
    let last = loop {
        let piece = next_chunk(&mut events).await;
        let choice = &piece["choices"][0];
        if choice["finish_reason"].is_string() {
            break piece;
        }
        match choice["delta"]["content"].as_str() {
            Some(more) => text.push_str(more),
            None => notes.push(piece["toolway"]["event"].as_str().unwrap().to_owned()),
        }
    };
    assert_eq!(text, "It ran.");
    assert_eq!(notes, ["tool_call", "tool_result"]);
    assert_eq!(
        (&last["choices"][0]["finish_reason"], &last["toolway"]["event"]),
        (&json!("stop"), &json!("done"))
    );
    let used = next_chunk(&mut events).await;
    assert_eq!((&used["choices"], &used["usage"]["total_tokens"]), (&json!([]), &json!(35)));
    assert_eq!(events.next().await, (String::new(), json!("[DONE]")));
    events.end().await;
}

#[tokio::test]
async fn calls_of_the_callers_tools_are_returned_and_continued() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    let tools = json!([{"type": "function", "function": {"name": "weather", "description": "Tells the weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]);
    it.fakes
        .when(RequestMatcher::user(), ScriptedResponse::new().tool_call("weather", json!({"city": "Oslo"})));
    it.fakes.when(RequestMatcher::result_of("weather"), ScriptedResponse::text("It rains in Oslo."));
    let asked = it
        .gateway
        .send("POST", PATH, Some(&token), Some(body(json!([user("weather?")]), json!({"tools": tools}))))
        .await
        .json();
    let choice = &asked["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null),
        "{asked}"
    );
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!((&call["type"], &call["function"]["name"]), (&json!("function"), &json!("weather")));
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Oslo"}));
    let messages = json!([user("weather?"), choice["message"], {"role": "tool", "tool_call_id": call["id"], "content": "rain"}]);
    let answer = it
        .gateway
        .send("POST", PATH, Some(&token), Some(body(messages, json!({"tools": tools}))))
        .await
        .json();
    assert_eq!(answer["choices"][0]["message"]["content"], "It rains in Oslo.", "{answer}");
    let told = it.fakes.requests()[1].said.new_results()[0].clone();
    assert_eq!(told.name, "weather");
    assert!(told.text.contains("rain"));
    let calls = it.send_as_owner("GET", "/api/calls", None).await.json()["calls"].clone();
    assert_eq!(calls, json!([]), "the gateway ran nothing");
    // In a stream they are complete.
    it.fakes
        .when(RequestMatcher::user(), ScriptedResponse::new().tool_call("weather", json!({"city": "Oslo"})));
    let mut events = stream_completion(&it, &token, json!([user("weather?")]), json!({"tools": tools})).await;
    next_chunk(&mut events).await;
    let called = next_chunk(&mut events).await;
    let call = &called["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!((&call["index"], &call["function"]["name"]), (&json!(0), &json!("weather")));
    assert_eq!(next_chunk(&mut events).await["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn closing_the_request_ends_the_turn() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    it.fakes.answer(ScriptedResponse::text("on and ").gate("never"));
    let mut events = stream_completion(&it, &token, json!([user("hi")]), json!({})).await;
    next_chunk(&mut events).await;
    next_chunk(&mut events).await;
    drop(events);
    assert_eq!(it.fakes.wait_for_end(0).await, ResponseEnd::Dropped);
    // Also without a stream.
    it.fakes.answer(ScriptedResponse::text("on and ").gate("never"));
    let stream = tokio::net::TcpStream::connect(it.gateway.address()).await.unwrap();
    let request = body(json!([user("hi")]), json!({})).to_string();
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {token}")),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    let asking =
        tokio::spawn(async move { crate::support::exchange(stream, "POST", PATH, &headers, &request).await });
    it.fakes.wait_for_request(1).await;
    asking.abort();
    assert_eq!(it.fakes.wait_for_end(1).await, ResponseEnd::Dropped);
}

#[tokio::test]
async fn failures_have_openais_form_and_retryable_statuses() {
    let it = ChatHarness::new().await;
    let token = it.create_token("client").await;
    let hi = || body(json!([user("hi")]), json!({}));
    for (failure, status, code, retry) in [
        (ScriptedFailure::status(401), 502, "provider_auth", "false"),
        (ScriptedFailure::status(400).with_message("I do not like it"), 502, "provider_failed", "false"),
        (ScriptedFailure::context_too_long(), 400, "context_length_exceeded", "false"),
    ] {
        it.fakes.whenever(RequestMatcher::default(), ScriptedResponse::from_failure(failure));
        for stream in [false, true] {
            let mut body = hi();
            body["stream"] = json!(stream);
            let answer = it.gateway.send("POST", PATH, Some(&token), Some(body)).await;
            assert_eq!(answer.status, status, "{answer:?}");
            let error = &answer.json()["error"];
            assert_eq!(error["code"], code, "{error}");
            assert_eq!(answer.header("x-should-retry"), Some(retry));
        }
        it.fakes.script(toolway_fake_models::ResponseScript::default());
    }
    for (token, body, status, kind, code) in [
        (Some("wrong"), hi(), 401, "invalid_request_error", "invalid_api_key"),
        (None, hi(), 401, "invalid_request_error", "invalid_api_key"),
        (
            Some(token.as_str()),
            json!({"model": "hom", "messages": [user("hi")]}),
            404,
            "invalid_request_error",
            "model_not_found",
        ),
        (
            Some(token.as_str()),
            json!({"model": "default"}),
            400,
            "invalid_request_error",
            "malformed_request",
        ),
        (
            Some(token.as_str()),
            json!({"model": "default", "messages": [user("hi")], "n": 3}),
            400,
            "invalid_request_error",
            "unsupported_parameter",
        ),
    ] {
        let answer = it.gateway.send("POST", PATH, token, Some(body)).await;
        let error = answer.json()["error"].clone();
        assert_eq!(
            (answer.status, &error["type"], &error["code"]),
            (status, &json!(kind), &json!(code)),
            "{error}"
        );
    }
    let device = it.create_token("device").await;
    let refused = it.gateway.send("POST", PATH, Some(&device), Some(hi())).await;
    assert_eq!((refused.status, &refused.json()["error"]["type"]), (403, &json!("permission_error")));
    for (method, path, status, code) in [
        ("POST", "/v1/embeddings", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
    ] {
        let answer = it.gateway.send(method, path, Some(&token), None).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)));
    }
}

#[tokio::test]
async fn without_a_model_there_is_a_clear_error() {
    let bench = GatewayHarness::new().await;
    let token = bench.create_token("client").await.token;
    let answer = bench.send("POST", PATH, Some(&token), Some(body(json!([user("hi")]), json!({})))).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (503, &json!("no_model")));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_broken_stream_ends_with_an_error_and_not_as_complete_m12() {
    let it = ChatHarness::new().await;
    it.fakes.answer(
        ScriptedResponse::text("Half")
            .then(ResponseStep::Error(ScriptedFailure::status(500).with_message("the engine burns"))),
    );
    let mut events =
        stream_completion(&it, &it.create_token("client").await, json!([user("hi")]), json!({})).await;
    next_chunk(&mut events).await;
    assert_eq!(next_chunk(&mut events).await["choices"][0]["delta"]["content"], "Half");
    let error = next_chunk(&mut events).await["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("provider_failed")));
    assert!(error["message"].as_str().unwrap().contains("the engine burns"), "{error}");
    events.end().await;
}

#[tokio::test]
async fn options_of_the_request_reach_the_model() {
    let it = ChatHarness::new().await;
    it.put_agent("default", json!({"options": {"temperature": 0.1, "top_p": 0.5}})).await;
    it.fakes.answer(ScriptedResponse::text("Cut o").finish(ScriptedFinish::Length).no_usage());
    let content = json!([{"type": "text", "text": "what is this?"},
                         {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}]);
    let more = json!({"temperature": 0.9, "max_tokens": 7, "stop": "END", "seed": 3});
    let answer = it
        .send_as_owner("POST", PATH, Some(body(json!([{"role": "user", "content": content}]), more)))
        .await
        .json();
    assert_eq!(answer["choices"][0]["finish_reason"], "length", "{answer}");
    assert!(answer.get("usage").is_none(), "what is not known is not made up: {answer}");
    let request = &it.fakes.requests()[0];
    assert_eq!(request.said.messages[0].images, 1);
    let sent = &request.body;
    assert_eq!(
        (&sent["temperature"], &sent["top_p"], &sent["seed"]),
        (&json!(0.9), &json!(0.5), &json!(3)),
        "{sent}"
    );
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_a_permission_error_for_the_model() {
    let it =
        ChatHarness::with(json!({"chat": {"generate_titles": false}, "permissions": {"default": "ask"}}))
            .await;
    let probe = ProbeTools::with_permissions(&it.gateway, "desk", "locate", &["device.location"]);
    it.fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("desk__locate", json!({})));
    it.fakes.when(RequestMatcher::result_of("desk__locate"), ScriptedResponse::text("I may not."));
    let answer = it.send_as_owner("POST", PATH, Some(body(json!([user("where?")]), json!({})))).await.json();
    assert_eq!(answer["toolway"]["calls"][0]["status"], "error");
    assert!(it.fakes.requests()[1].said.new_results()[0].text.contains("approval_unavailable"));
    assert_eq!(probe.run_count(), 0);
}

#[tokio::test]
async fn pages_of_allowed_origins_can_use_openais_library() {
    let it = ChatHarness::with(
        json!({"chat": {"generate_titles": false}, "allowed_origins": ["https://app.example.org"]}),
    )
    .await;
    let asking = |origin: &str| {
        vec![
            ("Host".to_owned(), "localhost".to_owned()),
            ("Origin".to_owned(), origin.to_owned()),
            ("Access-Control-Request-Method".to_owned(), "POST".to_owned()),
            (
                "Access-Control-Request-Headers".to_owned(),
                "authorization,x-other,X-Stainless-Lang, x-stainless-os".to_owned(),
            ),
        ]
    };
    let answer = it.gateway.send_raw("OPTIONS", PATH, &asking("https://app.example.org"), "").await;
    assert_eq!(answer.status, 204);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert_eq!(
        allowed,
        "authorization, content-type, x-pairing-code, last-event-id, mcp-method, mcp-name, mcp-protocol-version, \
         mcp-session-id, toolway-time-zone, X-Stainless-Lang, x-stainless-os"
    );
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.org"));
    assert_eq!(
        it.gateway.send_raw("OPTIONS", PATH, &asking("https://evil.example.org"), "").await.status,
        403
    );
}
