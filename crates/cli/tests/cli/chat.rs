//! Tests of `toolway chat` against a scripted server.

use serde_json::{Value, json};

use crate::loopback::{CannedReply, FakeGateway, GatewayRequest, StreamStep};
use crate::support::{CliHarness, CommandOutput, file_mode};
use crate::terminal::TerminalHarness;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn started() -> StreamStep {
    let about = json!({"session_id": "s-1", "agent": "default", "resumed": false, "message_count": 0});
    StreamStep::Event("session_start", about)
}

fn chunk(text: &str) -> StreamStep {
    StreamStep::Event("chunk", json!({ "content": text }))
}

fn done(text: &str) -> StreamStep {
    let usage = json!({"input": 1200, "output": 7, "cached": null, "reasoning": null});
    StreamStep::Event(
        "done",
        json!({"full_response": text, "usage": usage, "cost": 0.002, "currency": "USD"}),
    )
}

/// Starts a server whose turns consist of these steps. It answers all other requests like a gateway.
fn turn_server(steps: Vec<StreamStep>) -> FakeGateway {
    FakeGateway::start(move |request| match request.path.split('?').next().unwrap() {
        "/api/chat" => CannedReply::Events(steps.clone()),
        path => reply_to(request, path),
    })
}

fn reply_to(request: &GatewayRequest, path: &str) -> CannedReply {
    let agent = json!({"name": "default", "description": "Answers", "tools": ["*/*"], "origin": {"kind": "built_in"}});
    match path {
        "/api/agents" => CannedReply::Json(200, json!({ "agents": [agent] })),
        "/api/agents/default" => CannedReply::Json(200, agent),
        "/api/tools" => CannedReply::Json(
            200,
            json!({"tools": [
                {"name": "get_current_time", "id": "builtin/get_current_time", "source": "builtin", "description": "The time"},
            ]}),
        ),
        "/api/models" => CannedReply::Json(200, json!({"models": [{"name": "home", "model": "small"}]})),
        "/api/sessions/s-1/abort" => CannedReply::Json(200, json!({"status": "aborting"})),
        "/api/sessions/s-1/export" => CannedReply::Text("# A talk\n".to_owned()),
        "/api/sessions/s-1" => CannedReply::Json(
            200,
            json!({
                "id": "s-1", "title": "A talk", "agent": "default", "principal": "owner", "created_ms": 0, "updated_ms": 0,
                "message_count": 2, "running": false, "messages": [
                    {"seq": 1, "role": "user", "created_ms": 0, "parts": [{"type": "text", "text": "What was it?"}]},
                    {"seq": 2, "role": "assistant", "created_ms": 0, "parts": [{"type": "text", "text": "It was **this**."}]},
                ],
            }),
        ),
        "/api/sessions" => CannedReply::Json(
            200,
            json!({"sessions": [
                {"id": "s-1", "title": "A talk", "agent": "default", "updated_ms": 0, "message_count": 2, "running": false},
            ]}),
        ),
        "/api/approvals/q-1" => CannedReply::Json(200, json!({})),
        _ => CannedReply::Json(
            404,
            json!({"error": {"code": "not_found", "message": format!("{} {path}", request.method)}}),
        ),
    }
}

fn arguments<'a>(flags: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    ["chat"].iter().chain(more).copied().chain(flags.iter().map(String::as_str)).collect()
}

/// Sends one message without a terminal.
fn run_once(server: &FakeGateway, folder: &CliHarness, more: &[&str]) -> CommandOutput {
    folder.run(arguments(&server.connect_flags(folder), more))
}

/// Starts a chat at a terminal without colours, so that the output can be compared.
fn start_chat(server: &FakeGateway, folder: &CliHarness, more: &[&str], size: (u16, u16)) -> TerminalHarness {
    let flags = server.connect_flags(folder);
    TerminalHarness::start_sized(folder, &arguments(&flags, more), &[("NO_COLOR", "1")], size)
}

#[test]
fn a_pipe_gets_only_the_answer() {
    let folder = CliHarness::new();
    let server = turn_server(vec![
        started(),
        StreamStep::Event("thinking", json!({"content": "hm"})),
        chunk("Wro"),
        StreamStep::Event("chunk_reset", json!({})),
        chunk("It is "),
        StreamStep::Event("tool_call", json!({"id": "1", "name": "t", "args": {}})),
        StreamStep::Event(
            "tool_result",
            json!({"id": "1", "name": "t", "status": "success", "result": "12", "duration_ms": 1}),
        ),
        chunk("**noon**."),
        done("It is **noon**."),
    ]);
    let ended = run_once(&server, &folder, &["What time is it?", "--agent", "default"]).assert_success();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("It is **noon**.\n", ""));
    let asked = server.wait_for_request("POST", "/api/chat").json();
    assert_eq!(asked, json!({"agent": "default", "content": "What time is it?"}));
}

#[test]
fn a_prompt_is_read_from_a_pipe() {
    let folder = CliHarness::new();
    let server = turn_server(vec![started(), done("ok")]);
    let flags = server.connect_flags(&folder);
    folder.run_with_input(&arguments(&flags, &[]), " from a pipe \n").assert_success();
    assert_eq!(server.wait_for_request("POST", "/api/chat").json()["content"], "from a pipe");
    folder.run_with_input(&arguments(&flags, &["Review this:"]), "a diff\n").assert_success();
    assert_eq!(server.wait_for_request("POST", "/api/chat").json()["content"], "Review this:\n\na diff");
    folder.run_with_input(&arguments(&flags, &[]), " \n").assert_failure(2, "the prompt is empty");
}

#[test]
fn every_event_is_a_line_of_json() {
    let folder = CliHarness::new();
    let server = turn_server(vec![
        started(),
        chunk("a"),
        StreamStep::Event("notice", json!({"code": "budget", "message": "m"})),
        StreamStep::Event("something_new", json!({"x": 1.0})),
        done("a"),
    ]);
    let ended = run_once(&server, &folder, &["--json", "hi"]).assert_success();
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session_start", "chunk", "notice", "something_new", "done"]);
    assert_eq!(lines[4]["usage"]["input"], 1200);
    assert!(ended.stdout.contains(r#""x":1.0"#), "numbers stay as they came");
}

#[test]
fn a_failed_turn_fails_the_command_after_printing_its_text() {
    let folder = CliHarness::new();
    let error = json!({"code": "PROVIDER_ERROR", "message": "the provider went away", "hint": "try again"});
    let server = turn_server(vec![started(), chunk("Half an ans"), StreamStep::Event("error", error)]);
    let ended = run_once(&server, &folder, &["hi"]).assert_failure(1, "the provider went away");
    assert_eq!(ended.stdout, "Half an ans\n");
    assert!(ended.stderr.contains("hint: try again"), "{ended:?}");
    let ended = run_once(&server, &folder, &["hi", "--json"]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.stderr, "", "the last line said it");

    let server = turn_server(vec![
        started(),
        StreamStep::Event("error", json!({"code": "NO_MODEL", "message": "no model is set up"})),
    ]);
    run_once(&server, &folder, &["hi"]).assert_failure(1, "toolway models add");
}

#[test]
fn an_interrupted_answer_is_an_error() {
    let folder = CliHarness::new();
    let server = turn_server(vec![started(), chunk("Half"), StreamStep::Cut]);
    let ended = run_once(&server, &folder, &["hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.contains("connection"), "{ended:?}");
    // The response ends normally, but the turn does not.
    let server = turn_server(vec![started(), chunk("Half")]);
    run_once(&server, &folder, &["hi"]).assert_failure(1, "toolway chat --session s-1");
}

#[test]
fn errors_of_the_gateway_are_printed() {
    let folder = CliHarness::new();
    let server = FakeGateway::start(|_| {
        let error = json!({"code": "agent_not_found", "message": "there is no agent \"cok\"", "hint": "did you mean cook?"});
        CannedReply::Json(404, json!({ "error": error }))
    });
    let ended =
        run_once(&server, &folder, &["hi", "--agent", "cok"]).assert_failure(1, "there is no agent \"cok\"");
    assert!(ended.stderr.contains("did you mean cook?"), "{ended:?}");
}

#[test]
fn files_are_attached_to_the_message() {
    let folder = CliHarness::new();
    let server = turn_server(vec![started(), done("ok")]);
    let (picture, text) = (folder.sibling_path("cat.png"), folder.sibling_path("notes.txt"));
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(&text, "milk\n").unwrap();
    let attach = ["What is it?", "--attach", picture.to_str().unwrap(), "--attach", text.to_str().unwrap()];
    run_once(&server, &folder, &attach).assert_success();
    assert_eq!(
        server.wait_for_request("POST", "/api/chat").json(),
        json!({
            "content": "notes.txt:\n```\nmilk\n```\n\nWhat is it?",
            "attachments": [{"type": "image", "data": "iVBORw0KGgpyZXN0", "mimeType": "image/png"}],
        })
    );
    let missing = folder.sibling_path("missing.png");
    run_once(&server, &folder, &["hi", "--attach", missing.to_str().unwrap()])
        .assert_failure(1, "missing.png");
}

#[test]
fn an_interactive_chat_works_at_a_terminal() {
    let folder = CliHarness::new();
    let server = turn_server(vec![
        started(),
        chunk("# Time\n\nIt is"),
        StreamStep::Event(
            "tool_call",
            json!({"id": "1", "name": "get_current_time", "args": {"timezone": "UTC"}}),
        ),
        StreamStep::Event(
            "tool_result",
            json!({"id": "1", "name": "get_current_time", "status": "success", "result": "12:00", "duration_ms": 3}),
        ),
        chunk("\n\n*noon*.\u{1b}[2J"),
        done("…"),
    ]);
    let mut talk = start_chat(&server, &folder, &[], (0, 0));
    talk.wait_for_text("Chatting with default");
    talk.wait_for_text("default> ");
    talk.press_keys("What time is it?\r");
    talk.wait_for_text("# Time");
    talk.wait_for_text("✓ get_current_time {\"timezone\":\"UTC\"}  3.0 ms");
    talk.wait_for_text("*noon*.\\u{1b}[2J");
    talk.wait_for_text("1,200 tokens in, 7 out, 0.0020 USD");
    assert_eq!(
        server.wait_for_request("POST", "/api/chat").json(),
        json!({"content": "What time is it?", "interactive": true})
    );
    talk.wait_for_text("default> ");
    talk.press_keys("first \\\rsecond\r");
    talk.wait_for_text("tokens in");
    assert_eq!(
        server.wait_for_request("POST", "/api/chat").json(),
        json!({"session_id": "s-1", "content": "first \nsecond", "interactive": true})
    );
    talk.wait_for_text("default> ");
    talk.press_keys("/retry\r");
    talk.wait_for_text("tokens in");
    assert_eq!(
        server.wait_for_request("POST", "/api/chat").json(),
        json!({"session_id": "s-1", "regenerate": true, "interactive": true})
    );
    talk.wait_for_text("default> ");
    talk.press_keys(CTRL_D);
    let (code, _) = talk.wait_for_exit();
    assert_eq!(code, 0);
    let history = folder.file("chat.history");
    assert_eq!(file_mode(&history), 0o600);
    let kept = std::fs::read_to_string(history).unwrap();
    assert!(kept.contains("What time is it?") && kept.contains("/retry"), "{kept}");
}

#[test]
fn chat_commands_work() {
    let folder = CliHarness::new();
    let server = turn_server(vec![started(), done("ok")]);
    let mut talk = start_chat(&server, &folder, &["--session", "last"], (0, 0));
    talk.wait_for_text("continuing A talk (2 messages, agent default)");
    talk.wait_for_text("> What was it?");
    talk.wait_for_text("It was **this**.");
    for (typed, shown) in [
        ("/help", "/sessions [ID]"),
        ("/tools", "get_current_time"),
        ("/agent", "default *"),
        ("/agent default", "switched to default"),
        ("/model", "default uses home/small, the first model"),
        ("/sessions", "A talk"),
        ("/export", "# A talk"),
        ("/nothing", "unknown command /nothing"),
        ("/new", "started a new conversation"),
        ("/export", "the conversation is empty"),
        ("/agent gone", "error: GET /api/agents/gone"),
    ] {
        talk.wait_for_text("default> ");
        talk.press_keys(&format!("{typed}\r"));
        talk.wait_for_text(shown);
    }
    let exported = folder.sibling_path("talk.md");
    talk.wait_for_text("default> ");
    talk.press_keys("/sessions s-1\r");
    talk.wait_for_text("continuing A talk");
    talk.wait_for_text("default> ");
    talk.press_keys(&format!("/export {}\r", exported.display()));
    talk.wait_for_text("wrote ");
    assert_eq!(std::fs::read_to_string(&exported).unwrap(), "# A talk\n");
    talk.wait_for_text("default> ");
    talk.press_keys("/quit\r");
    assert_eq!(talk.wait_for_exit().0, 0);
}

#[test]
fn lines_are_updated_in_place_if_the_terminal_supports_it() {
    let folder = CliHarness::new();
    let server = turn_server(vec![
        started(),
        chunk("one two"),
        StreamStep::Gate("more"),
        chunk(" three\n\n- four\n"),
        StreamStep::Event("tool_call", json!({"id": "1", "name": "slow", "args": {}})),
        StreamStep::Event(
            "tool_progress",
            json!({"id": "1", "name": "slow", "progress": 0.5, "message": "half"}),
        ),
        StreamStep::Gate("end"),
        StreamStep::Event(
            "tool_result",
            json!({"id": "1", "name": "slow", "status": "error", "code": "timeout", "duration_ms": 2}),
        ),
        done("…"),
    ]);
    let mut talk = start_chat(&server, &folder, &["hello"], (40, 10));
    // The preview is shown, and removed with the final text.
    talk.wait_for_text("\r\u{1b}[Jone two");
    server.open_gate("more");
    talk.wait_for_text("\r\u{1b}[Jone two three");
    talk.wait_for_text("- four");
    talk.wait_for_text("… slow  50 %  half");
    server.open_gate("end");
    talk.wait_for_text("\r\u{1b}[J✗ slow  2.0 ms  timeout");
    let (code, shown) = talk.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("1,200 tokens in"), "{shown}");
}

#[test]
fn ctrl_c_stops_the_turn_and_a_second_one_quits() {
    let folder = CliHarness::new();
    let steps = vec![
        started(),
        chunk("Once upon a time\n\nthere was\n"),
        StreamStep::Gate("aborted"),
        StreamStep::Event("aborted", json!({})),
    ];
    let server = turn_server(steps.clone());
    let mut talking = start_chat(&server, &folder, &[], (0, 0));
    talking.wait_for_text("default> ");
    talking.press_keys("Tell me a story\r");
    talking.wait_for_text("Once upon a time");
    talking.interrupt();
    server.wait_for_request("POST", "/api/sessions/s-1/abort");
    server.open_gate("aborted");
    talking.wait_for_text("there was");
    talking.wait_for_text("(stopped)");
    talking.wait_for_text("default> ");
    talking.press_keys(CTRL_C);
    assert_eq!(talking.wait_for_exit().0, 0, "the second one quits");

    // The turn never ends by itself.
    let server = turn_server(steps);
    let mut talking = start_chat(&server, &folder, &[], (0, 0));
    talking.wait_for_text("default> ");
    talking.press_keys(CTRL_C);
    talking.wait_for_text("press Ctrl-C again");
    talking.wait_for_text("default> ");
    talking.press_keys("Tell me a story\r");
    talking.wait_for_text("Once upon a time");
    talking.interrupt();
    server.wait_for_request("POST", "/api/sessions/s-1/abort");
    talking.interrupt();
    let (code, shown) = talking.wait_for_exit();
    assert_eq!(code, 1, "{shown}");
    assert!(
        shown.contains("the turn may still run in the gateway") && shown.contains("--session s-1"),
        "{shown}"
    );
}

#[test]
fn approvals_are_answered_in_the_chat() {
    let folder = CliHarness::new();
    let question = json!({
        "id": "q-1", "kind": "approval", "changed_tool": false, "call_id": "1", "tool": "t", "tool_id": "own/t",
        "principal": "owner", "agent": "default", "session_id": "s-1", "reason": "calls of own/t wait for approval",
        "arguments": {"a": 1}, "caller_may_answer": true, "created_ms": 0, "expires_ms": 4_000_000_000_000_i64,
    });
    let over = json!({"id": "q-1", "resolution": "answered", "decision": "granted", "scope": "session", "answered_by": "owner"});
    let server = turn_server(vec![
        started(),
        chunk("Let me."),
        StreamStep::Event("tool_call", json!({"id": "1", "name": "t", "args": {"a": 1}})),
        StreamStep::Event("approval_requested", question),
        StreamStep::Gate("answered"),
        StreamStep::Event("approval_resolved", over),
        StreamStep::Event(
            "tool_result",
            json!({"id": "1", "name": "t", "status": "success", "result": "x", "duration_ms": 1}),
        ),
        done("Let me."),
    ]);
    let mut talk = start_chat(&server, &folder, &[], (80, 24));
    talk.wait_for_text("default> ");
    talk.press_keys("Do it\r");
    talk.wait_for_text("Let me.");
    talk.wait_for_text("? calls of own/t wait for approval");
    talk.wait_for_text("[g]rant once, for this [s]ession, for this agen[t], [a]lways, [d]eny, [n]ever?");
    talk.type_answer("s", "own/t: granted for the session");
    assert_eq!(
        server.wait_for_request("POST", "/api/approvals/q-1").json(),
        json!({"decision": "granted", "scope": "session"})
    );
    server.open_gate("answered");
    talk.wait_for_text("✓ t {\"a\":1}  1.0 ms");
    talk.wait_for_text("default> ");
    // The prompt reads the keyboard again.
    talk.press_keys("/help\r");
    talk.wait_for_text("/sessions [ID]");
    talk.wait_for_text("default> ");
    talk.press_keys(CTRL_D);
    assert_eq!(talk.wait_for_exit().0, 0);
}

#[test]
fn without_a_terminal_the_prompt_is_required() {
    let folder = CliHarness::new();
    let server = turn_server(Vec::new());
    run_once(&server, &folder, &[]).assert_failure(2, "the prompt is empty");
    let flags = server.connect_flags(&folder);
    let mut json = TerminalHarness::start(&folder, &arguments(&flags, &["--json"]), &[]);
    json.wait_for_text("the prompt is missing");
    assert_eq!(json.wait_for_exit().0, 2);
}
