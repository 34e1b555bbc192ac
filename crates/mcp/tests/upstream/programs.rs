//! Servers that are programs: started with what is stated, restarted, and ended with all that they started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::upstream::{ProtocolEra, TransportKind, UpstreamState};
use toolway_secrets::{NoSecrets, SecretError, SecretLocation, SecretReader};
use toolway_types::Code;

use crate::harness::{TIMEOUT, TestRequestingClient, UpstreamHarness, call, call_result};

/// A server in a few lines. It reads messages and answers those that it knows; `behaviour` stands before it does.
const SERVER: &str = r#"
import json, os, sys, time, signal, subprocess, threading

def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()

def answer(id, result):
    send({"jsonrpc": "2.0", "id": id, "result": result})

def text(said):
    return {"content": [{"type": "text", "text": said}]}

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in
         ["ask", "bad_json", "environment", "exit", "large", "logs", "pid", "progress", "raw", "silent", "slow", "twice"]]

def tool(id, name, params):
    token = params.get("_meta", {}).get("progressToken")
    if name == "pid":
        answer(id, text(str(os.getpid())))
    elif name == "environment":
        answer(id, text(json.dumps(dict(os.environ))))
    elif name == "exit":
        sys.stderr.write("going down\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "twice":
        answer(id, text("first"))
        answer(id, text("second"))
    elif name == "raw":
        written = params["arguments"]["written"].replace("ID", str(id))
        sys.stdout.buffer.write(written.encode("latin-1"))
        sys.stdout.buffer.flush()
    elif name == "bad_json":
        sys.stdout.write("this is no JSON\n{\"half\":\n\n")
        sys.stdout.flush()
        answer(id, text("after"))
    elif name == "large":
        sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(100):
            sys.stdout.write("x" * 1000000)
        sys.stdout.write('"}]}}\n')
        sys.stdout.flush()
    elif name == "progress":
        send({"jsonrpc": "2.0", "method": "notifications/progress",
              "params": {"progressToken": token, "progress": 1, "total": 2, "message": "half"}})
        answer(id, text("done"))
    elif name == "logs":
        send({"jsonrpc": "2.0", "method": "notifications/message",
              "params": {"level": "info", "data": "mine"}})
        answer(id, text("done"))
    elif name == "ask":
        send({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
              "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}})
        WAITING.append(id)
    elif name == "slow":
        threading.Timer(0.3, lambda: answer(id, text("slow"))).start()

WAITING = []

def serve(line):
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "initialize":
        answer(id, {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "script", "version": "1"}})
    elif method == "tools/list":
        answer(id, {"tools": TOOLS})
    elif method == "tools/call":
        tool(id, params["name"], params)
    elif method == "server/discover":
        discover(id)
    elif id == "q1" and method is None:
        answer(WAITING.pop(), text(json.dumps(message.get("result", message.get("error")))))
    elif method == "notifications/cancelled":
        sys.stderr.write("cancelled %s\n" % params["requestId"])
        sys.stderr.flush()

def discover(id):
    send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
"#;
const LOOP: &str = "\nfor line in sys.stdin:\n    serve(line)\n";

pub(crate) fn script(behaviour: &str) -> ServerDefinition {
    ServerDefinition {
        command: Some("python3".to_owned()),
        args: vec!["-c".to_owned(), [SERVER, behaviour, LOOP].concat()],
        ..ServerDefinition::default()
    }
}

async fn running_harness(behaviour: &str) -> UpstreamHarness {
    // Longer than an interpreter takes to start.
    harness_with_probe(behaviour, Duration::from_secs(10)).await
}

async fn harness_with_probe(behaviour: &str, probe: Duration) -> UpstreamHarness {
    let bench = UpstreamHarness::with_deps(|parts| {
        parts.settings.probe_timeout = probe;
        parts.settings.max_message_bytes = 4 << 20;
        parts.settings.stop_timeout = Duration::from_millis(600);
    });
    bench.apply([("up", script(behaviour))]);
    bench.wait_connected("up").await;
    bench
}

/// Whether a process is there, and is no zombie.
fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) async fn wait_until_dead(pid: &str) {
    let gone = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, gone).await.expect("it ends");
}

#[tokio::test]
async fn a_program_is_a_server() {
    let bench = running_harness("").await;
    let status = bench.status("up");
    assert_eq!((status.transport, status.era), (Some(TransportKind::Stdio), Some(ProtocolEra::Handshake)));
    assert_eq!(status.protocol_version.as_deref(), Some("2025-11-25"));
    assert_eq!(status.server_name.as_deref(), Some("script"));
    assert_eq!(bench.call("up__twice", "{\n\"pretty\":\r\n1}").await.unwrap().joined_text(), "first");
    assert_eq!(bench.call("up__slow", "{}").await.unwrap().joined_text(), "slow", "and the second is let go");
}

#[tokio::test]
async fn older_ways_to_take_server_discover() {
    // No answer at all; the end of the program; an answer that is late.
    for behaviour in [
        "def discover(id): pass",
        "def discover(id): os._exit(1)",
        "def discover(id): threading.Timer(1.5, lambda: send({'jsonrpc': '2.0', 'id': id, 'error': {'code': -32601, 'message': 'no'}})).start()",
    ] {
        let bench = harness_with_probe(behaviour, Duration::from_secs(1)).await;
        assert_eq!(bench.status("up").era, Some(ProtocolEra::Handshake), "{behaviour}");
        assert_eq!(bench.call("up__twice", "{}").await.unwrap().joined_text(), "first");
    }
}

#[tokio::test]
async fn the_newer_era_over_pipes() {
    let bench = running_harness(
        "def discover(id): answer(id, {'resultType': 'complete', 'supportedVersions': ['2026-07-28'], \
         'capabilities': {'tools': {}}, '_meta': {'io.modelcontextprotocol/serverInfo': {'name': 'new', 'version': '9'}}})",
    )
    .await;
    let status = bench.status("up");
    assert_eq!((status.era, status.server_name.as_deref()), (Some(ProtocolEra::Stateless), Some("new")));
    assert_eq!(bench.call("up__twice", "{}").await.unwrap().joined_text(), "first");
}

#[tokio::test]
async fn what_belongs_to_a_call_reaches_it() {
    let bench = running_harness("").await;
    let (report, mut reported) = tokio::sync::watch::channel(None);
    let mut progressing = call("up__progress", "{}");
    progressing.progress = Some(Arc::new(move |progress| drop(report.send_replace(Some(progress)))));
    call_result(&bench.finish(progressing).await).unwrap();
    let progress = reported.borrow_and_update().clone().unwrap();
    assert_eq!(
        (progress.progress, progress.total, progress.message.as_deref()),
        (1.0, Some(2.0), Some("half"))
    );

    let answer = json!({"action": "accept", "content": {"sure": true}});
    let client = TestRequestingClient::answering(json!({"elicitation": {}}), answer.clone());
    bench.call_as(&client, "up__logs", "{}").await.unwrap();
    assert_eq!(client.logs.lock()[0].data, json!("mine"));
    let output = bench.call_as(&client, "up__ask", "{}").await.unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&output.joined_text()).unwrap(), answer);

    // With two calls in flight nobody can tell whose a question is: it is answered by nobody.
    let (asking, slow) =
        tokio::join!(bench.call_as(&client, "up__ask", "{}"), bench.call_as(&client, "up__slow", "{}"),);
    assert_eq!(slow.unwrap().joined_text(), "slow");
    let said = asking.unwrap().joined_text();
    assert!(said.contains("cancel"), "{said}");
    assert_eq!(client.requests.lock().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_is_told_to_the_server() {
    let bench = running_harness("").await;
    let mut silent = call("up__silent", "{}");
    silent.timeout = Some(Duration::from_millis(100));
    let error = call_result(&bench.finish(silent).await).unwrap_err();
    assert_eq!((error.code, error.dispatched), (Code::Timeout, true));
    let told = async {
        while !bench.server("up").log().lines().iter().any(|line| line.starts_with("cancelled ")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, told).await.unwrap();
}

#[tokio::test]
async fn output_that_is_no_message_is_logged_and_skipped() {
    let bench = running_harness("").await;
    assert_eq!(bench.call("up__bad_json", "{}").await.unwrap().joined_text(), "after");
    let log = bench.server("up").log().lines();
    assert!(log.iter().any(|line| line.contains("this is no JSON")), "{log:?}");
    let error = bench.call("up__large", "{}").await.unwrap_err();
    assert_eq!((error.code, error.dispatched), (Code::OutputTooLarge, true));
    assert_eq!(bench.call("up__twice", "{}").await.unwrap().joined_text(), "first", "it goes on after that");
}

#[tokio::test]
async fn a_program_that_ends_is_started_again() {
    let bench = running_harness("").await;
    let before = bench.call("up__pid", "{}").await.unwrap().joined_text();
    let error = bench.call("up__exit", "{}").await.unwrap_err();
    assert_eq!((error.code, error.dispatched), (Code::DeviceDisconnected, true));
    // The next call waits for it.
    let after = bench.call("up__pid", "{}").await.unwrap().joined_text();
    assert_ne!(before, after);
    // A second time it is waited for with a pause, and its status says why.
    assert!(bench.call("up__exit", "{}").await.is_err());
    let status = bench.wait_failed("up").await;
    let problem = status.problem.unwrap().message;
    assert!(problem.contains("exit code 3") && problem.contains("going down"), "{problem}");
    assert!(status.next_try_ms.is_some());
    bench.wait_connected("up").await;
}

#[tokio::test]
async fn a_program_that_never_starts_well_is_told_with_its_last_words() {
    let bench = UpstreamHarness::new();
    let broken = ServerDefinition {
        command: Some("sh".to_owned()),
        args: vec!["-c".to_owned(), "echo 'no module named x' >&2; exit 7".to_owned()],
        ..ServerDefinition::default()
    };
    bench.apply([("up", broken)]);
    let status = bench.wait_failed("up").await;
    let problem = status.problem.unwrap().message;
    assert!(problem.contains("exit code 7") && problem.contains("no module named x"), "{problem}");
    assert_eq!(status.place, "sh -c echo 'no module named x' >&2; exit 7");
}

struct FixedSecrets;

impl SecretReader for FixedSecrets {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        match location {
            SecretLocation::Secret(name) if name == "api" => Ok("hush".to_owned().into()),
            other => NoSecrets.read(other),
        }
    }
}

#[tokio::test]
async fn its_environment_is_what_was_stated() {
    let bench = UpstreamHarness::with_deps(|parts| {
        parts.secrets = Arc::new(FixedSecrets);
        parts.environment.insert("LANG".to_owned(), "C".to_owned());
        parts.environment.insert("TMPDIR".to_owned(), "/nowhere".to_owned());
    });
    let folder = tempfile::tempdir().unwrap();
    let own = BTreeMap::from(
        [("KEY", "secret:api"), ("TMPDIR", "/tmp")].map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let definition = ServerDefinition { env: own.clone(), cwd: Some(folder.path().to_owned()), ..script("") };
    bench.apply([("up", definition)]);
    bench.wait_connected("up").await;
    let said = bench.call("up__environment", "{}").await.unwrap().joined_text();
    let mut environment: BTreeMap<String, String> = serde_json::from_str(&said).unwrap();
    assert_eq!(environment.remove("KEY").as_deref(), Some("hush"));
    assert_eq!(environment.remove("TMPDIR").as_deref(), Some("/tmp"));
    assert_eq!(environment.remove("LANG").as_deref(), Some("C"));
    for name in ["PATH", "HOME"] {
        environment.remove(name);
    }
    // What interpreters set by themselves, or what starts them.
    environment.retain(|name, _| {
        !name.starts_with("LC_")
            && !name.contains("PYENV")
            && !matches!(name.as_str(), "PWD" | "OLDPWD" | "SHLVL" | "_")
    });
    assert_eq!(environment, BTreeMap::new());

    let missing = [("KEY".to_owned(), "secret:none".to_owned())].into();
    bench.apply([("up", ServerDefinition { env: missing, ..script("") })]);
    let problem = bench.wait_failed("up").await.problem.unwrap().message;
    assert_eq!(problem, "KEY: the secret \"none\" can't be read: there is no secret named \"none\"");
}

#[tokio::test]
async fn a_program_that_ignores_signals_is_killed_with_what_it_started() {
    let pids = tempfile::NamedTempFile::new().unwrap();
    let behaviour = format!(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         child = subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP INT; while :; do sleep 1; done'])\n\
         open({:?}, 'w').write('%d %d' % (os.getpid(), child.pid))\n\
         import atexit\n\
         class Never:\n    def __iter__(self): return self\n    def __next__(self):\n\
         \x20       line = sys.__stdin__.readline()\n\
         \x20       while not line: time.sleep(3600)\n        return line\n\
         sys.stdin = Never()\n",
        pids.path()
    );
    let bench = running_harness(&behaviour).await;
    let written = std::fs::read_to_string(pids.path()).unwrap();
    let (own, child) = written.split_once(' ').unwrap();
    assert!(is_alive(own) && is_alive(child));
    bench.upstreams.shut_down(Duration::from_secs(5)).await;
    wait_until_dead(own).await;
    wait_until_dead(child).await;
}

#[tokio::test]
async fn dropping_all_ends_programs_too() {
    let bench = running_harness("").await;
    let pid = bench.call("up__pid", "{}").await.unwrap().joined_text();
    assert!(is_alive(&pid));
    drop(bench);
    wait_until_dead(&pid).await;
}

#[tokio::test]
async fn a_program_that_is_disabled_does_not_run() {
    let bench = running_harness("").await;
    let pid = bench.call("up__pid", "{}").await.unwrap().joined_text();
    bench.apply([("up", ServerDefinition { disabled: true, ..script("") })]);
    assert_eq!(bench.status("up").state, UpstreamState::Disabled);
    wait_until_dead(&pid).await;
    assert!(bench.tools("up").is_empty());
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_with_what_is_wrong() {
    let bench = running_harness("").await;
    for (written, expected) in [
        (r#"{"jsonrpc":"2.0","id":ID,"error":"broke"}"#, "broke"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"E_IO","message":"no disk"}}"#, "no disk (E_IO)"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}"#, "its answer can't be read: expected value"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":null}"#, "its answer can't be read: it is neither"),
        (
            r#"INFO answering {"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#,
            "it has other text before the message",
        ),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"line one"#, "line break"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"content":["#, "its rest is missing"),
    ] {
        let arguments = json!({"written": format!("{written}\n")}).to_string();
        let error = bench.call("up__raw", &arguments).await.unwrap_err();
        assert!(error.message.contains(expected), "{written}: {error:?}");
        assert!(error.code != Code::Timeout && error.dispatched, "{written}: {error:?}");
    }
    assert_eq!(bench.status("up").state, UpstreamState::Connected);
}

#[tokio::test]
async fn an_answer_in_an_unusual_form_is_read() {
    let bench = running_harness("").await;
    let result = r#"{"content":[{"type":"text","text":"café \ud83d"}]}"#;
    let message = format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#);
    let pretty = message.replace(',', ",\n  ");
    let ping = r#"{"jsonrpc":"2.0","method":"notifications/other"}"#;
    for written in [
        format!("{message}\n"),
        format!("{pretty}\n"),
        format!("{ping}{message}\n"),
        format!("{message}{ping}\n"),
        format!("\u{EF}\u{BB}\u{BF}{message}\n"),
        // Without an end of line.
        format!("\n{message}"),
    ] {
        let arguments = json!({ "written": written }).to_string();
        let output = bench.call("up__raw", &arguments).await.unwrap();
        // The byte 0xE9 is not UTF-8.
        assert_eq!(output.joined_text(), "caf\u{FFFD} \u{FFFD}", "{written}");
    }
}
