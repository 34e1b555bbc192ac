//! Talking to an agent, with a server in the gateway's place that says what a test wants said.

use serde_json::{Value, json};

use crate::loopback::{Loopback, Reply, Request, Step};
use crate::support::{Ended, Folder, mode};
use crate::terminal::Terminal;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

fn started() -> Step {
    let about = json!({"session_id": "s-1", "agent": "default", "resumed": false, "message_count": 0});
    Step::Event("session_start", about)
}

fn chunk(text: &str) -> Step {
    Step::Event("chunk", json!({ "content": text }))
}

fn done(text: &str) -> Step {
    let usage = json!({"input": 1200, "output": 7, "cached": null, "reasoning": null});
    Step::Event("done", json!({"full_response": text, "usage": usage, "cost": 0.002, "currency": "USD"}))
}

/// A server whose turns are these steps; everything else that a conversation asks for is answered as a gateway would.
fn turns(steps: Vec<Step>) -> Loopback {
    Loopback::start(move |request| match request.path.split('?').next().unwrap() {
        "/api/chat" => Reply::Events(steps.clone()),
        path => about(request, path),
    })
}

fn about(request: &Request, path: &str) -> Reply {
    let agent = json!({"name": "default", "description": "Answers", "tools": ["*/*"], "origin": {"kind": "built_in"}});
    match path {
        "/api/agents" => Reply::Json(200, json!({ "agents": [agent] })),
        "/api/agents/default" => Reply::Json(200, agent),
        "/api/tools" => Reply::Json(
            200,
            json!({"tools": [
                {"name": "get_current_time", "id": "builtin/get_current_time", "source": "builtin", "description": "The time"},
            ]}),
        ),
        "/api/sessions/s-1/abort" => Reply::Json(200, json!({"status": "aborting"})),
        "/api/sessions/s-1/export" => Reply::Text("# A talk\n".to_owned()),
        "/api/sessions/s-1" => Reply::Json(
            200,
            json!({
                "id": "s-1", "title": "A talk", "agent": "default", "principal": "owner", "created_ms": 0, "updated_ms": 0,
                "messages": 2, "running": false, "history": [
                    {"seq": 1, "role": "user", "created_ms": 0, "parts": [{"type": "text", "text": "What was it?"}]},
                    {"seq": 2, "role": "assistant", "created_ms": 0, "parts": [{"type": "text", "text": "It was **this**."}]},
                ],
            }),
        ),
        "/api/sessions" => Reply::Json(
            200,
            json!({"sessions": [
                {"id": "s-1", "title": "A talk", "agent": "default", "updated_ms": 0, "messages": 2, "running": false},
            ]}),
        ),
        "/api/approvals/q-1" => Reply::Json(200, json!({})),
        _ => Reply::Json(
            404,
            json!({"error": {"code": "not_found", "message": format!("{} {path}", request.method)}}),
        ),
    }
}

fn arguments<'a>(flags: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    ["chat"].iter().chain(more).copied().chain(flags.iter().map(String::as_str)).collect()
}

/// One message and its answer, where nobody sits at a terminal.
fn once(server: &Loopback, folder: &Folder, more: &[&str]) -> Ended {
    folder.run(arguments(&server.flags(folder), more))
}

/// A conversation at a terminal, without colours, so that what is shown can be compared.
fn talk(server: &Loopback, folder: &Folder, more: &[&str], size: (u16, u16)) -> Terminal {
    let flags = server.flags(folder);
    Terminal::start_sized(folder, &arguments(&flags, more), &[("NO_COLOR", "1")], size)
}

#[test]
fn a_pipe_gets_the_answer_and_nothing_else() {
    let folder = Folder::new();
    let server = turns(vec![
        started(),
        Step::Event("thinking", json!({"content": "hm"})),
        chunk("Wro"),
        Step::Event("chunk_reset", json!({})),
        chunk("It is "),
        Step::Event("tool_call", json!({"id": "1", "name": "t", "args": {}})),
        Step::Event(
            "tool_result",
            json!({"id": "1", "name": "t", "status": "success", "result": "12", "duration_ms": 1}),
        ),
        chunk("**noon**."),
        done("It is **noon**."),
    ]);
    let ended = once(&server, &folder, &["What time is it?", "--agent", "default"]).done();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("It is **noon**.\n", ""));
    let asked = server.seen("POST", "/api/chat").json();
    assert_eq!(asked, json!({"agent": "default", "content": "What time is it?"}));
}

#[test]
fn a_prompt_comes_from_a_pipe_too() {
    let folder = Folder::new();
    let server = turns(vec![started(), done("ok")]);
    let flags = server.flags(&folder);
    folder.run_with_input(&arguments(&flags, &[]), " from a pipe \n").done();
    assert_eq!(server.seen("POST", "/api/chat").json()["content"], "from a pipe");
    folder.run_with_input(&arguments(&flags, &["Review this:"]), "a diff\n").done();
    assert_eq!(server.seen("POST", "/api/chat").json()["content"], "Review this:\n\na diff");
    folder.run_with_input(&arguments(&flags, &[]), " \n").failed(2, "the prompt is empty");
}

#[test]
fn every_event_is_a_line_of_json() {
    let folder = Folder::new();
    let server = turns(vec![
        started(),
        chunk("a"),
        Step::Event("notice", json!({"code": "budget", "message": "m"})),
        Step::Event("something_new", json!({"x": 1.0})),
        done("a"),
    ]);
    let ended = once(&server, &folder, &["--json", "hi"]).done();
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session_start", "chunk", "notice", "something_new", "done"]);
    assert_eq!(lines[4]["usage"]["input"], 1200);
    assert!(ended.stdout.contains(r#""x":1.0"#), "numbers stay as they came");
}

#[test]
fn a_turn_that_fails_fails_the_command_and_what_was_said_stays() {
    let folder = Folder::new();
    let error = json!({"code": "PROVIDER_ERROR", "message": "the provider went away", "hint": "try again"});
    let server = turns(vec![started(), chunk("Half an ans"), Step::Event("error", error)]);
    let ended = once(&server, &folder, &["hi"]).failed(1, "the provider went away");
    assert_eq!(ended.stdout, "Half an ans\n");
    assert!(ended.stderr.contains("hint: try again"), "{ended:?}");
    let ended = once(&server, &folder, &["hi", "--json"]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.stderr, "", "the last line said it");

    let server = turns(vec![
        started(),
        Step::Event("error", json!({"code": "NO_MODEL", "message": "no model is set up"})),
    ]);
    once(&server, &folder, &["hi"]).failed(1, "toolway models add");
}

#[test]
fn an_answer_that_breaks_off_is_not_taken_for_whole() {
    let folder = Folder::new();
    let server = turns(vec![started(), chunk("Half"), Step::Cut]);
    let ended = once(&server, &folder, &["hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.contains("connection"), "{ended:?}");
    // Ended as an answer is, but not as a turn is.
    let server = turns(vec![started(), chunk("Half")]);
    once(&server, &folder, &["hi"]).failed(1, "toolway chat --session s-1");
}

#[test]
fn what_the_gateway_refuses_is_said_in_its_words() {
    let folder = Folder::new();
    let server = Loopback::start(|_| {
        let error = json!({"code": "agent_unknown", "message": "there is no agent \"cok\"", "hint": "did you mean cook?"});
        Reply::Json(404, json!({ "error": error }))
    });
    let ended = once(&server, &folder, &["hi", "--agent", "cok"]).failed(1, "there is no agent \"cok\"");
    assert!(ended.stderr.contains("did you mean cook?"), "{ended:?}");
}

#[test]
fn files_go_with_the_message() {
    let folder = Folder::new();
    let server = turns(vec![started(), done("ok")]);
    let (picture, text) = (folder.beside("cat.png"), folder.beside("notes.txt"));
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(&text, "milk\n").unwrap();
    let attach = ["What is it?", "--attach", picture.to_str().unwrap(), "--attach", text.to_str().unwrap()];
    once(&server, &folder, &attach).done();
    assert_eq!(
        server.seen("POST", "/api/chat").json(),
        json!({
            "content": "notes.txt:\n```\nmilk\n```\n\nWhat is it?",
            "attachments": [{"type": "image", "data": "iVBORw0KGgpyZXN0", "mimeType": "image/png"}],
        })
    );
    let missing = folder.beside("missing.png");
    once(&server, &folder, &["hi", "--attach", missing.to_str().unwrap()]).failed(1, "missing.png");
}

#[test]
fn a_conversation_is_held_at_a_terminal() {
    let folder = Folder::new();
    let server = turns(vec![
        started(),
        chunk("# Time\n\nIt is"),
        Step::Event("tool_call", json!({"id": "1", "name": "get_current_time", "args": {"timezone": "UTC"}})),
        Step::Event(
            "tool_result",
            json!({"id": "1", "name": "get_current_time", "status": "success", "result": "12:00", "duration_ms": 3}),
        ),
        chunk("\n\n*noon*.\u{1b}[2J"),
        done("…"),
    ]);
    let mut talk = talk(&server, &folder, &[], (0, 0));
    talk.says("You talk to default");
    talk.says("default> ");
    talk.presses("What time is it?\r");
    talk.says("# Time");
    talk.says("✓ get_current_time {\"timezone\":\"UTC\"}  3.0 ms");
    talk.says("*noon*.\\u{1b}[2J");
    talk.says("1,200 tokens in, 7 out, 0.0020 USD");
    assert_eq!(server.seen("POST", "/api/chat").json(), json!({"content": "What time is it?", "ask": true}));
    talk.says("default> ");
    talk.presses("first \\\rsecond\r");
    talk.says("tokens in");
    assert_eq!(
        server.seen("POST", "/api/chat").json(),
        json!({"session_id": "s-1", "content": "first \nsecond", "ask": true})
    );
    talk.says("default> ");
    talk.presses("/retry\r");
    talk.says("tokens in");
    assert_eq!(
        server.seen("POST", "/api/chat").json(),
        json!({"session_id": "s-1", "regenerate": true, "ask": true})
    );
    talk.says("default> ");
    talk.presses(CTRL_D);
    let (code, _) = talk.end();
    assert_eq!(code, 0);
    let history = folder.file("chat.history");
    assert_eq!(mode(&history), 0o600);
    let kept = std::fs::read_to_string(history).unwrap();
    assert!(kept.contains("What time is it?") && kept.contains("/retry"), "{kept}");
}

#[test]
fn commands_do_what_they_say() {
    let folder = Folder::new();
    let server = turns(vec![started(), done("ok")]);
    let mut talk = talk(&server, &folder, &["--session", "last"], (0, 0));
    talk.says("going on with A talk (2 messages, agent default)");
    talk.says("> What was it?");
    talk.says("It was **this**.");
    for (typed, shown) in [
        ("/help", "/sessions [ID]"),
        ("/tools", "get_current_time"),
        ("/agent", "default *"),
        ("/agent default", "you talk to default from now on"),
        ("/model", "default answers with the model that was added first"),
        ("/sessions", "A talk"),
        ("/export", "# A talk"),
        ("/nothing", "there is no command /nothing"),
        ("/new", "a new conversation begins"),
        ("/export", "nothing was said yet"),
        ("/agent gone", "error: GET /api/agents/gone"),
    ] {
        talk.says("default> ");
        talk.presses(&format!("{typed}\r"));
        talk.says(shown);
    }
    let exported = folder.beside("talk.md");
    talk.says("default> ");
    talk.presses("/sessions s-1\r");
    talk.says("going on with A talk");
    talk.says("default> ");
    talk.presses(&format!("/export {}\r", exported.display()));
    talk.says("written to");
    assert_eq!(std::fs::read_to_string(&exported).unwrap(), "# A talk\n");
    talk.says("default> ");
    talk.presses("/quit\r");
    assert_eq!(talk.end().0, 0);
}

#[test]
fn lines_change_in_place_where_the_terminal_can() {
    let folder = Folder::new();
    let server = turns(vec![
        started(),
        chunk("one two"),
        Step::Gate("more"),
        chunk(" three\n\n- four\n"),
        Step::Event("tool_call", json!({"id": "1", "name": "slow", "args": {}})),
        Step::Event("tool_progress", json!({"id": "1", "name": "slow", "progress": 0.5, "message": "half"})),
        Step::Gate("end"),
        Step::Event(
            "tool_result",
            json!({"id": "1", "name": "slow", "status": "error", "code": "timeout", "duration_ms": 2}),
        ),
        done("…"),
    ]);
    let mut talk = talk(&server, &folder, &["hello"], (40, 10));
    // What is not finished is shown, and taken back with what takes its place.
    talk.says("\r\u{1b}[Jone two");
    server.open("more");
    talk.says("\r\u{1b}[Jone two three");
    talk.says("- four");
    talk.says("… slow  50 %  half");
    server.open("end");
    talk.says("\r\u{1b}[J✗ slow  2.0 ms  timeout");
    let (code, shown) = talk.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("1,200 tokens in"), "{shown}");
}

#[test]
fn ctrl_c_stops_the_turn_and_a_second_one_leaves() {
    let folder = Folder::new();
    let steps = vec![
        started(),
        chunk("Once upon a time\n\nthere was\n"),
        Step::Gate("aborted"),
        Step::Event("aborted", json!({})),
    ];
    let server = turns(steps.clone());
    let mut talking = talk(&server, &folder, &[], (0, 0));
    talking.says("default> ");
    talking.presses("Tell me a story\r");
    talking.says("Once upon a time");
    talking.interrupts();
    server.seen("POST", "/api/sessions/s-1/abort");
    server.open("aborted");
    talking.says("there was");
    talking.says("(stopped; what was said stays)");
    talking.says("default> ");
    talking.presses(CTRL_C);
    assert_eq!(talking.end().0, 0, "the second one leaves");

    // In the middle of a turn that does not end.
    let server = turns(steps);
    let mut talking = talk(&server, &folder, &[], (0, 0));
    talking.says("default> ");
    talking.presses(CTRL_C);
    talking.says("Ctrl-C once more leaves");
    talking.says("default> ");
    talking.presses("Tell me a story\r");
    talking.says("Once upon a time");
    talking.interrupts();
    server.seen("POST", "/api/sessions/s-1/abort");
    talking.interrupts();
    let (code, shown) = talking.end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("it may go on in the gateway") && shown.contains("--session s-1"), "{shown}");
}

#[test]
fn questions_are_answered_where_one_talks() {
    let folder = Folder::new();
    let question = json!({
        "id": "q-1", "kind": "approval", "changed_tool": false, "call_id": "1", "tool": "t", "tool_id": "own/t",
        "principal": "owner", "agent": "default", "session": "s-1", "reason": "calls of own/t wait for approval",
        "arguments": {"a": 1}, "caller_may_answer": true, "asked_ms": 0, "expires_ms": 4_000_000_000_000_i64,
    });
    let over =
        json!({"id": "q-1", "how": "answered", "decision": "granted", "scope": "session", "by": "owner"});
    let server = turns(vec![
        started(),
        chunk("Let me."),
        Step::Event("tool_call", json!({"id": "1", "name": "t", "args": {"a": 1}})),
        Step::Event("asked", question),
        Step::Gate("answered"),
        Step::Event("over", over),
        Step::Event(
            "tool_result",
            json!({"id": "1", "name": "t", "status": "success", "result": "x", "duration_ms": 1}),
        ),
        done("Let me."),
    ]);
    let mut talk = talk(&server, &folder, &[], (80, 24));
    talk.says("default> ");
    talk.presses("Do it\r");
    talk.says("Let me.");
    talk.says("? calls of own/t wait for approval");
    talk.says("[g]rant once, for this [s]ession, for this agen[t], [a]lways, [d]eny, [n]ever?");
    talk.answers("s", "own/t: granted for the session");
    assert_eq!(
        server.seen("POST", "/api/approvals/q-1").json(),
        json!({"decision": "granted", "scope": "session"})
    );
    server.open("answered");
    talk.says("✓ t {\"a\":1}  1.0 ms");
    talk.says("default> ");
    // The keyboard is the prompt's again.
    talk.presses("/help\r");
    talk.says("/sessions [ID]");
    talk.says("default> ");
    talk.presses(CTRL_D);
    assert_eq!(talk.end().0, 0);
}

#[test]
fn nobody_can_be_asked_for_a_prompt_without_a_terminal() {
    let folder = Folder::new();
    let server = turns(Vec::new());
    once(&server, &folder, &[]).failed(2, "the prompt is empty");
    let flags = server.flags(&folder);
    let mut json = Terminal::start(&folder, &arguments(&flags, &["--json"]), &[]);
    json.says("nobody who could be asked");
    assert_eq!(json.end().0, 2);
}
