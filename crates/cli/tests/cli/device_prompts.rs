//! Tests of calls that wait for a person at the device: the caller sees the prompt.

use std::sync::Arc;

use toolway_device::{ConnectionStatus, Device, NoArguments, RunningDevice, Tool, ToolContext, WaitingFor};
use toolway_fake_models::{ApiKind, FakeModels, RequestMatcher, ScriptedResponse};

use crate::support::CliHarness;
use crate::terminal::TerminalHarness;

/// Prompt of a malicious app.
const PROMPT: &str = "Finance wants to be allowed\u{1b}[2J\nfirst";
const HINT: &str = "open Finance\u{202e}";
/// The prompt as the caller sees it.
const ASKED: &str = "Finance wants to be allowed\\u{1b}[2J\\nfirst (open Finance\\u{202e})";

/// Starts a device in this process. Its tool shows a prompt, which is answered on the test's command.
fn device(
    runtime: &tokio::runtime::Runtime,
    folder: &CliHarness,
    url: &str,
) -> (RunningDevice, Arc<tokio::sync::Notify>) {
    let answered = Arc::new(tokio::sync::Notify::new());
    let answer = Arc::clone(&answered);
    let spend = Tool::typed("spend", "What was spent", move |_: NoArguments, cx: ToolContext| {
        let answer = Arc::clone(&answer);
        async move {
            let asked =
                cx.start_waiting_with_hint(WaitingFor::Authorization, PROMPT, Some(HINT.to_owned())).await;
            answer.notified().await;
            drop(asked);
            Ok("81 euros")
        }
    });
    let token = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    let builder = Device::builder(url).token(token.trim().to_owned()).device_id("pixel").name("pixel");
    let device = builder.tools([spend]).build().unwrap();
    let running = runtime.block_on(async {
        let running = device.start();
        let mut states = running.handle().status();
        let known =
            |now: &ConnectionStatus| matches!(now, ConnectionStatus::Connected(live) if live.tools.is_some());
        states.wait_for(known).await.unwrap();
        running
    });
    (running, answered)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_manual_call_shows_its_pending_prompt() {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--no-local-device"]);
    let runtime = runtime();
    let (running, answered) = device(&runtime, &folder, &gateway.url());
    let mut call = TerminalHarness::start(&folder, &["tools", "call", "pixel__spend"], &[("NO_COLOR", "1")]);
    call.wait_for_text(ASKED);
    answered.notify_one();
    call.wait_for_text("81 euros");
    let (code, shown) = call.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    runtime.block_on(running.stop()).unwrap();
}

#[test]
fn a_chat_shows_the_pending_prompt_of_a_call() {
    let runtime = runtime();
    let fakes = runtime.block_on(FakeModels::start());
    fakes.when(
        RequestMatcher::user(),
        ScriptedResponse::new().tool_call("pixel__spend", serde_json::json!({})),
    );
    fakes.when(RequestMatcher::result_of("pixel__spend"), ScriptedResponse::text("You spent it."));
    let folder = CliHarness::new();
    folder.write_settings("[chat]\ngenerate_titles = false\n");
    folder.add_models(&fakes.base_url(ApiKind::Openai));
    let gateway = folder.serve(&["--no-local-device"]);
    let (running, answered) = device(&runtime, &folder, &gateway.url());
    let mut talk =
        TerminalHarness::start_sized(&folder, &["chat", "How much?"], &[("NO_COLOR", "1")], (160, 20));
    talk.wait_for_text("… pixel__spend");
    talk.wait_for_text(ASKED);
    answered.notify_one();
    talk.wait_for_text("✓ pixel__spend");
    talk.wait_for_text("You spent it.");
    let (code, shown) = talk.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    runtime.block_on(running.stop()).unwrap();
}
