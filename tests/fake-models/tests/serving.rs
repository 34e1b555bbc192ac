//! Tests everything that the APIs have in common: scripts, gates, observations, cuts and failures.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolway_fake_models::{
    ApiKind, ApiQuirks, FakeModels, KEY, PacedTokens, RequestMatcher, ResponseEnd, ResponseStep, ScriptLine,
    ScriptedFailure, ScriptedResponse, ScriptedToolCall, render_stream,
};

/// Returns a request with this text in each API.
fn body(api: ApiKind, text: &str) -> (String, Value) {
    match api {
        ApiKind::Openai | ApiKind::Compatible => (
            "/chat/completions".to_owned(),
            json!({"model": "fake-model", "stream": true, "messages": [{"role": "user", "content": text}],
                   "stream_options": {"include_usage": true}}),
        ),
        ApiKind::OpenaiResponses => (
            "/responses".to_owned(),
            json!({"model": "fake-model", "stream": true, "input": [{"role": "user", "content": text}]}),
        ),
        ApiKind::Anthropic => (
            "/v1/messages".to_owned(),
            json!({"model": "fake-model", "stream": true, "max_tokens": 100,
                   "messages": [{"role": "user", "content": text}]}),
        ),
        ApiKind::Gemini => (
            "/v1beta/models/fake-model:streamGenerateContent?alt=sse".to_owned(),
            json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        ),
    }
}

/// A response: the status, and the body as transferred.
struct RawHttpResponse {
    status: u16,
    head: String,
    body: String,
    /// Number of received bytes of the body.
    length: usize,
    /// True if the body is complete.
    whole: bool,
}

struct RawHttpConnection(TcpStream);

impl RawHttpConnection {
    async fn send(fakes: &FakeModels, api: ApiKind, text: &str) -> Self {
        let (path, body) = body(api, text);
        Self::send_body(fakes, api, &path, &body).await
    }

    async fn send_body(fakes: &FakeModels, api: ApiKind, path: &str, body: &Value) -> Self {
        let url = fakes.url();
        let authority = url.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(authority).await.unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {}{path} HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer {KEY}\r\nx-api-key: {KEY}\r\n\
             x-goog-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            api.base_path(),
            body.len(),
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        Self(socket)
    }

    /// Reads until this text has arrived. Returns everything so far.
    async fn read_until(&mut self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            let mut buffer = vec![0; 4096];
            let count = self.0.read(&mut buffer).await.unwrap();
            assert!(count > 0, "it ended before {text:?}: {all}");
            all.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        all
    }

    async fn response(mut self) -> RawHttpResponse {
        let mut bytes = Vec::new();
        // A cut connection may be reset.
        let _ = self.0.read_to_end(&mut bytes).await;
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let rest = &bytes[end + 4..];
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let (body, whole) = if head.contains("chunked") { unchunked(rest) } else { (rest.to_vec(), true) };
        RawHttpResponse {
            status,
            head,
            length: body.len(),
            body: String::from_utf8_lossy(&body).into_owned(),
            whole,
        }
    }
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        rest = &rest[line + 2..];
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
    (body, false)
}

fn sample_response() -> ScriptedResponse {
    ScriptedResponse::new()
        .thinking("Where?")
        .text_deltas(["One ", "mömént."])
        .tool_call("lamp", json!({"on": true}))
}

#[tokio::test]
async fn what_is_served_is_what_is_rendered() {
    for api in [ApiKind::Openai, ApiKind::Anthropic, ApiKind::Gemini, ApiKind::Compatible] {
        let fakes = FakeModels::start().await;
        let answer =
            ScriptedResponse::new().text_deltas(["One ", "mömént."]).tool_call("lamp", json!({"on": true}));
        fakes.answer(answer.clone());
        let response = RawHttpConnection::send(&fakes, api, "hi").await.response().await;
        assert_eq!((response.status, response.whole), (200, true), "{api}: {}", response.body);
        assert_eq!(response.body, render_stream(api, &answer), "{api}");
        assert_eq!(fakes.wait_for_end(0).await, ResponseEnd::Complete, "{api}");
        assert_eq!(fakes.unused_lines(), 0);
    }
}

#[tokio::test]
async fn every_api_says_what_it_was_asked_in_the_same_form() {
    let fakes = FakeModels::start().await;
    for (number, api) in ApiKind::ALL.into_iter().enumerate() {
        fakes.answer(ScriptedResponse::text("yes"));
        RawHttpConnection::send(&fakes, api, "are you there?").await.response().await;
        let seen = fakes.wait_for_request(number).await;
        assert_eq!((seen.number, seen.api, seen.status), (number, api, Some(200)));
        assert_eq!(seen.said.last_user_text(), "are you there?", "{api}");
        assert_eq!((seen.said.model.as_str(), seen.said.stream), ("fake-model", true), "{api}");
    }
}

#[tokio::test]
async fn an_answer_waits_at_a_gate_and_what_came_before_is_there() {
    for api in ApiKind::ALL {
        let fakes = FakeModels::start().await;
        fakes.answer(ScriptedResponse::text("before").gate("wait").text_deltas(["after"]));
        let mut connection = RawHttpConnection::send(&fakes, api, "hi").await;
        let before = connection.read_until("before").await;
        assert!(!before.contains("after"), "{before}");
        fakes.wait_for_gate("wait").await;
        fakes.open("wait");
        connection.read_until("after").await;
        assert_eq!(fakes.wait_for_end(0).await, ResponseEnd::Complete);
    }
}

#[tokio::test]
async fn whoever_goes_away_is_noticed() {
    for held in [false, true] {
        let fakes = FakeModels::start().await;
        let answer = if held {
            ScriptedResponse::text("x").held_by("wait")
        } else {
            ScriptedResponse::text("x").gate("wait")
        };
        fakes.answer(answer);
        let connection = RawHttpConnection::send(&fakes, ApiKind::Openai, "hi").await;
        fakes.wait_for_gate("wait").await;
        drop(connection);
        assert_eq!(fakes.wait_for_end(0).await, ResponseEnd::Dropped, "held: {held}");
    }
}

#[tokio::test]
async fn a_gate_lets_as_many_through_as_it_is_told() {
    let fakes = FakeModels::start().await;
    fakes.line(ScriptLine {
        times: 0,
        answer: ScriptedResponse::text("x").held_by("door"),
        ..ScriptLine::default()
    });
    let first = RawHttpConnection::send(&fakes, ApiKind::Openai, "1").await;
    fakes.wait_for_gate_count("door", 1).await;
    let second = RawHttpConnection::send(&fakes, ApiKind::Openai, "2").await;
    fakes.wait_for_gate_count("door", 2).await;
    fakes.admit("door", 1);
    assert_eq!(first.response().await.status, 200);
    assert_eq!(fakes.wait_for_request(1).await.status, None);
    fakes.open("door");
    assert_eq!(second.response().await.status, 200);
}

#[tokio::test]
async fn a_cut_falls_at_its_byte() {
    for api in ApiKind::ALL {
        let fakes = FakeModels::start().await;
        fakes.answer(sample_response());
        let whole = RawHttpConnection::send(&fakes, api, "hi").await.response().await.length;
        for at in [0, 1, 77, 200, whole - 1] {
            let fakes = FakeModels::start().await;
            fakes.answer(sample_response().cut_at(at));
            let response = RawHttpConnection::send(&fakes, api, "hi").await.response().await;
            assert!(!response.whole, "{api} at {at}");
            assert_eq!(response.length, at, "{api}");
            assert_eq!(fakes.wait_for_end(0).await, ResponseEnd::Cut);
        }
    }
}

#[tokio::test]
async fn bytes_come_in_pieces_without_being_lost() {
    let fakes = FakeModels::start().await;
    fakes.answers([sample_response(), sample_response().bytes_at_once(1)]);
    let whole = RawHttpConnection::send(&fakes, ApiKind::Compatible, "hi").await.response().await.body;
    let pieces = RawHttpConnection::send(&fakes, ApiKind::Compatible, "hi").await.response().await.body;
    // Ids are sequential and have the same length.
    assert_eq!(pieces.len(), whole.len());
}

#[tokio::test]
async fn lines_are_chosen_by_what_is_asked() {
    let fakes = FakeModels::start().await;
    fakes.when(RequestMatcher::result_of("lamp"), ScriptedResponse::text("never"));
    fakes.when(RequestMatcher::user_has("two"), ScriptedResponse::text("2"));
    fakes.whenever(RequestMatcher::user(), ScriptedResponse::text("any"));
    for (asked, said) in [("one", "any"), ("two", "2"), ("two", "any")] {
        let body = RawHttpConnection::send(&fakes, ApiKind::Gemini, asked).await.response().await.body;
        assert!(body.contains(said), "{asked}: {body}");
    }
    assert_eq!(fakes.unused_lines(), 1);
}

#[tokio::test]
async fn what_nothing_answers_is_refused() {
    let fakes = FakeModels::start().await;
    let response = RawHttpConnection::send(&fakes, ApiKind::Anthropic, "hi").await.response().await;
    assert_eq!(response.status, 400);
    assert!(response.body.contains("nothing in the script"), "{}", response.body);
}

#[tokio::test]
async fn failures_have_the_form_of_their_api() {
    for (api, kind, place) in [
        (ApiKind::Openai, "requests", "/error/type"),
        (ApiKind::Anthropic, "rate_limit_error", "/error/type"),
        (ApiKind::Gemini, "RESOURCE_EXHAUSTED", "/error/status"),
    ] {
        let fakes = FakeModels::start().await;
        fakes.answer(ScriptedResponse::status(429).retry_after(7.0));
        let response = RawHttpConnection::send(&fakes, api, "hi").await.response().await;
        assert_eq!(response.status, 429);
        let json: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(json.pointer(place), Some(&json!(kind)), "{json}");
        let says_when = match api {
            ApiKind::Gemini => json.pointer("/error/details/0/retryDelay") == Some(&json!("7s")),
            _ => response.head.contains("retry-after: 7\r\n"),
        };
        assert!(says_when, "{}\n{json}", response.head);
    }
}

#[tokio::test]
async fn an_error_event_ends_a_stream() {
    for (api, sign) in [
        (ApiKind::Openai, "data: {\"error\""),
        (ApiKind::OpenaiResponses, "event: response.failed"),
        (ApiKind::Anthropic, "event: error"),
        (ApiKind::Gemini, "UNAVAILABLE"),
    ] {
        let fakes = FakeModels::start().await;
        let answer = ScriptedResponse::text("half")
            .then(ResponseStep::Error(ScriptedFailure::status(503)))
            .text_deltas(["more"]);
        fakes.answer(answer);
        let response = RawHttpConnection::send(&fakes, api, "hi").await.response().await;
        assert_eq!((response.status, response.whole), (200, true));
        assert!(response.body.contains("half") && response.body.contains(sign), "{}", response.body);
        assert!(!response.body.contains("more") && !response.body.contains("DONE"), "{}", response.body);
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_have_their_times() {
    let fakes = FakeModels::start().await;
    let tokens = PacedTokens { count: 5, per_second: 20.0, text: "<{n}:{micros}>".to_owned() };
    fakes.answer(
        ScriptedResponse::new().then(ResponseStep::Tokens(tokens)).then(ResponseStep::Mark("end".to_owned())),
    );
    let body = RawHttpConnection::send(&fakes, ApiKind::Openai, "hi").await.response().await.body;
    let micros: Vec<u64> = body
        .split('<')
        .skip(1)
        .map(|token| token.split([':', '>']).nth(1).unwrap().parse().unwrap())
        .collect();
    assert_eq!(micros.len(), 5);
    for pair in micros.windows(2) {
        // Time advances in steps of a millisecond.
        assert!((50_000..=51_000).contains(&(pair[1] - pair[0])), "{micros:?}");
    }
    let [(name, at)] = fakes.take_marks().try_into().unwrap();
    assert_eq!(name, "end");
    assert!(at - fakes.epoch() >= Duration::from_millis(200));
}

#[tokio::test]
async fn what_is_compatible_has_the_quirks_that_were_asked_for() {
    let calls = ScriptedResponse::new().thinking("Hm").then(ResponseStep::Together(vec![
        ScriptedToolCall::new("lamp", json!({"on": true})),
        ScriptedToolCall::new("bell", json!({})),
    ]));
    let with = async |quirks: ApiQuirks| {
        let fakes = FakeModels::start().await;
        fakes.quirks(quirks);
        fakes.answer(calls.clone());
        RawHttpConnection::send(&fakes, ApiKind::Compatible, "hi").await.response().await.body
    };
    let plain = with(ApiQuirks::default()).await;
    for has in ["\"reasoning_content\":\"Hm\"", "\"index\":1", "call_", "\"tool_calls\"", "usage", "[DONE]"] {
        assert!(plain.contains(has), "{has}: {plain}");
    }
    // Both calls start in one chunk.
    assert!(plain.lines().any(|line| line.contains("lamp") && line.contains("bell")), "{plain}");
    let bare = with(ApiQuirks { no_call_ids: true, no_done: true, ..ApiQuirks::default() }).await;
    assert!(!bare.contains("\"call_") && !bare.contains("[DONE]"), "{bare}");
    let zero =
        with(ApiQuirks { index_always_zero: true, finish_stop_for_calls: true, ..ApiQuirks::default() })
            .await;
    assert!(!zero.contains("\"index\":1") && zero.contains("\"finish_reason\":\"stop\""), "{zero}");
    let objects =
        with(ApiQuirks { arguments_as_object: true, no_call_index: true, ..ApiQuirks::default() }).await;
    assert!(objects.contains(r#""arguments":{"on":true}"#), "{objects}");
    let other = with(ApiQuirks {
        thinking_field: Some("reasoning".to_owned()),
        usage_in_each_chunk: true,
        comments: true,
        ..ApiQuirks::default()
    })
    .await;
    assert!(other.contains("\"reasoning\":\"Hm\"") && other.contains(": PROCESSING"), "{other}");
    assert!(!other.contains("\"choices\":[]"), "{other}");
}

#[tokio::test]
async fn what_the_api_refuses_is_refused_and_seen() {
    let fakes = FakeModels::start().await;
    fakes.answer(ScriptedResponse::text("never"));
    let (path, mut asked) = body(ApiKind::Gemini, "hi");
    asked["tools"] = json!([{"functionDeclarations": [{"name": "a", "parameters": {
        "type": "OBJECT", "properties": {"x": {"type": "STRING"}}, "additionalProperties": false,
    }}]}]);
    let response =
        RawHttpConnection::send_body(&fakes, ApiKind::Gemini, &path, &asked).await.response().await;
    assert_eq!(response.status, 400);
    let seen = fakes.wait_for_request(0).await;
    assert!(seen.refused.unwrap().contains("Unknown name \"additionalProperties\""));
    assert_eq!((seen.status, fakes.unused_lines()), (Some(400), 1));
}
