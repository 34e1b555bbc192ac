//! Helpers: settings, tokens, calls, and devices whose tools wait.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use toolway_device::Tool;
use toolway_tests::device::NumberArgs;
use toolway_tests::process::{GatewayProcess, RunningProgram, TestFolder};
use toolway_tests::runs::RunLog;
use toolway_tests::{poll_until, rest};

/// Writes the settings like an editor that replaces the file: readers see the old or the new content.
pub(crate) fn write_settings(folder: &TestFolder, text: &str) {
    use std::io::Write;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.data_path()).unwrap();
    let new = folder.data_path().join("toolway.toml.new");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    std::fs::rename(new, folder.data_path().join("toolway.toml")).unwrap();
}

/// Writes a file next to the data folder.
pub(crate) fn write_sibling_file(folder: &TestFolder, name: &str, text: &str) -> PathBuf {
    let path = folder.sibling_path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns a path as an argument, or for TOML or JSON with [`toml_string`].
pub(crate) fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Formats a TOML string.
pub(crate) fn toml_string(text: &str) -> String {
    json!(text).to_string()
}

/// A token with its id.
pub(crate) struct TestToken {
    pub(crate) id: String,
    pub(crate) token: String,
}

/// Creates a client token.
pub(crate) async fn create_client(gateway: &GatewayProcess, label: &str) -> TestToken {
    let body = json!({"role": "client", "label": label});
    let (status, made) =
        rest::send_request(gateway.address(), &gateway.token, "POST", "/api/tokens", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    TestToken { id: text("id"), token: text("token") }
}

/// Makes a call over REST and returns the outcome.
pub(crate) async fn call_tool(gateway: &GatewayProcess, token: &str, name: &str, args: Value) -> Value {
    let name = name.replace('/', "%2F").replace(' ', "%20");
    let path = format!("/api/tools/{name}/call");
    let body = Some(json!({"args": args}));
    let (status, outcome) = rest::send_request(gateway.address(), token, "POST", &path, body).await;
    assert_eq!(status, 200, "{outcome}");
    outcome
}

/// Makes a call as the owner.
pub(crate) async fn call_as_owner(gateway: &GatewayProcess, name: &str, args: Value) -> Value {
    call_tool(gateway, &gateway.token, name, args).await
}

/// Returns the names of the tools that a token may call.
pub(crate) async fn listed_tools(gateway: &GatewayProcess, token: &str) -> Vec<String> {
    let tools = rest::get_json(gateway.address(), token, "/api/tools").await;
    tools["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the record of a call.
pub(crate) async fn call_record(gateway: &GatewayProcess, token: &str, outcome: &Value) -> Value {
    let path = format!("/api/calls/{}", outcome["call_id"].as_str().unwrap());
    poll_until("the record of a call", async || {
        let (status, call) = rest::send_request(gateway.address(), token, "GET", &path, None).await;
        (status == 200 && call["status"] != "running").then_some(call)
    })
    .await
}

/// Starts `toolway approvals watch` and waits until the gateway knows the watcher.
pub(crate) async fn start_approvals_watch(folder: &TestFolder) -> RunningProgram {
    let mut watching = RunningProgram::start(folder.command(["approvals", "watch"]));
    watching.wait_for_stderr("waiting for approvals").await;
    watching
}

/// Starts `toolway tools call` in a separate process.
pub(crate) fn start_cli_call(folder: &TestFolder, name: &str, args: &Value) -> RunningProgram {
    folder.start(&["tools", "call", name, &args.to_string()])
}

/// Returns the outcome of such a call.
pub(crate) async fn wait_for_outcome(mut calling: RunningProgram) -> Value {
    let line = calling.next_line().await;
    serde_json::from_str(&line.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Waits until there are this many open questions, and returns them, oldest first.
pub(crate) async fn wait_for_questions(folder: &TestFolder, count: usize) -> Vec<Value> {
    poll_until("questions", async || {
        let open = folder.run_json(&["approvals", "list"]).await["approvals"].as_array().unwrap().clone();
        (open.len() == count).then_some(open)
    })
    .await
}

/// Answers a question from a separate process.
pub(crate) async fn answer_question(folder: &TestFolder, question: &Value, flags: &[&str]) {
    let id = question["id"].as_str().unwrap();
    folder.run([&["approvals", "answer", id], flags].concat()).await.expect_success();
}

/// Creates a tool that records its runs and returns its argument once it is released.
pub(crate) fn waiting_tool(name: &str, runs: &RunLog, go: &watch::Receiver<bool>) -> Tool {
    let (runs, go) = (runs.clone(), go.clone());
    Tool::typed(name, "Answers when it is let go", move |args: NumberArgs, cx| {
        runs.record_run(cx.call_id(), args.n);
        let mut go = go.clone();
        async move {
            let _ = go.wait_for(|go| *go).await;
            Ok(json!({"n": args.n}))
        }
    })
    .timeout(Duration::from_secs(600))
}
