//! Tests the commands for app providers on a phone through the real program `adb`: scanning, calling,
//! checking, and offering tools over a cable that is pulled.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::process::Command;
use toolway_fake_phone::{AdbServer, FakePhone, PhoneApp, PhoneSetup, ProviderReply, ReceivedCall, apps};
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::{ProgramOutput, RunningProgram, TestFolder};
use toolway_tests::{poll_until, rest, with_timeout};

const AUTHORITY: &str = apps::NOTES_AUTHORITY;

const TOOL_LIST: &str = r#"{"tools":[
    {"name":"find","description":"Finds notes\nby their text","parameters":{"type":"object","properties":
        {"text":{"type":"string","description":"What to look for"}},"required":["text"]}},
    {"name":"broken","description":"Broken","parameters":{"type":"nonsense"}}]}"#;

struct AndroidCliHarness {
    folder: TestFolder,
    adb: AdbServer,
    phone: FakePhone,
    /// Answer of `execute_tool`.
    answer: Arc<Mutex<ProviderReply>>,
}

impl AndroidCliHarness {
    /// A phone with an open app, one that requires a permission, and one of another dialect.
    fn new() -> Self {
        let (adb, phone) = (AdbServer::start(), FakePhone::start(PhoneSetup::default()));
        adb.connect(&phone);
        let answer = Arc::new(Mutex::new(ProviderReply::success(r#"{"found":["a note"]}"#)));
        phone.install(notes_app(Arc::clone(&answer)));
        phone.install(apps::finance());
        phone.install(apps::weather());
        Self { folder: TestFolder::new(), adb, phone, answer }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.folder.command(arguments);
        let bin = self.adb.program().parent().unwrap().to_owned();
        command.envs(self.adb.environment()).env("PATH", bin);
        command
    }

    async fn run(&self, arguments: &[&str]) -> ProgramOutput {
        let output = self.command(arguments).kill_on_drop(true).output();
        let output = with_timeout("the end of a command", output).await.unwrap();
        ProgramOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[&["--json"], arguments].concat()).await.expect_success().json()
    }
}

fn notes_app(answer: Arc<Mutex<ProviderReply>>) -> PhoneApp {
    let answer = move |received: &ReceivedCall| match received.method.as_str() {
        "list_tools" => ProviderReply::success(TOOL_LIST),
        "execute_tool" => match (received.text("tool_name"), received.text("args")) {
            (Some("find"), Some(args)) if args.contains("\"text\":\"") => answer.lock().clone(),
            (Some("find"), _) => ProviderReply::error("INVALID_ARGS", "text is required and a string"),
            (None, _) => ProviderReply::error("INVALID_ARGS", "missing tool_name"),
            _ => ProviderReply::error("TOOL_NOT_FOUND", "unknown tool"),
        },
        _ => ProviderReply::error("TOOL_NOT_FOUND", "unknown method"),
    };
    apps::notes(answer)
}

#[tokio::test]
async fn scan_shows_the_providers_and_why_others_are_unusable() {
    let bench = AndroidCliHarness::new();
    let found = bench.json(&["android", "scan"]).await;
    assert_eq!(found["phone"]["serial"], bench.phone.serial());
    assert_eq!(found["phone"]["model"], "Fake Phone");
    assert_eq!(found["access_tools"]["defined_by"], "com.example.finance");
    assert_eq!(found["bridge"]["variant"], "uses");
    let rows: Vec<_> = found["providers"].as_array().unwrap().iter().collect();
    let states: Vec<_> =
        rows.iter().map(|row| (row["label"].as_str().unwrap(), row["state"].as_str().unwrap())).collect();
    assert_eq!(states, [("Finance", "refused"), ("Notes", "ready"), ("Weather", "ready")]);
    let reason = rows[0]["reason"].as_str().unwrap();
    assert!(reason.contains("calls require the permission com.clawseed.permission.ACCESS_TOOLS"), "{reason}");
    assert!(reason.contains("The adb shell has no app permissions"), "{reason}");
    assert_eq!(rows[0]["hint"], "call it from the bridge app on the phone, or run `adb root`");
    assert_eq!(rows[1]["tools"][0]["name"], "notes__find");
    assert_eq!(rows[1]["notes"][0]["tool"], "broken");
    assert_eq!(rows[2]["dialect"], "mcp-a");
    assert_eq!(rows[2]["tools"][0]["name"], "weather__get_weather_forecast");

    let shown =
        bench.run(&["android", "scan", "--serial", &bench.phone.serial()]).await.expect_success().stdout;
    for line in [
        "ACCESS_TOOLS  defined by com.example.finance (normal)",
        "use the variant that only uses ACCESS_TOOLS",
        "  refused: calls require the permission com.clawseed.permission.ACCESS_TOOLS",
        "    hint: call it from the bridge app on the phone",
        "  notes__find  Finds notes",
        "  note: broken: ",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[tokio::test]
async fn without_adb_or_a_phone_there_is_a_hint() {
    let bench = AndroidCliHarness::new();
    let output = bench.folder.run(["android", "scan"]).await;
    output.expect_failure(1, "adb not found in PATH");
    bench
        .run(&["android", "scan", "--serial", "X"])
        .await
        .expect_failure(1, "the phone X is not connected; connected: ");
    bench.phone.unplug();
    let _ = bench.adb.run(&["disconnect", &bench.phone.serial()]);
    bench.run(&["android", "scan"]).await.expect_failure(1, "no phone is connected");
}

#[tokio::test]
async fn call_checks_arguments_and_prints_the_result() {
    let bench = AndroidCliHarness::new();
    let got = bench
        .run(&["android", "call", AUTHORITY, "find", r#"{"text":"it's: \\ \"x\""}"#])
        .await
        .expect_success();
    assert_eq!(got.stdout.split_whitespace().collect::<String>(), r#"{"found":["anote"]}"#);
    let sent = bench.phone.received_calls().into_iter().find(|it| it.method == "execute_tool").unwrap();
    assert_eq!(sent.text("args"), Some(r#"{"text":"it's: \\ \"x\""}"#));
    assert_eq!(sent.text("request_id").map(str::len), Some(36));
    let refused = bench.run(&["--json", "android", "call", AUTHORITY, "notes__find", "{}"]).await;
    assert_eq!(refused.code, 1);
    let refused = refused.json();
    assert_eq!(
        (refused["error_type"].as_str(), refused["code"].as_str()),
        (Some("validation_error"), Some("invalid_arguments"))
    );
    let calls = bench.phone.received_calls().iter().filter(|it| it.method == "execute_tool").count();
    assert_eq!(calls, 1, "what is invalid is not sent");
    *bench.answer.lock() = ProviderReply::error("RATE_LIMITED", "slowly, status=success");
    let limited =
        bench.run(&["--json", "android", "call", AUTHORITY, "find", r#"{"text":"a"}"#]).await.json();
    assert_eq!(
        (limited["code"].as_str(), limited["message"].as_str()),
        (Some("rate_limited"), Some("slowly, status=success"))
    );
    let map =
        ["android", "call", "com.example.weather.mcptool", "get_weather_forecast", r#"{"location":"Bern"}"#];
    let map = bench.run(&map).await;
    assert_eq!(map.code, 1);
    assert!(map.stderr.contains("is a map, which adb can't pass"), "{map:#?}");
    let guarded = ["android", "call", "com.example.finance.clawseed.tools", "get_portfolio_holdings"];
    bench
        .run(&guarded)
        .await
        .expect_failure(1, "require the permission com.clawseed.permission.ACCESS_TOOLS");
    bench
        .run(&["android", "call", AUTHORITY, "nothing"])
        .await
        .expect_failure(1, "Notes has no tool \"nothing\"");
    bench
        .run(&["android", "call", "com.example.nobody", "x"])
        .await
        .expect_failure(1, "no app on this phone provides");
}

#[tokio::test]
async fn check_reads_an_apk_without_a_phone() {
    let folder = TestFolder::new();
    let apk =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/android/fixtures/tutorial/tutorial.apk");
    let checked = folder.run(["android", "check", apk.to_str().unwrap()]).await;
    assert_eq!(checked.code, 1, "{checked:#?}");
    for line in [
        "error: <receiver .cetp.BootReceiver>: it handles BOOT_COMPLETED",
        "error: <permission com.clawseed.permission.ACCESS_TOOLS>: an app that offers tools must not define it",
        "    hint: remove it; the app that uses the tools defines it",
        "skipped: tools not checked",
        "com.example.finance: 2 errors, 0 warnings, 1 note",
    ] {
        assert!(checked.stdout.contains(line), "{line}\n{}", checked.stdout);
    }
    folder.run(["android", "check", "nothing.apk"]).await.expect_failure(1, "cannot read nothing.apk");
}

#[tokio::test]
async fn check_asks_a_provider_on_a_phone() {
    let bench = AndroidCliHarness::new();
    let checked = bench.run(&["--json", "android", "check", AUTHORITY]).await;
    let checked = checked.json();
    let findings: Vec<_> = checked["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["level"].as_str().unwrap(), it["location"].as_str().unwrap()))
        .collect();
    assert_eq!(
        findings,
        [
            "error tool broken",
            "warning <provider .Tools>",
            "note <application>",
            "note com.example.notes.tools",
        ],
        "{checked:#}"
    );
    // An unknown method, an unknown tool, no tool, and `find` without arguments and with wrong ones.
    assert_eq!(checked["calls"], 5);
    assert_eq!(checked["provider"]["tools"][0]["name"], "notes__find");
    let shown = bench.run(&["android", "check", AUTHORITY]).await;
    assert_eq!(shown.code, 1);
    assert!(
        shown.stdout.contains("\nphone__notes__find\nFinds notes\nby their text\n{\n"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("com.example.notes: 1 error, 1 warning, 2 notes; 5 calls"));

    let guarded =
        bench.run(&["--json", "android", "check", "com.example.finance.clawseed.tools"]).await.json();
    assert_eq!((&guarded["errors"], &guarded["calls"]), (&json!(2), &json!(0)));
    assert!(guarded["skipped"][0].as_str().unwrap().contains("adb shell"), "{guarded:#}");
    assert_eq!(guarded["result"], "failed");
    assert_eq!(guarded["skipped"][1], "call it from the bridge app on the phone, or run `adb root`");
    let acting = bench.run(&["--json", "android", "check", "com.example.weather.mcptool"]).await;
    assert_eq!(acting.code, 1, "nothing was called: {acting:#?}");
    let acting = acting.json();
    assert_eq!((&acting["result"], &acting["errors"]), (&json!("incomplete"), &json!(0)));
    assert_eq!(
        acting["skipped"],
        json!([
            "no tool called: tools of the dialect mcp-a may have side effects; use --execute to call them"
        ])
    );
    let acting = bench.run(&["--json", "android", "check", "--execute", "com.example.weather.mcptool"]).await;
    assert_eq!(acting.code, 1, "nothing was called: {acting:#?}");
    let acting = acting.json();
    assert!(acting["skipped"][0].as_str().unwrap().contains("adb can't pass"), "{acting:#}");
    assert_eq!(acting["tools"][0]["result"], "not_called");
}

/// A notes app without mistakes in its list, whose tools answer with this reply.
fn tidy_notes_app(reply: ProviderReply) -> PhoneApp {
    apps::notes(move |received| match received.method.as_str() {
        "list_tools" => ProviderReply::success(r#"{"tools":[{"name":"all","description":"All notes"}]}"#),
        "execute_tool" => reply.clone(),
        _ => ProviderReply::error("TOOL_NOT_FOUND", "unknown method"),
    })
}

#[tokio::test]
async fn a_check_that_reaches_no_tool_is_incomplete_even_as_root() {
    let (adb, phone) =
        (AdbServer::start(), FakePhone::start(PhoneSetup { is_root: true, ..PhoneSetup::default() }));
    adb.connect(&phone);
    phone.install(tidy_notes_app(ProviderReply::error("PERMISSION_DENIED", "unknown caller")));
    let answer = Arc::new(Mutex::new(ProviderReply::Null));
    let bench = AndroidCliHarness { folder: TestFolder::new(), adb, phone, answer };
    let checked = bench.run(&["android", "check", AUTHORITY]).await;
    assert_eq!(checked.code, 1, "{checked:#?}");
    for line in [
        "tool: all did not run: the app refused this caller (unknown caller)",
        "com.example.notes: 0 errors, 1 warning, 2 notes; 4 calls; 0 of 1 tool ran",
        "incomplete: no call reached a tool",
        "    hint: adb's shell is no app",
    ] {
        assert!(checked.stdout.contains(line), "{line}\n{}", checked.stdout);
    }
    let checked = bench.run(&["--json", "android", "check", AUTHORITY]).await.json();
    assert_eq!((&checked["result"], &checked["errors"]), (&json!("incomplete"), &json!(0)));
    assert_eq!(checked["tools"], json!([{"tool": "all", "result": "denied", "reason": "unknown caller"}]));

    bench.phone.install(tidy_notes_app(ProviderReply::success("[]")));
    let checked = bench.run(&["android", "check", AUTHORITY]).await.expect_success();
    assert!(checked.stdout.contains("tool: all ran\n"), "{}", checked.stdout);
    assert!(checked.stdout.contains("; 1 of 1 tool ran"), "{}", checked.stdout);
}

#[tokio::test]
async fn check_finds_an_authorization_screen_that_does_not_exist() {
    let bench = AndroidCliHarness::new();
    for (intent, code, error) in [
        ("com.example.notes.MISSPELLED", 1, "error: tool all: no activity of this app has the action"),
        ("com.example.notes.ALLOW", 1, "incomplete: no call reached a tool"),
    ] {
        bench.phone.install(tidy_notes_app(ProviderReply::bundle(&[
            ("error_message", "Not allowed yet"),
            ("resolution_hint", "Open Notes"),
            ("authorize_intent", intent),
            ("status", "error"),
            ("error_code", "AUTH_REQUIRED"),
        ])));
        let checked = bench.run(&["android", "check", AUTHORITY]).await;
        assert_eq!(checked.code, code, "{checked:#?}");
        assert!(checked.stdout.contains(error), "{error}\n{}", checked.stdout);
        let said = "tool: all did not run: it requires authorization (Not allowed yet)";
        assert!(checked.stdout.contains(said), "{}", checked.stdout);
    }
    assert_eq!(bench.phone.opened_activities(), Vec::<String>::new(), "nothing is opened");
}

#[tokio::test]
async fn apps_of_a_connected_phone_are_tools_of_a_device() {
    let bench = AndroidCliHarness::new();
    let gateway = bench.folder.serve(&[]).await;
    let token = bench.folder.sibling_path("token");
    std::fs::write(&token, &gateway.token).unwrap();
    let home = TestFolder::new();
    let mut command = home.command([
        "--json",
        "device",
        "--gateway",
        &gateway.url(),
        "--token-file",
        token.to_str().unwrap(),
        "--name",
        "Desk",
        "--android",
    ]);
    let bin = bench.adb.program().parent().unwrap().to_owned();
    command.envs(bench.adb.environment()).env("PATH", bin);
    let device = RunningProgram::start(command);
    let client = gateway.address();
    let offered = async |name: &str| {
        let tools = rest::get_json(client, &gateway.token, "/api/tools").await;
        tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name)
    };
    poll_until("the app's tool", async || offered("desk__notes__find").await.then_some(())).await;
    assert!(!offered("desk__weather__get_weather_forecast").await, "it can't be called");

    let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
    let result = caller.call("desk__notes__find", json!({"text": "a:b"})).await;
    assert_eq!(result["result"], json!({"found": ["a note"]}), "{result:#}");

    bench.phone.unplug();
    poll_until("the tools gone", async || (!offered("desk__notes__find").await).then_some(())).await;
    bench.phone.plug();
    bench.adb.connect(&bench.phone);
    poll_until("the tools back", async || offered("desk__notes__find").await.then_some(())).await;
    let (code, said) = device.stop().await;
    assert_eq!(code, 0, "{said}");
}
