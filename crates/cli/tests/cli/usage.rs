//! Tests without a gateway: exit codes, errors with hints, settings, generated files.

use crate::support::CliHarness;
use serde_json::{Value, json};

#[test]
fn usage_errors_exit_with_2_and_a_hint() {
    let folder = CliHarness::new();
    folder.run(["tols"]).assert_failure(2, "unrecognized subcommand 'tols'");
    folder.run(["tools", "list", "--sourcce", "x"]).assert_failure(2, "--sourcce");
    folder.run(["tools", "call", "x", "{"]).assert_failure(2, "the arguments are not valid JSON");
    folder.run(["tools", "call", "x", "[]"]).assert_failure(2, "must be a JSON object");
    folder
        .run(["calls", "purge", "--before", "yesterday"])
        .assert_failure(2, "neither a duration nor a date");
    folder.run(["serve", "--set", "nothing"]).assert_failure(2, "= is missing");
    folder.run(["policy", "add", "x", "--effect", "deny", "--when", "[1]"]).assert_failure(2, "--when: ");
    folder.run(["policy", "add", "x", "--effect", "perhaps"]).assert_failure(2, "invalid value 'perhaps'");
    folder.run(["policy", "test", "x"]).assert_failure(2, "--principal <PRINCIPAL>");
    folder.run(["approvals", "answer", "x"]).assert_failure(2, "--grant");
    folder.run(["approvals", "answer", "x", "--grant", "--deny"]).assert_failure(2, "cannot be used with");
    folder
        .run(["grants", "add", "a/b", "--principal", "x", "--agent", "y"])
        .assert_failure(2, "cannot be used with");
    folder
        .run(["grants", "add", "a/b", "--expires", "2001-01-01"])
        .assert_failure(2, "must be in the future");
    folder.run(["tools", "test", "x", "[]"]).assert_failure(2, "must be a JSON object");
    folder.run(["secrets", "set", "a/b"]).assert_failure(2, "invalid secret name");
    folder.run([] as [&str; 0]).assert_failure(2, "requires a subcommand but one was not provided");
    let without = folder.run(["tools"]);
    assert_eq!((without.code, without.stdout.as_str()), (2, ""));
    assert!(without.stderr.contains("Usage: toolway tools"), "{without:#?}");
    assert!(!folder.path().exists(), "nothing was made");
}

#[test]
fn help_and_version_exit_with_0() {
    let folder = CliHarness::new();
    let help = folder.run(["--help"]).assert_success();
    assert!(help.stdout.contains("Exit codes: 0 success, 1 failure, 2 invalid usage."), "{help:#?}");
    assert!(folder.run(["-V"]).assert_success().stdout.starts_with("toolway "));
    let version = folder.json(&["version"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["protocol_version"], json!(2));
}

#[test]
fn without_a_gateway_every_command_shows_how_to_start_one() {
    let folder = CliHarness::new();
    for command in [
        &["tools", "list"] as &[&str],
        &["tools", "show", "x"],
        &["tools", "call", "x"],
        &["devices", "list"],
        &["devices", "rename", "a", "b"],
        &["devices", "revoke", "a"],
        &["calls", "list"],
        &["calls", "show", "a"],
        &["calls", "tail"],
        &["calls", "purge", "--before", "30d"],
        &["tools", "diff", "x"],
        &["tools", "accept", "x"],
        &["policy", "list"],
        &["policy", "test", "x", "--principal", "owner"],
        &["policy", "add", "x", "--effect", "deny"],
        &["policy", "remove", "x"],
        &["approvals", "list"],
        &["approvals", "watch"],
        &["approvals", "answer", "x", "--grant"],
        &["grants", "list"],
        &["grants", "add", "a/b"],
        &["grants", "revoke", "a"],
        &["tokens", "list"],
        &["tokens", "create"],
        &["tokens", "revoke", "a"],
        &["tokens", "rotate-owner"],
        &["pair"],
    ] {
        let ended = folder.run(command).assert_failure(1, "no gateway is running on");
        assert!(ended.stderr.contains("hint: start one with `toolway serve --data-dir "), "{ended:#?}");
        assert_eq!(ended.stdout, "");
        let as_json = folder.run(["--json"].iter().chain(command));
        assert_eq!((as_json.code, as_json.stdout.as_str()), (1, ""));
        let error: Value = serde_json::from_str(&as_json.stderr).unwrap();
        assert_eq!(error["error"]["code"], "not_running");
    }
}

#[test]
fn the_owners_token_is_never_sent_to_another_program_on_the_port() {
    let folder = CliHarness::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::fs::write(folder.file("owner.token"), "twy_o_secret").unwrap();
    std::fs::write(folder.file("gateway.json"), json!({"url": url, "pid": 1}).to_string()).unwrap();
    folder.run(["tools", "list"]).assert_failure(1, "no gateway is running on");
    folder.run(["tools", "list", "--gateway", &url]).assert_failure(1, "no token for");
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody connected");
}

#[test]
fn a_key_needs_tls_and_nothing_is_sent_without_it() {
    let folder = CliHarness::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let token = folder.sibling_path("token");
    std::fs::write(&token, "twy_c_secret").unwrap();
    let key = format!("sha256:{}", "00".repeat(32));
    let ca = folder.sibling_path("ca.pem");
    std::fs::write(&ca, "").unwrap();
    let (token, ca) = (token.to_str().unwrap(), ca.to_str().unwrap());
    for (flag, value) in [("--key", key.as_str()), ("--ca", ca)] {
        for command in [&["tools", "list"], &["chat", "hi"]] {
            let all = [&command[..], &["--gateway", &url, "--token-file", token, flag, value, "--insecure"]]
                .concat();
            let ended = folder.run(&all).assert_failure(2, &format!("{flag} needs TLS"));
            assert!(ended.stderr.contains("https://"), "{ended:#?}");
        }
    }
    let all = ["device", "--gateway", &url, "--token-file", token, "--key", &key, "--insecure"];
    folder.run(all).assert_failure(1, "cannot check the gateway's key");
    let nobody = listener.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody connected");
}

#[test]
fn plain_http_to_another_computer_requires_a_flag() {
    let folder = CliHarness::new();
    let ended = folder.run(["tools", "list", "--gateway", "http://gateway.example:7717"]);
    ended.assert_failure(1, "anyone on the network path can read the token");
    let ended = folder.run(["device", "--gateway", "http://gateway.example:7717", "--pair", "ABCD-EFGH"]);
    let said = ended.assert_failure(1, "does not use TLS");
    assert!(said.stderr.contains("--insecure"), "{said:#?}");
    folder.run(["device", "--gateway", "ftp://x", "--pair", "ABCD-EFGH"]).assert_failure(1, "ftp://x");
    folder.run(["device", "--pair", "ABC"]).assert_failure(2, "a pairing code has 8 letters and digits");
    folder.run(["device", "--pair", "ABCD-EFGH"]).assert_failure(1, "the gateway's address is missing");
    folder.run(["device"]).assert_failure(1, "this computer is not paired with any gateway");
}

#[test]
fn settings_are_shown_with_their_sources() {
    let folder = CliHarness::new();
    folder.write_settings("listen = \"127.0.0.1:1234\"\n\n[limits]\nconnections = 7\n");
    let mut command = folder.command(["--json", "config", "show"]);
    command.env("TOOLWAY_LIMITS__SEND_QUEUE", "99");
    let output = command.output().unwrap();
    assert!(output.status.success());
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let find = |key: &str| {
        let all = shown["settings"].as_array().unwrap();
        let found = all.iter().find(|it| it["key"] == key).unwrap();
        (found["value"].clone(), found["origin"].clone())
    };
    let file = folder.file("toolway.toml");
    assert_eq!(find("listen"), (json!("127.0.0.1:1234"), json!({"kind": "file", "path": file, "line": 1})));
    assert_eq!(find("limits.connections"), (json!(7), json!({"kind": "file", "path": file, "line": 4})));
    let variable = json!({"kind": "variable", "name": "TOOLWAY_LIMITS__SEND_QUEUE"});
    assert_eq!(find("limits.send_queue"), (json!(99), variable));
    assert_eq!(find("tls.mode"), (json!("auto"), json!({"kind": "default"})));

    let changed = folder.run(["config", "show", "--changed"]).assert_success().stdout;
    assert!(changed.contains("limits.connections  7 "), "{changed}");
    assert!(!changed.contains("tls.mode"), "{changed}");
}

#[test]
fn all_invalid_settings_are_reported_with_their_lines() {
    let folder = CliHarness::new();
    folder.run(["config", "check"]).assert_success();
    folder.write_settings("listn = \"127.0.0.1\"\n[timeouts]\ntool_s = \"long\"\n");
    for command in [&["config", "check"] as &[&str], &["config", "show"], &["serve"]] {
        let said = folder.run(command).assert_failure(1, "2 settings are invalid").stderr;
        assert!(
            said.contains("toolway.toml:1: unknown setting listn\n    hint: did you mean listen?"),
            "{said}"
        );
        assert!(said.contains("toolway.toml:3: timeouts.tool_s: is string \"long\", not a number"), "{said}");
    }
    let as_json = folder.run(["--json", "config", "check"]);
    let error: Value = serde_json::from_str(&as_json.stderr).unwrap();
    assert_eq!(error["error"]["code"], "settings");
    assert_eq!(error["error"]["problems"].as_array().unwrap().len(), 2);
    let named = folder.sibling_path("other.toml");
    std::fs::write(&named, "workers = 2\n").unwrap();
    folder.run(["config", "check", "--config", named.to_str().unwrap()]).assert_success();
    folder
        .run(["config", "check", "--config", "/nowhere.toml"])
        .assert_failure(1, "cannot read the settings file");
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let folder = CliHarness::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.run(["completions", shell]).assert_success().stdout;
        assert!(script.contains("toolway") && script.contains("rotate-owner"), "{shell}");
    }
    let pages = folder.sibling_path("man");
    folder.run(["man", pages.to_str().unwrap()]).assert_success();
    for page in ["toolway.1", "toolway-serve.1", "toolway-tools-call.1"] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains("toolway") && text.contains(".SH"), "{page}");
    }
}

#[test]
fn a_closed_output_is_not_an_error() {
    let folder = CliHarness::new();
    let mut child = folder.command(["completions", "zsh"]).spawn().unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}
