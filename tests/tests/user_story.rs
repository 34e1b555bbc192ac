//! The actions of a user with the real program: a gateway, a device on another machine (with its own data
//! folder), and the commands.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use serde_json::{Value, json};
use toolway_tests::poll_until;
use toolway_tests::process::{GatewayProcess, RunningProgram, TestFolder};
use toolway_tests::proxy::FaultProxy;

/// A gateway, another machine, and the network between them, which survives the gateway.
struct UserStoryHarness {
    gateway_folder: TestFolder,
    device_folder: TestFolder,
    proxy: FaultProxy,
}

const NO_LOCAL_DEVICE: &[&str] = &["--no-local-device"];

impl UserStoryHarness {
    /// Starts a gateway that is reachable by others, so that TLS is on.
    async fn start() -> (Self, GatewayProcess) {
        let here = TestFolder::new();
        let gateway = here.serve_on("0.0.0.0:0", NO_LOCAL_DEVICE).await;
        assert!(gateway.url().starts_with("https://127.0.0.1:"), "{}", gateway.url());
        let way = FaultProxy::start(gateway.address()).await;
        (Self { gateway_folder: here, device_folder: TestFolder::new(), proxy: way }, gateway)
    }

    /// Restarts the gateway; its address for others stays the same.
    async fn restart_gateway(&self) -> GatewayProcess {
        let gateway = self.gateway_folder.serve_on("0.0.0.0:0", NO_LOCAL_DEVICE).await;
        self.proxy.heal_to(gateway.address());
        gateway
    }

    fn url(&self) -> String {
        format!("https://{}", self.proxy.address())
    }

    async fn pairing_code(&self) -> String {
        self.gateway_folder.run_json(&["pair"]).await["code"].as_str().unwrap().to_owned()
    }

    /// Pairs and connects the device.
    async fn pair_device(&self) -> RunningProgram {
        let mut device = self.start_pairing().await;
        device.wait_for_event("paired").await;
        assert_eq!(device.wait_for_event("connected").await["source"], "lap-top");
        device
    }

    /// Starts the command that `toolway pair` prints for the other machine.
    async fn start_pairing(&self) -> RunningProgram {
        let (url, code) = (self.url(), self.pairing_code().await);
        self.device_folder.start(&["device", "--gateway", &url, "--pair", &code, "--name", "Lap Top"])
    }

    /// Starts the device again without a code.
    async fn reconnect_device(&self) -> RunningProgram {
        let mut device = self.device_folder.start(&["device"]);
        assert_eq!(device.wait_for_event("connected").await["source"], "lap-top");
        device
    }

    async fn list_tools(&self) -> Vec<String> {
        device_tool_names(&self.gateway_folder).await
    }

    async fn gateway_status(&self) -> String {
        self.gateway_folder.run_json(&["devices", "list"]).await["devices"][0]["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// Returns the tools of devices.
async fn device_tool_names(folder: &TestFolder) -> Vec<String> {
    let tools = folder.run_json(&["tools", "list"]).await;
    let of_devices = tools["tools"].as_array().unwrap().iter().filter(|it| it["source"] != "builtin");
    of_devices.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the error that a command printed for programs.
fn parse_error(said: &str) -> Value {
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {said}"))["error"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_paired_once_and_reconnects() {
    let (story, gateway) = UserStoryHarness::start().await;
    assert_eq!(story.list_tools().await, [""; 0]);
    let device = story.pair_device().await;
    let tools = story.list_tools().await;
    for tool in ["device_info", "disk_usage", "processes", "network_interfaces"] {
        let name = format!("lap-top__{tool}");
        assert!(tools.contains(&name), "{name} is not in {tools:?}");
    }
    let called = story.gateway_folder.run_json(&["tools", "call", "lap-top__device_info", "{}"]).await;
    assert_eq!(called["status"], "success", "{called}");
    assert!(called["result"]["kernel"].is_string(), "{called}");
    let calls = story.gateway_folder.run_json(&["calls", "list"]).await;
    let call = &calls["calls"][0];
    assert_eq!((&call["call_id"], &call["status"]), (&called["call_id"], &json!("success")), "{calls}");
    assert_eq!(call["tool_id"], "lap-top/device_info", "{call}");
    assert!(call["duration_ms"].as_f64().unwrap() > 0.0, "{call}");
    let list = story.gateway_folder.run(["calls", "list"]).await.expect_success().stdout;
    assert!(list.contains("lap-top__device_info") || list.contains("lap-top/device_info"), "{list}");

    let (code, said) = device.stop().await;
    assert_eq!(code, 0, "{said}");
    poll_until("its tools vanish", async || story.list_tools().await.is_empty().then_some(())).await;
    assert_eq!(story.gateway_status().await, "offline");

    // It reconnects without pairing.
    let mut device = story.reconnect_device().await;
    assert_eq!(story.list_tools().await, tools);
    assert_eq!(story.gateway_status().await, "online");

    // It reconnects by itself after the gateway was stopped.
    let (code, said) = gateway.program.stop().await;
    assert_eq!(code, 0, "{said}");
    let _gateway = story.restart_gateway().await;
    device.wait_for_event("connected").await;
    assert_eq!(story.list_tools().await, tools);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_with_another_key_is_not_sent() {
    let (story, _gateway) = UserStoryHarness::start().await;
    let (url, code) = (story.url(), story.pairing_code().await);
    assert_eq!(code.len(), 24, "with three groups of the gateway's key: {code}");
    let last = if code.ends_with('0') { '1' } else { '0' };
    let other = format!("{}{last}", &code[..code.len() - 1]);
    let tried = story.device_folder.run(["device", "--gateway", &url, "--pair", &other]).await;
    let tried = tried.expect_failure(1, "the gateway's key is");
    assert!(tried.stderr.contains("the code was not sent"), "{tried:#?}");
    // If it had been sent, it would be used up now.
    let mut device = story.device_folder.start(&["device", "--gateway", &url, "--pair", &code]);
    device.wait_for_event("connected").await;
    let elsewhere = TestFolder::new();
    let spent = elsewhere.run(["device", "--gateway", &url, "--pair", &code]).await;
    spent.expect_failure(1, "the gateway refused the code");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_with_another_key_is_not_trusted() {
    let (story, gateway) = UserStoryHarness::start().await;
    let device = story.pair_device().await;
    gateway.program.stop().await;
    std::fs::remove_dir_all(story.gateway_folder.data_path().join("tls")).unwrap();
    let _gateway = story.restart_gateway().await;
    let (code, said) = device.wait_for_exit().await;
    assert_eq!(code, 1, "{said}");
    let error = parse_error(&said);
    assert_eq!(error["code"], "key_changed", "{said}");
    assert!(
        error["message"].as_str().unwrap().contains("another server intercepts the connection"),
        "{said}"
    );
    assert!(error["hint"].as_str().unwrap().contains("pair again"), "{said}");
    // Also in text output, and at every attempt.
    story.device_folder.run(["device"]).await.expect_failure(1, "was paired with");
    // The next step in the message works.
    story.start_pairing().await.wait_for_event("connected").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_device_stops_and_reports_why_r17() {
    let (story, _gateway) = UserStoryHarness::start().await;
    let device = story.pair_device().await;
    story.gateway_folder.run(["devices", "revoke", "lap-top"]).await.expect_success();
    let (code, said) = device.wait_for_exit().await;
    assert_eq!(code, 1, "{said}");
    let error = parse_error(&said);
    assert_eq!(error["code"], "token_revoked", "{said}");
    assert!(error["hint"].as_str().unwrap().contains("pair again"), "{said}");
    assert_eq!(story.list_tools().await, [""; 0]);
    story.device_folder.run(["device"]).await.expect_failure(1, "revoked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_gateway_on_a_folder_reports_the_first() {
    let folder = TestFolder::new();
    let first = folder.serve(&[]).await;
    let second =
        folder.run(["serve", "--listen", "127.0.0.1:0"]).await.expect_failure(1, "a gateway already runs on");
    let named = format!("process {}, at {}", first.program.pid(), first.url());
    assert!(second.stderr.contains(&named), "{second:#?}");
    assert_eq!(device_tool_names(&folder).await, [""; 0], "the first goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_can_be_restored_while_everything_runs() {
    let here = TestFolder::new();
    // This computer's own tools are offered too.
    let gateway = here.serve_on("127.0.0.1:0", &[]).await;
    let local = async |folder: &TestFolder| {
        let found = device_tool_names(folder).await.into_iter().find(|name| name.ends_with("__device_info"));
        Some(found?.split_once("__")?.0.to_owned())
    };
    let local = poll_until("this computer's tools", async || local(&here).await).await;
    let own_tool = format!("{local}__device_info");
    let there = TestFolder::new();
    let code = here.run_json(&["pair"]).await["code"].as_str().unwrap().to_owned();
    let pairing = ["device", "--gateway", &gateway.url(), "--pair", &code, "--name", "Lap Top"];
    let mut device = there.start(&pairing);
    device.wait_for_event("connected").await;

    let backup = here.sibling_path("backup.tar");
    let backup = backup.to_str().unwrap();
    here.run(["backup", backup]).await.expect_success();
    // Changes everything that can change.
    here.run(["devices", "rename", &local, "Somewhere else"]).await.expect_success();
    here.run(["tokens", "create", "--label", "later"]).await.expect_success();
    here.run(["devices", "revoke", "lap-top"]).await.expect_success();
    let (code, said) = device.wait_for_exit().await;
    assert_eq!(code, 1, "{said}");

    here.run(["restore", backup]).await.expect_failure(2, "--yes");
    here.run(["restore", backup, "--yes"]).await.expect_success();
    let devices = here.run_json(&["devices", "list"]).await;
    let find = |id: &str| devices["devices"].as_array().unwrap().iter().find(|it| it["id"] == id).cloned();
    let own = find(&local).unwrap();
    assert_ne!(own["name"], "Somewhere else", "{devices}");
    let tokens = here.run_json(&["tokens", "list"]).await;
    assert!(tokens["tokens"].as_array().unwrap().iter().all(|it| it["label"] != "later"), "{tokens}");
    // A token that was revoked after the backup is valid again.
    let mut device = there.start(&["device"]);
    assert_eq!(device.wait_for_event("connected").await["source"], "lap-top");
    here.run(["tools", "call", "lap-top__disk_usage"]).await.expect_success();
    // Live connections continue.
    assert_eq!(own["status"], "online", "{devices}");
    here.run(["tools", "call", &own_tool]).await.expect_success();

    // Also if the gateway has been restarted since the backup.
    gateway.program.stop().await;
    let gateway = here.serve_on("127.0.0.1:0", &[]).await;
    poll_until("this computer's tools", async || {
        device_tool_names(&here).await.contains(&own_tool).then_some(())
    })
    .await;
    here.run(["restore", backup, "--yes"]).await.expect_success();
    poll_until("this computer's tools after the restore", async || {
        (here.run(["tools", "call", &own_tool]).await.code == 0).then_some(())
    })
    .await;
    let (code, said) = gateway.program.stop().await;
    assert_eq!(code, 0, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_sent_over_plain_http_to_another_computer() {
    let folder = TestFolder::new();
    let gateway = folder.serve(&[]).await;
    let code = folder.run_json(&["pair"]).await["code"].as_str().unwrap().to_owned();
    // A documentation address, which nobody has; it is refused before anything is sent.
    let other = "http://192.0.2.1:7717";
    let pairing = TestFolder::new().run(["device", "--gateway", other, "--pair", &code]).await;
    let pairing = pairing.expect_failure(1, "does not use TLS");
    assert!(pairing.stderr.contains("--insecure"), "{pairing:#?}");
    let token = folder.data_path().join("owner.token");
    let token = token.to_str().unwrap();
    let asking = folder.run(["tools", "list", "--gateway", other, "--token-file", token]).await;
    let asking = asking.expect_failure(1, "does not use TLS");
    assert!(asking.stderr.contains("--insecure"), "{asking:#?}");
    let offering = TestFolder::new().run(["device", "--gateway", other, "--token-file", token]).await;
    offering.expect_failure(1, "does not use TLS");
    // Plain HTTP to this computer is allowed.
    let url = gateway.url();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let mut device = TestFolder::new().start(&["device", "--gateway", &url, "--pair", &code]);
    device.wait_for_event("connected").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_codes_and_json_report_the_result_of_a_command() {
    let folder = TestFolder::new();
    folder.run(["tools", "call", "anything"]).await.expect_failure(1, "no gateway is running on");
    let gateway = folder.serve_on("127.0.0.1:0", &[]).await;
    let own = poll_until("this computer's tools", async || {
        device_tool_names(&folder).await.into_iter().find(|name| name.ends_with("__device_info"))
    })
    .await;

    let done = folder.run(["tools", "call", &own, "{}"]).await.expect_success();
    assert!(done.json()["kernel"].is_string(), "the result and nothing else: {done:#?}");
    folder.run(["tools", "call", &own, "{\"surprise\":1}"]).await.expect_failure(1, "(invalid_arguments)");
    folder.run(["tools", "call", "no__such_tool"]).await.expect_failure(1, "(tool_not_available)");
    folder.run(["tools", "call", &own, "{"]).await.expect_failure(2, "not valid JSON");
    folder.run(["tools", "call", &own, "[]"]).await.expect_failure(2, "must be a JSON object");
    let usage = folder.run(["tools", "call"]).await;
    assert_eq!(usage.code, 2, "{usage:#?}");
    // For programs, a failed call is data, and the exit code reports the failure.
    let failed = folder.run(["--json", "tools", "call", "no__such_tool"]).await;
    assert_eq!((failed.code, failed.stderr.as_str()), (1, ""), "{failed:#?}");
    assert_eq!(failed.json()["code"], "tool_not_available");

    let lists: [(&[&str], &str); 4] = [
        (&["tools", "list"], "tools"),
        (&["devices", "list"], "devices"),
        (&["calls", "list"], "calls"),
        (&["tokens", "list"], "tokens"),
    ];
    for (command, field) in lists {
        let listed = folder.run_json(command).await;
        assert!(!listed[field].as_array().unwrap().is_empty(), "{command:?}: {listed}");
        let shown = folder.run(command).await.expect_success();
        assert!(!shown.stdout.trim().is_empty() && !shown.stdout.contains('\u{1b}'), "{shown:#?}");
    }
    for command in [&["config", "show"][..], &["doctor"], &["version"], &["tools", "show", &own]] {
        let said = folder.run_json(command).await;
        assert!(said.is_object() || said.is_array(), "{command:?}: {said}");
    }
    let (code, said) = gateway.program.stop().await;
    assert_eq!(code, 0, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_another_gateway_is_unknown_r17() {
    let (folder, another) = (TestFolder::new(), TestFolder::new());
    let (_gateway, stranger) = tokio::join!(folder.serve(&[]), another.serve(&[]));
    let token = folder.sibling_path("token");
    let made = folder.run(["tokens", "create", "--role", "device"]).await.expect_success();
    std::fs::write(&token, made.stdout).unwrap();
    let arguments =
        ["--json", "device", "--gateway", &stranger.url(), "--token-file", token.to_str().unwrap()];
    let device =
        TestFolder::new().run(arguments).await.expect_failure(1, "does not know this device's token");
    assert_eq!(parse_error(&device.stderr)["code"], "token_unknown", "{device:#?}");
}
