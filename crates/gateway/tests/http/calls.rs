//! Call records: listing, showing, exporting and removing them, and the permissions for it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolway_core::{
    CallDurations, CallNotes, ClosedCall, EntryPoint, OpenedCall, SourceRetention, ToolBuilder,
};
use toolway_types::{CallId, Code, Outcome, PrincipalId, RawJson, Role, ToolError, ToolOutput};

use crate::events::SseTestReader;
use crate::support::{GatewayHarness, HttpAnswer};

const NOW: i64 = 1_700_000_000_000;

fn opened(name: &str, principal: &str) -> OpenedCall {
    OpenedCall {
        id: CallId::new(),
        name: name.into(),
        tool: format!("phone/{name}").parse().ok(),
        principal: PrincipalId::from(principal),
        role: Role::Client,
        via: EntryPoint::WebSocket,
        agent: None,
        session: None,
        turn: None,
        arguments: RawJson::parse(r#"{"say":"hello"}"#).ok(),
        started_ms: NOW,
        key: None,
    }
}

fn closed(opened: OpenedCall, outcome: Outcome) -> ClosedCall {
    let durations = CallDurations {
        total: Duration::from_millis(60),
        waiting: Duration::from_millis(30),
        queued: Duration::from_millis(20),
        running: Duration::from_millis(10),
    };
    ClosedCall { opened: Arc::new(opened), outcome: Arc::new(outcome), durations, attempts: 1, notes: None }
}

fn success(text: &str) -> Outcome {
    Outcome::Success(ToolOutput::text(text))
}

fn record(bench: &GatewayHarness, call: ClosedCall) -> String {
    let id = call.opened.id.to_string();
    drop(bench.gateway.app().store.recorder().close(call));
    id
}

async fn listed(bench: &GatewayHarness, token: &str, query: &str) -> Vec<String> {
    let answer = bench.send("GET", &format!("/api/calls?{query}"), Some(token), None).await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let calls = answer.json()["calls"].as_array().unwrap().clone();
    calls.iter().map(|call| call["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the calls of an export, one per line.
#[track_caller]
fn lines(answer: &HttpAnswer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.is_empty() || answer.body.ends_with('\n'));
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns a call of a conversation with all optional fields.
fn call_with_arguments(principal: &str) -> ClosedCall {
    let opened = OpenedCall {
        agent: Some("home".into()),
        session: Some("s-1".into()),
        turn: Some("s-1/4".into()),
        ..opened("noted", principal)
    };
    let notes = CallNotes {
        approved_by: Some("grant:7".into()),
        ran_with: RawJson::parse(r#"{"say":"a changed word"}"#).ok(),
        hooks: vec!["polite".into()],
        rule: Some("night".into()),
    };
    ClosedCall { notes: Some(Box::new(notes)), ..closed(opened, success("said")) }
}

#[tokio::test]
async fn approvals_hooks_and_rules_are_shown_to_the_owner_only() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await;
    let id = record(&bench, call_with_arguments(&client.id));
    let path = format!("/api/calls/{id}");
    let whole = bench.send_as_owner("GET", &path, None).await.json();
    let expected = json!({
        "call_id": id, "name": "noted", "tool_id": "phone/noted", "source": "phone", "principal": client.id,
        "role": "client", "via": "websocket", "agent": "home", "session_id": "s-1", "turn_id": "s-1/4",
        "status": "success", "approved_by": "grant:7", "hooks": ["polite"], "rule": "night",
        "started_ms": NOW, "duration_ms": 60.0, "user_wait_ms": 30.0, "queued_ms": 20.0, "running_ms": 10.0,
        "attempts": 1, "arguments": {"say": "hello"}, "effective_arguments": {"say": "a changed word"},
        "outcome": {"status": "success", "result": "said"},
    });
    assert_eq!(whole, expected);

    let mut visible = expected.as_object().unwrap().clone();
    visible.retain(|name, _| !["hooks", "rule", "effective_arguments"].contains(&name.as_str()));
    let own = bench.send("GET", &path, Some(&client.token), None).await.json();
    assert_eq!(own, Value::Object(visible.clone()));
    let exported = bench.send("GET", "/api/calls/export", Some(&client.token), None).await;
    assert_eq!(lines(&exported), [Value::Object(visible.clone())]);
    assert_eq!(lines(&bench.send_as_owner("GET", "/api/calls/export", None).await), [expected]);
    let csv = bench.send("GET", "/api/calls/export?format=csv", Some(&client.token), None).await.body;
    assert!(!csv.contains("polite") && !csv.contains("night") && !csv.contains("a changed word"), "{csv}");
    // A search does not find it either.
    assert_eq!(listed(&bench, &bench.owner, "search=changed").await, ["noted"]);
    assert_eq!(listed(&bench, &client.token, "search=changed").await, [""; 0]);
}

#[tokio::test]
async fn calls_are_found_by_text_conversation_agent_and_approver() {
    let bench = GatewayHarness::new().await;
    let (one, other) = (bench.create_token("client").await, bench.create_token("client").await);
    record(&bench, call_with_arguments(&one.id));
    record(&bench, closed(opened("plain", &one.id), success("The Answer is 42")));
    let failed = Outcome::Error(ToolError::new(Code::Network, "no answer at all"));
    record(&bench, closed(OpenedCall { started_ms: NOW + 5, ..opened("failed", &other.id) }, failed));

    let cases: &[(&str, &[&str], &[&str])] = &[
        ("search=ANSWER", &["failed", "plain"], &["plain"]),
        ("search=answer&status=error", &["failed"], &[]),
        ("search=phone%2Fpl", &["plain"], &["plain"]),
        ("search=answer&limit=1", &["failed"], &["plain"]),
        ("search=%22hello%22&until=1700000000001", &["plain", "noted"], &["plain", "noted"]),
        ("session_id=s-1", &["noted"], &["noted"]),
        ("session_id=s", &[], &[]),
        ("agent=home", &["noted"], &["noted"]),
        ("approved_by=grant%3A7", &["noted"], &["noted"]),
    ];
    for (query, owner, client) in cases {
        assert_eq!(listed(&bench, &bench.owner, query).await, *owner, "{query}");
        assert_eq!(listed(&bench, &one.token, query).await, *client, "{query}");
    }
    // Page by page to the end, even if a page is empty.
    let first = bench.send_as_owner("GET", "/api/calls?search=answer&limit=1", None).await.json();
    assert_eq!(first["searched_to_ms"], NOW + 5);
    let next = first["next_cursor"].as_str().unwrap();
    let second =
        bench.send_as_owner("GET", &format!("/api/calls?search=answer&cursor={next}"), None).await.json();
    assert_eq!((&second["calls"][0]["name"], &second["next_cursor"]), (&json!("plain"), &Value::Null));

    for query in ["search=", &format!("search={}", "x".repeat(257)), "session_id=a&nonsense=b"] {
        let refused = bench.send_as_owner("GET", &format!("/api/calls?{query}"), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{query}");
    }
}

#[tokio::test]
async fn an_export_has_every_matching_call_in_the_form_of_the_detail() {
    let bench = GatewayHarness::new().await;
    let (one, other) = (bench.create_token("client").await, bench.create_token("client").await);
    for number in 0..700_i64 {
        let principal = if number % 2 == 0 { &one.id } else { &other.id };
        let call = OpenedCall { started_ms: NOW + number, ..opened(&format!("t{number}"), principal) };
        record(&bench, closed(call, success("ok")));
    }
    let names = |answer: &HttpAnswer| -> Vec<String> {
        lines(answer).iter().map(|call| call["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = bench.send_as_owner("GET", "/api/calls/export", None).await;
    assert_eq!(all.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(all.header("content-disposition"), Some("attachment; filename=\"toolway-calls.jsonl\""));
    assert_eq!(names(&all), (0..700).map(|number| format!("t{number}")).collect::<Vec<_>>());
    let first = &lines(&all)[0];
    let shown =
        bench.send_as_owner("GET", &format!("/api/calls/{}", first["call_id"].as_str().unwrap()), None).await;
    assert_eq!(*first, shown.json());
    assert_eq!(first["arguments"], json!({"say": "hello"}));

    let newest = bench
        .send_as_owner("GET", "/api/calls/export?order=newest&search=t69&since=1700000000690", None)
        .await;
    assert_eq!(names(&newest), (690..700).rev().map(|number| format!("t{number}")).collect::<Vec<_>>());
    let own = bench.send("GET", "/api/calls/export", Some(&one.token), None).await;
    assert_eq!(names(&own), (0..700).step_by(2).map(|number| format!("t{number}")).collect::<Vec<_>>());
    let theirs = format!("/api/calls/export?principal={}", other.id);
    let refused = bench.send("GET", &theirs, Some(&one.token), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
    assert_eq!(
        lines(&bench.send_as_owner("GET", "/api/calls/export?session_id=none", None).await),
        [Value::Null; 0]
    );
    for query in ["format=xml", "order=random", "limit=5", "status=odd"] {
        let refused = bench.send_as_owner("GET", &format!("/api/calls/export?{query}"), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{query}");
    }
}

#[tokio::test]
async fn csv_is_quoted_and_contains_no_formulas() {
    let bench = GatewayHarness::new().await;
    let mut call = call_with_arguments("=1+1");
    call.opened = Arc::new(OpenedCall {
        name: "@SUM(A1),\"x\"\r\nnext".into(),
        tool: None,
        session: Some("-2".into()),
        arguments: RawJson::parse(r#"{"say":"a, b"}"#).ok(),
        ..OpenedCall::clone(&call.opened)
    });
    let id = record(&bench, call);
    let answer = bench.send_as_owner("GET", "/api/calls/export?format=csv", None).await;
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"toolway-calls.csv\""));
    let head = "call_id,started,started_ms,name,tool_id,source,principal,role,via,agent,session_id,turn_id,status,error_type,code,\
                message,approved_by,hooks,rule,duration_ms,user_wait_ms,queued_ms,running_ms,attempts,arguments,effective_arguments,\
                outcome";
    let line = format!(
        "{id},2023-11-14T22:13:20Z,{NOW},\"'@SUM(A1),\"\"x\"\"\r\nnext\",,,'=1+1,client,websocket,home,'-2,s-1/4,success,\
         ,,,grant:7,polite,night,60,30,20,10,1,\"{{\"\"say\"\":\"\"a, b\"\"}}\",\
         \"{{\"\"say\"\":\"\"a changed word\"\"}}\",\"{{\"\"status\"\":\"\"success\"\",\"\"result\"\":\"\"said\"\"}}\""
    );
    assert_eq!(answer.body, format!("{head}\r\n{line}\r\n"));
    let empty = bench.send_as_owner("GET", "/api/calls/export?format=csv&agent=none", None).await;
    assert_eq!(empty.body, format!("{head}\r\n"));
}

/// Requests an export and reads only the head of the response.
async fn start_stalled_export(bench: &GatewayHarness, token: &str) -> TcpStream {
    let mut stream = TcpStream::connect(bench.address()).await.unwrap();
    let request =
        format!("GET /api/calls/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    stream
}

/// Reads to the end. Returns the size and whether the response was complete.
async fn read_rest(mut stream: TcpStream) -> (usize, bool) {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    // An incomplete response may also end in a reset.
    let _ = tokio::time::timeout(Duration::from_secs(30), reading).await.expect("an end in time");
    (bytes.len(), bytes.ends_with(b"\r\n0\r\n\r\n"))
}

const LARGE: usize = 48;

fn record_large(bench: &GatewayHarness, principal: &str) {
    for number in 0..LARGE {
        record(bench, closed(opened(&format!("large{number}"), principal), success(&"x".repeat(1_000_000))));
    }
}

#[tokio::test]
async fn an_export_waits_for_its_reader_and_ends_with_it() {
    let bench = GatewayHarness::with(json!({"limits": {"sse_streams": 1}})).await;
    record_large(&bench, "owner");
    let stream = start_stalled_export(&bench, &bench.owner).await;
    // It is running while nobody reads: the data does not fit into the buffers.
    let second = bench.send_as_owner("GET", "/api/calls/export", None).await;
    assert_eq!((second.status, second.code().as_str()), (429, "too_many_streams"));
    // Other requests are served meanwhile.
    assert_eq!(bench.send_as_owner("GET", "/api/calls?limit=1", None).await.status, 200);
    drop(stream);
    let mut tries = 0;
    loop {
        let again = bench.send_as_owner("GET", "/api/calls/export", None).await;
        if again.status == 200 {
            assert_eq!(lines(&again).len(), LARGE);
            return;
        }
        tries += 1;
        assert!(tries < 1000, "{again:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_export_stops_when_its_token_ends() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await;
    record_large(&bench, &client.id);
    let stream = start_stalled_export(&bench, &client.token).await;
    assert_eq!(bench.send_as_owner("DELETE", &format!("/api/tokens/{}", client.id), None).await.status, 200);
    let (bytes, whole) = read_rest(stream).await;
    assert!(!whole && bytes < LARGE * 1_000_000, "{bytes}");
}

#[tokio::test]
async fn one_call_or_all_matching_calls_can_be_removed() {
    let bench = GatewayHarness::new().await;
    let client = bench.create_token("client").await;
    let one = record(&bench, closed(opened("one", &client.id), success("ok")));
    let path = format!("/api/calls/{one}");
    // The caller may not remove it: records belong to the owner.
    assert_eq!(bench.send("DELETE", &path, Some(&client.token), None).await.status, 403);
    let gone = bench.send_as_owner("DELETE", &path, None).await;
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    let again = bench.send_as_owner("DELETE", &path, None).await;
    assert_eq!((again.status, again.code().as_str()), (404, "call_not_found"));
    assert_eq!(bench.send_as_owner("DELETE", "/api/calls/nonsense", None).await.status, 404);

    let running = Arc::new(opened("running", "owner"));
    drop(bench.gateway.app().store.recorder().open(Arc::clone(&running)));
    let refused = bench.send_as_owner("DELETE", &format!("/api/calls/{}", running.id), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "call_running"));

    record(&bench, call_with_arguments(&client.id));
    record(&bench, closed(opened("mine", &client.id), success("my secret")));
    record(&bench, closed(opened("theirs", "owner"), success("their secret")));
    let before = NOW + 1;
    let purge = async |body: Value| {
        let answer = bench.send_as_owner("POST", "/api/calls/purge", Some(body)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["removed"].clone()
    };
    assert_eq!(purge(json!({"before_ms": NOW, "session_id": "s-1"})).await, 0);
    assert_eq!(purge(json!({"before_ms": before, "session_id": "s-1"})).await, 1);
    assert_eq!(purge(json!({"before_ms": before, "principal": client.id, "search": "SECRET"})).await, 1);
    assert_eq!(listed(&bench, &bench.owner, "").await, ["theirs", "running"]);
    for body in [json!({}), json!({"session_id": "s-1"}), json!({"before_ms": before, "status": "odd"})] {
        let refused = bench.send_as_owner("POST", "/api/calls/purge", Some(body)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"));
    }
    assert_eq!(purge(json!({"before_ms": before})).await, 1);
    assert_eq!(listed(&bench, &bench.owner, "").await, ["running"]);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "only its form counts")]
struct LoginArguments {
    password: String,
    who: String,
}

/// Calls are recorded with secrets already masked, so no output contains them.
#[tokio::test]
async fn redacted_values_stay_redacted_in_every_form() {
    let bench = GatewayHarness::new().await;
    let body = json!({"args": {"password": "hunter2", "who": "me"}});
    let login = ToolBuilder::new("login", "Signs in")
        .build(async |_: LoginArguments, _| Ok(ToolOutput::text("in")))
        .unwrap();
    let lease = bench.gateway.app().registry.lease("desk".parse().unwrap(), SourceRetention::Nothing);
    lease.replace(vec![login]);
    let called = bench.send_as_owner("POST", "/api/tools/desk__login/call", Some(body)).await;
    assert_eq!(called.json()["status"], "success", "{called:?}");
    for path in ["/api/calls/export", "/api/calls/export?format=csv", "/api/calls/export?search=login"] {
        let answer = bench.send_as_owner("GET", path, None).await;
        assert!(answer.body.contains("[redacted]") && !answer.body.contains("hunter2"), "{answer:?}");
    }
    assert_eq!(listed(&bench, &bench.owner, "search=hunter2").await, [""; 0]);
    assert_eq!(listed(&bench, &bench.owner, "search=redacted").await, ["desk__login"]);
}

#[tokio::test]
async fn streams_of_one_client_leave_streams_to_others_and_to_the_owner() {
    let limits = json!({"limits": {"sse_streams": 8, "sse_streams_per_principal": 4}});
    let bench = GatewayHarness::with(limits).await;
    let [greedy, other, third] = [
        bench.create_token("client").await,
        bench.create_token("client").await,
        bench.create_token("client").await,
    ];
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(SseTestReader::open(&bench, "GET", "/api/calls/tail", &greedy.token, None).await);
    }
    let refused = bench.send("GET", "/api/calls/tail", Some(&greedy.token), None).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_streams"));
    let error = refused.json()["error"].clone();
    assert_eq!(error["message"], "this token has 4 event streams open already");
    assert_eq!(error["hint"], "close one; the limit is the setting limits.sse_streams_per_principal");
    // The same for every kind of stream.
    let export = bench.send("GET", "/api/calls/export", Some(&greedy.token), None).await;
    assert_eq!((export.status, export.code().as_str()), (429, "too_many_streams"));

    for _ in 0..2 {
        open.push(SseTestReader::open(&bench, "GET", "/api/calls/tail", &other.token, None).await);
    }
    let refused = bench.send("GET", "/api/calls/tail", Some(&third.token), None).await;
    assert_eq!(refused.json()["error"]["message"], "6 event streams are open already", "two are the owner's");
    let _watch = SseTestReader::watch(&bench).await;
    assert_eq!(bench.send_as_owner("GET", "/api/calls/export", None).await.status, 200);
}
