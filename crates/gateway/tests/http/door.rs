//! The door `/v1`, spoken to byte by byte; the official libraries are pointed at it elsewhere.

use serde_json::{Value, json};
use toolway_fake_models::{Answer, Failure, Finish, ResponseEnd, Step, When};

use crate::events::Events;
use crate::probe::Probe;
use crate::support::Bench;
use crate::talking::Talking;

const PATH: &str = "/v1/chat/completions";

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn body(messages: Value, more: Value) -> Value {
    let mut body = json!({"model": "default", "messages": messages});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn streamed(it: &Talking, token: &str, messages: Value, more: Value) -> Events {
    let mut body = body(messages, more);
    body["stream"] = json!(true);
    Events::open(&it.bench, "POST", PATH, token, Some(body)).await
}

/// The next piece; its head must be like that of all others.
async fn piece(events: &mut Events) -> Value {
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
async fn models_are_the_agents_that_the_token_may_talk_to() {
    let it = Talking::new().await;
    it.agent("home", json!({})).await;
    let model = |id: &str| json!({"id": id, "object": "model", "created": 0, "owned_by": "toolway"});
    let client = it.token("client").await;
    let list = it.bench.send("GET", "/v1/models", Some(&client), None).await.json();
    assert_eq!(list, json!({"object": "list", "data": [model("default"), model("home")]}));
    for path in ["/v1/models/home", "/v1/models/toolway/home", "/v1/models/toolway%2Fhome"] {
        assert_eq!(it.bench.send("GET", path, Some(&client), None).await.json(), model("home"), "{path}");
    }
    let missing = it.bench.send("GET", "/v1/models/hme", Some(&client), None).await;
    assert_eq!((missing.status, &missing.json()["error"]["code"]), (404, &json!("model_not_found")));
    let bound = it.bench.agents_token("home").await.token;
    let list = it.bench.send("GET", "/v1/models", Some(&bound), None).await.json();
    assert_eq!(list["data"], json!([model("home")]));
    let refused = it.bench.send("POST", PATH, Some(&bound), Some(body(json!([user("hi")]), json!({})))).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("agent_forbidden")));
}

#[tokio::test]
async fn the_agents_tools_run_inside_and_the_answer_is_openais() {
    let it = Talking::new().await;
    let probe = Probe::offer(&it.bench, "desk", &["look"]);
    it.fakes.when(When::user(), Answer::new().call("desk__look", json!({})).usage(10, 2));
    it.fakes.when(When::result_of("desk__look"), Answer::text("It ran.").usage(20, 3));
    let token = it.token("client").await;
    let messages = json!([{"role": "system", "content": "Speak plainly."}, user("look")]);
    let answer = it.bench.send("POST", PATH, Some(&token), Some(body(messages, json!({})))).await;
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
    assert_eq!(probe.runs(), 1);
    let system = &it.fakes.requests()[0].said.system;
    let default =
        it.owner("GET", "/api/agents/default", None).await.json()["prompt"].as_str().unwrap().to_owned();
    let (own, theirs) = (system.find(&default).unwrap(), system.find("Speak plainly.").unwrap());
    assert!(own < theirs, "the agent's own comes first: {system}");
    // Nothing is kept but the call and what it cost.
    assert_eq!(it.owner("GET", "/api/sessions", None).await.json()["sessions"], json!([]));
    let call = it.owner("GET", "/api/calls?tool=desk/look", None).await.json()["calls"][0].clone();
    assert_eq!((&call["turn"], &call["agent"]), (&answer["toolway"]["turn"], &json!("default")));
    let used = it.bench.send("GET", "/api/usage?by=agent", Some(&token), None).await.json();
    assert_eq!(used["rows"][0]["requests"], 2);
}

#[tokio::test]
async fn a_stream_has_openais_pieces() {
    let it = Talking::new().await;
    let _probe = Probe::offer(&it.bench, "desk", &["look"]);
    it.fakes.when(When::user(), Answer::new().call("desk__look", json!({})).usage(10, 2));
    it.fakes.when(When::result_of("desk__look"), Answer::new().says(["It ", "ran."]).usage(20, 3));
    let more = json!({"stream_options": {"include_usage": true}});
    let mut events = streamed(&it, &it.token("client").await, json!([user("look")]), more).await;
    let first = piece(&mut events).await;
    assert_eq!(
        first["choices"],
        json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": null, "finish_reason": null}])
    );
    let (mut text, mut notes) = (String::new(), Vec::new());
    let last = loop {
        let piece = piece(&mut events).await;
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
    let used = piece(&mut events).await;
    assert_eq!((&used["choices"], &used["usage"]["total_tokens"]), (&json!([]), &json!(35)));
    assert_eq!(events.next().await, (String::new(), json!("[DONE]")));
    events.end().await;
}

#[tokio::test]
async fn the_callers_own_tools_come_back_to_it_and_their_results_go_on() {
    let it = Talking::new().await;
    let token = it.token("client").await;
    let tools = json!([{"type": "function", "function": {"name": "weather", "description": "Tells the weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]);
    it.fakes.when(When::user(), Answer::new().call("weather", json!({"city": "Oslo"})));
    it.fakes.when(When::result_of("weather"), Answer::text("It rains in Oslo."));
    let asked = it
        .bench
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
    let answer =
        it.bench.send("POST", PATH, Some(&token), Some(body(messages, json!({"tools": tools})))).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "It rains in Oslo.", "{answer}");
    let told = it.fakes.requests()[1].said.new_results()[0].clone();
    assert_eq!(told.name, "weather");
    assert!(told.text.contains("rain"));
    let calls = it.owner("GET", "/api/calls", None).await.json()["calls"].clone();
    assert_eq!(calls, json!([]), "the gateway ran nothing");
    // In a stream they come whole.
    it.fakes.when(When::user(), Answer::new().call("weather", json!({"city": "Oslo"})));
    let mut events = streamed(&it, &token, json!([user("weather?")]), json!({"tools": tools})).await;
    piece(&mut events).await;
    let called = piece(&mut events).await;
    let call = &called["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!((&call["index"], &call["function"]["name"]), (&json!(0), &json!("weather")));
    assert_eq!(piece(&mut events).await["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn closing_the_request_ends_the_turn() {
    let it = Talking::new().await;
    let token = it.token("client").await;
    it.fakes.answer(Answer::text("on and ").gate("never"));
    let mut events = streamed(&it, &token, json!([user("hi")]), json!({})).await;
    piece(&mut events).await;
    piece(&mut events).await;
    drop(events);
    assert_eq!(it.fakes.ended(0).await, ResponseEnd::Dropped);
    // Also where there is no stream.
    it.fakes.answer(Answer::text("on and ").gate("never"));
    let stream = tokio::net::TcpStream::connect(it.bench.address()).await.unwrap();
    let request = body(json!([user("hi")]), json!({})).to_string();
    let headers = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Authorization".to_owned(), format!("Bearer {token}")),
        ("Content-Type".to_owned(), "application/json".to_owned()),
    ];
    let asking =
        tokio::spawn(async move { crate::support::exchange(stream, "POST", PATH, &headers, &request).await });
    it.fakes.request(1).await;
    asking.abort();
    assert_eq!(it.fakes.ended(1).await, ResponseEnd::Dropped);
}

#[tokio::test]
async fn failures_have_openais_form_and_statuses_that_say_whether_to_try_again() {
    let it = Talking::new().await;
    let token = it.token("client").await;
    let hi = || body(json!([user("hi")]), json!({}));
    for (failure, status, code, retry) in [
        (Failure::status(401), 502, "provider_auth", "false"),
        (Failure::status(400).saying("I do not like it"), 502, "provider_failed", "false"),
        (Failure::context_too_long(), 400, "context_length_exceeded", "false"),
    ] {
        it.fakes.whenever(When::default(), Answer::failing(failure));
        for stream in [false, true] {
            let mut body = hi();
            body["stream"] = json!(stream);
            let answer = it.bench.send("POST", PATH, Some(&token), Some(body)).await;
            assert_eq!(answer.status, status, "{answer:?}");
            let error = &answer.json()["error"];
            assert_eq!(error["code"], code, "{error}");
            assert_eq!(answer.header("x-should-retry"), Some(retry));
        }
        it.fakes.script(toolway_fake_models::Script::default());
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
        let answer = it.bench.send("POST", PATH, token, Some(body)).await;
        let error = answer.json()["error"].clone();
        assert_eq!(
            (answer.status, &error["type"], &error["code"]),
            (status, &json!(kind), &json!(code)),
            "{error}"
        );
    }
    let device = it.token("device").await;
    let refused = it.bench.send("POST", PATH, Some(&device), Some(hi())).await;
    assert_eq!((refused.status, &refused.json()["error"]["type"]), (403, &json!("permission_error")));
    for (method, path, status, code) in [
        ("POST", "/v1/embeddings", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
    ] {
        let answer = it.bench.send(method, path, Some(&token), None).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)));
    }
}

#[tokio::test]
async fn without_a_model_it_says_so() {
    let bench = Bench::new().await;
    let token = bench.token("client").await.token;
    let answer = bench.send("POST", PATH, Some(&token), Some(body(json!([user("hi")]), json!({})))).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (503, &json!("no_model")));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn m12_a_stream_that_breaks_ends_in_an_error_and_not_as_if_whole() {
    let it = Talking::new().await;
    it.fakes.answer(Answer::text("Half").then(Step::Error(Failure::status(500).saying("the engine burns"))));
    let mut events = streamed(&it, &it.token("client").await, json!([user("hi")]), json!({})).await;
    piece(&mut events).await;
    assert_eq!(piece(&mut events).await["choices"][0]["delta"]["content"], "Half");
    let error = piece(&mut events).await["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("server_error"), &json!("provider_failed")));
    assert!(error["message"].as_str().unwrap().contains("the engine burns"), "{error}");
    events.end().await;
}

#[tokio::test]
async fn what_the_request_wants_reaches_the_model() {
    let it = Talking::new().await;
    it.agent("default", json!({"options": {"temperature": 0.1, "top_p": 0.5}})).await;
    it.fakes.answer(Answer::text("Cut o").finish(Finish::Length).no_usage());
    let content = json!([{"type": "text", "text": "what is this?"},
                         {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}]);
    let more = json!({"temperature": 0.9, "max_tokens": 7, "stop": "END", "seed": 3});
    let answer =
        it.owner("POST", PATH, Some(body(json!([{"role": "user", "content": content}]), more))).await.json();
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
    let it = Talking::with(json!({"chat": {"titles": false}, "permissions": {"default": "ask"}})).await;
    let probe = Probe::needing(&it.bench, "desk", "locate", &["device.location"]);
    it.fakes.when(When::user(), Answer::new().call("desk__locate", json!({})));
    it.fakes.when(When::result_of("desk__locate"), Answer::text("I may not."));
    let answer = it.owner("POST", PATH, Some(body(json!([user("where?")]), json!({})))).await.json();
    assert_eq!(answer["toolway"]["calls"][0]["status"], "error");
    assert!(it.fakes.requests()[1].said.new_results()[0].text.contains("approval_unavailable"));
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn pages_of_listed_sites_may_use_it_as_openais_library_does() {
    let it =
        Talking::with(json!({"chat": {"titles": false}, "allowed_origins": ["https://app.example.org"]}))
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
    let answer = it.bench.raw("OPTIONS", PATH, &asking("https://app.example.org"), "").await;
    assert_eq!(answer.status, 204);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert_eq!(
        allowed,
        "authorization, content-type, x-pairing-code, last-event-id, mcp-method, mcp-name, mcp-protocol-version, \
         mcp-session-id, X-Stainless-Lang, x-stainless-os"
    );
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.org"));
    assert_eq!(it.bench.raw("OPTIONS", PATH, &asking("https://evil.example.org"), "").await.status, 403);
}
