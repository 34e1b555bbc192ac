//! Tests of a gateway in its own process, and of commands that use it.

use crate::support::{CliHarness, file_mode, wait_until};
use std::io::Write;

use rustix::process::Signal;
use serde_json::json;

#[test]
fn serve_prints_its_address_and_stops_on_a_signal() {
    let folder = CliHarness::new();
    let gateway = folder.serve_without_event(&[]);
    let said: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.file("gateway.json")).unwrap()).unwrap();
    assert_eq!(said, json!({"url": gateway.url(), "pid": gateway.pid()}));
    assert_eq!(gateway.ready["data_dir"], json!(folder.path()));
    assert_eq!(file_mode(&folder.path()), 0o700);
    for file in ["owner.token", "toolway.db", "gateway.json", "gateway.lock"] {
        assert_eq!(file_mode(&folder.file(file)), 0o600, "{file}");
    }
    assert_eq!(folder.json(&["tools", "list"])["tools"], json!([]));
    let (code, log) = gateway.stop();
    assert_eq!(code, 0, "{log}");
    assert!(!folder.file("gateway.json").exists());
    // A second start on the existing data works too.
    let (code, log) = folder.serve_without_event(&[]).stop();
    assert_eq!(code, 0, "{log}");
}

#[test]
fn a_second_gateway_on_a_folder_fails_and_names_the_first() {
    let folder = CliHarness::new();
    let first = folder.serve_without_event(&[]);
    let second =
        folder.run(["serve", "--listen", "127.0.0.1:0"]).assert_failure(1, "a gateway already runs on");
    assert!(second.stderr.contains(&format!("process {}, at {}", first.pid(), first.url())), "{second:#?}");
    assert_eq!(folder.json(&["tools", "list"])["tools"], json!([]), "the first is not disturbed");
    first.signal(Signal::KILL);
    first.wait_for_exit();
    folder.run(["tools", "list"]).assert_failure(1, "no gateway is running on");
    folder.serve_without_event(&[]).stop();
}

#[test]
fn an_address_in_use_is_reported() {
    let folder = CliHarness::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = folder.run(["serve", "--listen", &address]).assert_failure(1, "can't listen on");
    assert!(ended.stderr.contains("another program listens on this port"), "{ended:#?}");
    for command in ["--listen 127.0.0.1:0", "make run ARGS=\"--listen 127.0.0.1:0\""] {
        assert!(ended.stderr.contains(command), "{ended:#?}");
    }
    assert!(!folder.file("gateway.json").exists());
    folder.write_settings(&format!("listen = {address:?}\n"));
    let found = folder.run(["doctor"]);
    assert_eq!((found.code, found.stderr.as_str()), (1, "error: found 1 problem\n"));
    assert!(found.stdout.contains("hint: another program listens on this port"), "{found:#?}");
    drop(taken);
    folder.run(["doctor"]).assert_success();
}

#[test]
fn the_doctor_finds_wrong_permissions_and_damage() {
    let folder = CliHarness::new();
    folder.serve(&["--no-local-device"]).stop();
    folder.write_settings("listen = \"127.0.0.1:0\"\n");
    folder.run(["doctor"]).assert_success();
    let open = |path: &std::path::Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(&folder.file("owner.token"), 0o644);
    let found = folder.json(&["doctor"]);
    let states: Vec<_> =
        found["findings"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!((found["ok"].clone(), states.contains(&json!("warning"))), (json!(true), true), "{found}");
    open(&folder.path(), 0o755);
    let found = folder.run(["--json", "doctor"]);
    assert_eq!((found.code, found.stderr.as_str()), (1, ""));
    let findings = found.json()["findings"].clone();
    let hints: Vec<&str> = findings.as_array().unwrap().iter().filter_map(|it| it["hint"].as_str()).collect();
    assert!(hints.iter().any(|hint| hint.starts_with("run: chmod 700 ")), "{hints:?}");
    assert!(
        hints.iter().any(|hint| hint.starts_with("run: chmod 600 ") && hint.ends_with("owner.token")),
        "{hints:?}"
    );
    open(&folder.path(), 0o700);
    open(&folder.file("owner.token"), 0o600);

    std::fs::write(folder.file("toolway.db"), vec![7; 8192]).unwrap();
    let found = folder.run(["doctor"]);
    assert_eq!(found.code, 1);
    assert!(found.stdout.contains("is not a SQLite database"), "{found:#?}");
}

#[test]
fn settings_are_reloaded_on_a_signal() {
    let folder = CliHarness::new();
    let gateway = folder.serve_without_event(&[]);
    folder.write_settings("[limits]\nconnections = 77\n");
    gateway.signal(Signal::HUP);
    // The reload is logged; the gateway still responds.
    assert_eq!(folder.json(&["tools", "list"])["tools"], json!([]));
    let (code, log) = gateway.stop();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("limits.connections"), "{log}");
}

#[test]
fn this_computers_tools_are_listed_called_and_recorded() {
    let folder = CliHarness::new();
    let _gateway = folder.serve(&[]);
    let name = wait_until(|| {
        let tools = folder.json(&["tools", "list"]);
        let found = tools["tools"]
            .as_array()?
            .iter()
            .find(|it| it["id"].as_str().is_some_and(|id| id.ends_with("/device_info")))?;
        Some(found["name"].as_str()?.to_owned())
    });
    let called = folder.run(["tools", "call", &name, "{}"]).assert_success();
    let result: serde_json::Value = serde_json::from_str(&called.stdout).unwrap();
    assert!(result["kernel"].is_string(), "{result}");
    assert!(folder.run(["tools", "show", "device_info"]).assert_success().stdout.contains("time limit"));
    folder.run_with_input(&["tools", "call", "device_info", "-"], "{}").assert_success();

    let refused = folder.run(["tools", "call", &name, "{\"surprise\": 1}"]);
    refused.assert_failure(1, "(invalid_arguments)");
    let missing = folder.run(["--json", "tools", "call", "nothing"]);
    assert_eq!((missing.code, missing.stderr.as_str()), (1, ""));
    assert_eq!(missing.json()["code"], "tool_not_available");
    folder.run(["tools", "show", "nothing"]).assert_failure(1, "Tool nothing is not available");

    let calls = folder.json(&["calls", "list"]);
    let statuses: Vec<_> = calls["calls"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!(statuses, ["error", "error", "success", "success"]);
    let id = calls["calls"][3]["call_id"].as_str().unwrap();
    let shown = folder.run(["calls", "show", id]).assert_success().stdout;
    assert!(
        shown.contains(&name) && shown.contains("success") && shown.contains("ago)")
            || shown.contains("(now)"),
        "{shown}"
    );
    assert_eq!(folder.json(&["calls", "list", "--status", "error"])["calls"].as_array().unwrap().len(), 2);
    assert_eq!(
        folder.json(&["calls", "list", "--since", "1h", "--limit", "1"])["calls"].as_array().unwrap().len(),
        1
    );

    let listed = folder.run(["devices", "list"]).assert_success().stdout;
    let columns: Vec<_> = listed.lines().next().unwrap().split("  ").map(str::trim).collect();
    assert!(columns.contains(&"running") && columns.contains(&"last seen"), "{listed}");
    assert!(!columns.contains(&"calls"), "a number of running calls is no number of calls: {listed}");
    let row = listed.lines().nth(1).unwrap();
    assert!(row.contains("online") && row.contains("now") && !row.contains("ago"), "{listed}");
    let id = folder.json(&["devices", "list"])["devices"][0]["id"].as_str().unwrap().to_owned();
    folder.run(["devices", "rename", &id, "Kitchen"]).assert_success();
    assert_eq!(folder.json(&["devices", "list"])["devices"][0]["name"], "Kitchen");

    assert_eq!(folder.json(&["calls", "purge", "--before", "1h"])["removed"], 0);
    folder.run(["doctor"]).assert_success();
}

#[test]
fn calls_are_printed_as_they_end() {
    let folder = CliHarness::new();
    let _gateway = folder.serve(&["--no-local-device"]);
    let tail = folder.start(["--json", "calls", "tail"]);
    // Calls from before the subscription are not printed.
    let line = wait_until(|| {
        folder.run(["tools", "call", "nothing"]);
        tail.next_line(std::time::Duration::from_millis(20))
    });
    let call: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&call["name"], &call["code"]), (&json!("nothing"), &json!("tool_not_available")));
}

#[test]
fn a_second_signal_stops_immediately() {
    let folder = CliHarness::new();
    let mut gateway = folder.serve(&["--no-local-device", "--set", "timeouts.shutdown_s=600"]);
    // A client that stays connected delays the orderly shutdown.
    let address = gateway.url().strip_prefix("http://").unwrap().to_owned();
    let mut follower = std::net::TcpStream::connect(address).unwrap();
    let token = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    write!(
        follower,
        "GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n",
        token.trim()
    )
    .unwrap();
    gateway.signal(Signal::TERM);
    gateway.wait_for_log("stopping");
    gateway.signal(Signal::TERM);
    let (code, said) = gateway.wait_for_exit();
    assert!(code == 1 && said.contains("stopped immediately"), "{code}: {said}");
    assert!(!folder.file("gateway.json").exists());
}

#[test]
fn tokens_are_created_listed_and_revoked() {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--no-local-device"]);
    let made = folder.run(["tokens", "create", "--label", "ci", "--expires", "30d"]).assert_success();
    let token = made.stdout.trim();
    assert!(token.starts_with("twy_c_") && !token.contains(char::is_whitespace), "{made:#?}");
    let asked = |token: &str| {
        let mut command = folder.command(["tools", "list", "--gateway", &gateway.url()]);
        command.env("TOOLWAY_TOKEN", token).output().unwrap()
    };
    assert!(asked(token).status.success());
    let file = folder.sibling_path("token");
    std::fs::write(&file, token).unwrap();
    folder.run(["tools", "list", "--token-file", file.to_str().unwrap()]).assert_success();
    folder.run(["tokens", "list", "--token-file", file.to_str().unwrap()]).assert_failure(1, "error: ");

    let listed = folder.run(["tokens", "list"]).assert_success().stdout;
    assert!(listed.contains("ci") && listed.contains("in 30 d") && !listed.contains(token), "{listed}");
    let all = folder.json(&["tokens", "list"]);
    let id = all["tokens"].as_array().unwrap().iter().find(|it| it["label"] == "ci").unwrap()["id"].clone();
    folder.run(["tokens", "revoke", id.as_str().unwrap()]).assert_success();
    let refused = asked(token);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("hint: the token came from the variable TOOLWAY_TOKEN"), "{said}");
    folder.run(["tokens", "create", "--expires", "2001-01-01"]).assert_failure(2, "must be in the future");
}

#[test]
fn the_owners_token_is_replaced() {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--no-local-device"]);
    let before = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    let said = folder.run(["tokens", "rotate-owner"]).assert_success();
    let after = std::fs::read_to_string(folder.file("owner.token")).unwrap();
    assert_ne!(before, after);
    assert_eq!(file_mode(&folder.file("owner.token")), 0o600);
    assert!(!said.stdout.contains("twy_"), "it is in the file, not on the screen: {said:#?}");
    folder.run(["tools", "list"]).assert_success();
    let old = folder.sibling_path("old.token");
    std::fs::write(&old, before).unwrap();
    folder.run(["tools", "list", "--token-file", old.to_str().unwrap()]).assert_failure(1, "old.token");
    // The file of --token-file is updated too.
    let named = folder.sibling_path("named.token");
    std::fs::write(&named, after).unwrap();
    folder
        .run(["tokens", "rotate-owner", "--gateway", &gateway.url(), "--token-file", named.to_str().unwrap()])
        .assert_success();
    assert_eq!(
        std::fs::read_to_string(&named).unwrap().trim(),
        std::fs::read_to_string(folder.file("owner.token")).unwrap().trim()
    );
}

#[test]
fn with_tls_the_gateways_own_key_is_verified() {
    let folder = CliHarness::new();
    let gateway = folder.serve(&["--tls", "on", "--no-local-device"]);
    assert!(gateway.url().starts_with("https://127.0.0.1:"), "{}", gateway.url());
    folder.run(["tools", "list"]).assert_success();
    let key = gateway.ready["key"].as_str().unwrap().to_owned();
    let asked = |key: &str| {
        let token = folder.file("owner.token");
        let elsewhere = CliHarness::new();
        let url = gateway.url();
        elsewhere.run([
            "tools",
            "list",
            "--gateway",
            &url,
            "--token-file",
            token.to_str().unwrap(),
            "--key",
            key,
        ])
    };
    asked(&key).assert_success();
    let other = format!("sha256:{}", "0".repeat(64));
    asked(&other).assert_failure(1, "expected sha256:0000");

    let code = folder.json(&["pair"]);
    assert_eq!(code["key"], json!(key));
    assert_eq!(code["code"].as_str().unwrap().len(), 24, "with the key's groups: {code}");
    let shown = folder.run(["pair"]).assert_success().stdout;
    assert!(shown.contains('█') && shown.contains("toolway device --gateway https://"), "{shown}");
    assert!(!folder.run(["pair", "--no-qr"]).assert_success().stdout.contains('█'));
}
