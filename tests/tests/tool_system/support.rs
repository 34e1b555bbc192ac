//! What these tests share: settings, tokens, calls, and devices whose tools wait.

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

/// Writes the settings as an editor does that replaces the file: a reader sees the old or the new.
pub(crate) fn write_settings(folder: &TestFolder, text: &str) {
    use std::io::Write;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.data_path()).unwrap();
    let new = folder.data_path().join("toolway.toml.new");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    std::fs::rename(new, folder.data_path().join("toolway.toml")).unwrap();
}

/// A file beside the data folder.
pub(crate) fn write_sibling_file(folder: &TestFolder, name: &str, text: &str) -> PathBuf {
    let path = folder.sibling_path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A path as an argument, or within TOML or JSON after [`quoted`].
pub(crate) fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A string of TOML.
pub(crate) fn toml_string(text: &str) -> String {
    json!(text).to_string()
}

/// A token, and the id by which it is known.
pub(crate) struct TestToken {
    pub(crate) id: String,
    pub(crate) token: String,
}

/// A client's token.
pub(crate) async fn create_client(gateway: &GatewayProcess, label: &str) -> TestToken {
    let body = json!({"role": "client", "label": label});
    let (status, made) =
        rest::send_request(gateway.address(), &gateway.token, "POST", "/api/tokens", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    TestToken { id: text("id"), token: text("token") }
}

/// Calls over REST; gives the outcome.
pub(crate) async fn call_tool(gateway: &GatewayProcess, token: &str, name: &str, args: Value) -> Value {
    let name = name.replace('/', "%2F").replace(' ', "%20");
    let path = format!("/api/tools/{name}/call");
    let body = Some(json!({"args": args}));
    let (status, outcome) = rest::send_request(gateway.address(), token, "POST", &path, body).await;
    assert_eq!(status, 200, "{outcome}");
    outcome
}

/// Calls as the owner.
pub(crate) async fn call_as_owner(gateway: &GatewayProcess, name: &str, args: Value) -> Value {
    call_tool(gateway, &gateway.token, name, args).await
}

/// The names of the tools that a token may call.
pub(crate) async fn listed_tools(gateway: &GatewayProcess, token: &str) -> Vec<String> {
    let tools = rest::get_json(gateway.address(), token, "/api/tools").await;
    tools["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// What stands in the record of a call.
pub(crate) async fn call_record(gateway: &GatewayProcess, token: &str, outcome: &Value) -> Value {
    let path = format!("/api/calls/{}", outcome["call_id"].as_str().unwrap());
    poll_until("the record of a call", async || {
        let (status, call) = rest::send_request(gateway.address(), token, "GET", &path, None).await;
        (status == 200 && call["status"] != "running").then_some(call)
    })
    .await
}

/// `toolway approvals watch`, once the gateway knows that somebody watches.
pub(crate) async fn start_approvals_watch(folder: &TestFolder) -> RunningProgram {
    let mut watching = RunningProgram::start(folder.command(["approvals", "watch"]));
    watching.wait_for_stderr("waiting for approvals").await;
    watching
}

/// `toolway tools call`, in a process of its own.
pub(crate) fn start_cli_call(folder: &TestFolder, name: &str, args: &Value) -> RunningProgram {
    folder.start(&["tools", "call", name, &args.to_string()])
}

/// What such a call ends in.
pub(crate) async fn wait_for_outcome(mut calling: RunningProgram) -> Value {
    let line = calling.next_line().await;
    serde_json::from_str(&line.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The questions that are open, once there are so many: the oldest first.
pub(crate) async fn wait_for_questions(folder: &TestFolder, count: usize) -> Vec<Value> {
    poll_until("questions", async || {
        let open = folder.run_json(&["approvals", "list"]).await["approvals"].as_array().unwrap().clone();
        (open.len() == count).then_some(open)
    })
    .await
}

/// Answers a question from a process of its own.
pub(crate) async fn answer_question(folder: &TestFolder, question: &Value, flags: &[&str]) {
    let id = question["id"].as_str().unwrap();
    folder.run([&["approvals", "answer", id], flags].concat()).await.expect_success();
}

/// A tool that notes its runs and answers with its argument once it is let go.
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
