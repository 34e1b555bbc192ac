//! Tests of the owner's own tools and the secrets that they use.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{CliHarness, file_mode};

const HELLO: &str = "[[tool]]\nname = \"hello\"\ndescription = \"Says hello\"\nprogram = \"/bin/echo\"\nargs = [\"hello\", \
                     \"{who}\"]\nread_only = true\n[tool.parameters]\ntype = \"object\"\nrequired = \
                     [\"who\"]\nproperties.who = { type = \"string\" }\n";

fn write(folder: &CliHarness, name: &str, text: &str) -> PathBuf {
    let path = folder.sibling_path(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_tool_is_tested_defined_called_and_removed() {
    let folder = CliHarness::new();
    let file = write(&folder, "hello.toml", HELLO);
    // Without a gateway, before the tool is defined.
    let tried = folder.json(&["tools", "test", text(&file), r#"{"who": "; id"}"#]);
    assert_eq!((&tried["status"], &tried["result"]["stdout"]), (&json!("success"), &json!("hello ; id\n")));
    folder.run(["tools", "test", text(&file)]).assert_failure(1, "(invalid_arguments)");

    let gateway = folder.serve_without_event(&[]);
    let added = folder.run(["tools", "add", text(&file)]).assert_success();
    assert!(added.stdout.starts_with("defined own/hello in "), "{added:#?}");
    assert!(added.stderr.contains("to test it: toolway tools call own__hello"), "{added:#?}");
    let kept = folder.file("tools/hello.toml");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), HELLO);
    assert_eq!((file_mode(&kept), file_mode(&folder.file("tools"))), (0o600, 0o700));
    let listed = folder.run(["tools", "list", "--source", "own"]).assert_success().stdout;
    assert!(listed.contains("own__hello") && listed.contains("Says hello"), "{listed}");
    let called = folder.json(&["tools", "call", "own__hello", r#"{"who": "you"}"#]);
    assert_eq!(called["result"]["stdout"], "hello you\n");
    folder.run(["tools", "test", "own/hello", r#"{"who": "you"}"#]).assert_success();
    folder.run(["tools", "add", text(&file)]).assert_failure(1, "this name is already used in");

    folder.run(["tools", "remove", "own__hello"]).assert_success();
    assert!(!kept.exists());
    folder.run(["tools", "call", "own__hello"]).assert_failure(1, "(tool_not_available)");
    folder.run(["tools", "remove", "hello"]).assert_failure(1, "unknown tool own/hello");
    folder.run(["tools", "test", "hello"]).assert_failure(1, "unknown tool own/hello");
    gateway.stop();

    let added = folder.json(&["tools", "add", text(&file)]);
    assert_eq!((&added["id"], &added["gateway"]), (&json!("own/hello"), &json!("not_running")));
    let _gateway = folder.serve_without_event(&[]);
    folder.run(["tools", "call", "own__hello", r#"{"who": "again"}"#]).assert_success();
}

#[test]
fn invalid_definitions_are_rejected_with_all_reasons() {
    let folder = CliHarness::new();
    let bad = write(
        &folder,
        "bad.toml",
        "# mine\n[[tool]]\nname = \"Bad\"\ndescription = \"x\"\nprogram = \"/bin/echo\"\n\n[[tool]]\nname = \
         \"worse\"\ndescription = \"x\"\nprogram = \"/no/such/program\"\n",
    );
    let said = folder.run(["tools", "add", text(&bad)]).assert_failure(1, "2 definitions are invalid");
    assert!(said.stderr.contains("bad.toml:2: tool \"Bad\": \"Bad\" is not in snake_case"), "{said:#?}");
    assert!(said.stderr.contains("bad.toml:7: tool \"worse\": "), "{said:#?}");
    let as_json = folder.run(["--json", "tools", "add", text(&bad)]);
    let error: Value = serde_json::from_str(&as_json.stderr).unwrap();
    assert_eq!(error["error"]["code"], "invalid_definition");
    assert_eq!(error["error"]["problems"].as_array().unwrap().len(), 2);
    let two = write(&folder, "two.toml", &format!("{HELLO}\n{}", HELLO.replace("\"hello\"\nd", "\"hi\"\nd")));
    let said = folder.run(["tools", "add", text(&two)]).assert_failure(1, "defines 2 tools");
    assert!(said.stderr.contains("tools.own"), "{said:#?}");
    folder.run(["tools", "test", text(&two)]).assert_failure(2, "defines several tools");
    folder.run(["tools", "test", text(&two), r#"{"who": "x"}"#, "--tool", "hi"]).assert_success();
    folder.run(["tools", "add", text(&write(&folder, "none.toml", ""))]).assert_failure(1, "defines no tool");
    folder.run(["tools", "add", "/nowhere.toml"]).assert_failure(1, "file not found: /nowhere.toml");
    assert!(!folder.file("tools").exists(), "nothing was written");
}

/// Definitions decide what the computer runs, so they never come over the network.
#[test]
fn tools_are_not_defined_on_a_remote_gateway() {
    let (here, there) = (CliHarness::new(), CliHarness::new());
    let gateway = there.serve_without_event(&[]);
    let url = gateway.url();
    let file = write(&here, "hello.toml", HELLO);
    for command in [["tools", "add", text(&file)], ["tools", "remove", "hello"]] {
        let said = here
            .run(command.iter().chain(&["--gateway", url.as_str()]))
            .assert_failure(1, "is not the gateway of");
        assert!(said.stderr.contains("run this command on the gateway's computer"), "{said:#?}");
    }
    assert!(!here.path().exists());
    there.run(["tools", "add", text(&file), "--gateway", &url]).assert_success();
}

#[test]
fn tools_in_the_owners_files_are_not_removed() {
    let folder = CliHarness::new();
    let mine = write(&folder, "mine.toml", HELLO);
    folder.write_settings(&format!("[tools]\nbuiltin = false\nown = [{:?}]\n", text(&mine)));
    let _gateway = folder.serve(&["--no-local-device"]);
    folder.run(["tools", "call", "own__hello", r#"{"who": "you"}"#]).assert_success();
    let place = format!("{} line 1", mine.display());
    folder.run(["tools", "remove", "hello"]).assert_failure(1, &place);
    let file = write(&folder, "hello.toml", HELLO);
    folder
        .run(["tools", "add", text(&file)])
        .assert_failure(1, &format!("this name is already used in {place}"));
    folder.run(["doctor"]).assert_success();
    std::fs::write(&mine, "\n[[tool]]\nname = \"hello\"\n").unwrap();
    let found = folder.run(["doctor"]);
    assert_eq!(found.code, 1, "{found:#?}");
    assert!(found.stdout.contains("mine.toml:2: tool \"hello\": missing field"), "{found:#?}");
}

/// Answers one request with its own content.
fn echo() -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let has_secret = head.contains("authorization: Bearer s3cret-word\r\n");
        let body = json!({"has_secret": has_secret, "path": head.split(' ').nth(1)}).to_string();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    });
    (url, serving)
}

#[test]
fn a_request_uses_a_stored_secret() {
    let folder = CliHarness::new();
    let (url, serving) = echo();
    let definition = format!(
        "[[tool]]\nkind = \"http\"\nname = \"weather\"\ndescription = \"Tells the weather\"\nurl = \
         \"{url}/now/{{city}}\"\nheaders = {{ Authorization = \"Bearer {{secret:weather_key}}\" }}\nresult_pointer = \
         \"\"\nallow_private_network = true\n[tool.parameters]\ntype = \"object\"\nrequired = [\"city\"]\nproperties.city = {{ type = \
         \"string\" }}\n"
    );
    let file = write(&folder, "weather.toml", &definition);
    let missing = folder
        .run(["tools", "add", text(&file)])
        .assert_failure(1, "there is no secret named \"weather_key\"");
    assert!(missing.stderr.contains("toolway secrets set weather_key"), "{missing:#?}");

    let set = folder.run_with_input(&["secrets", "set", "weather_key"], "s3cret-word\n").assert_success();
    assert!(!set.stdout.contains("s3cret") && !set.stderr.contains("s3cret"), "{set:#?}");
    let kept = folder.file("secrets/weather_key");
    assert_eq!((file_mode(&kept), file_mode(&folder.file("secrets"))), (0o600, 0o700));
    let listed = folder.run(["secrets", "list"]).assert_success().stdout;
    assert!(listed.contains("weather_key") && !listed.contains("s3cret"), "{listed}");

    let _gateway = folder.serve_without_event(&[]);
    folder.run(["tools", "add", text(&file)]).assert_success();
    let listed = folder.run(["tools", "list"]).assert_success().stdout;
    assert!(listed.contains("needs INTERNET, network.private"), "{listed}");
    let called = folder.json(&["tools", "call", "own__weather", r#"{"city": "Ulm / Donau"}"#]);
    assert_eq!(called["result"], json!({"has_secret": true, "path": "/now/Ulm%20%2F%20Donau"}));
    serving.join().unwrap();

    folder.run(["secrets", "remove", "weather_key"]).assert_success();
    folder
        .run(["secrets", "remove", "weather_key"])
        .assert_failure(1, "the data folder has no secret \"weather_key\"");
    let gone = folder.run(["tools", "call", "own__weather", r#"{"city": "Ulm"}"#]);
    gone.assert_failure(1, "there is no secret named \"weather_key\"");
}

#[cfg(target_os = "linux")]
#[test]
fn a_typed_secret_is_not_shown() {
    let folder = CliHarness::new();
    let mut typing = crate::terminal::TerminalHarness::start(&folder, &["secrets", "set", "key"], &[]);
    typing.wait_for_text("key (hidden): ");
    typing.type_line("s3cret-word");
    let (code, shown) = typing.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("stored key in") && !shown.contains("s3cret"), "{shown}");
    assert_eq!(std::fs::read_to_string(folder.file("secrets/key")).unwrap(), "s3cret-word");
}

#[cfg(target_os = "linux")]
#[test]
fn interrupting_a_trial_run_kills_every_process_it_started_e7() {
    let folder = CliHarness::new();
    let (script, started) = (folder.sibling_path("script"), folder.sibling_path("started"));
    std::fs::write(
        &script,
        format!("sleep 600 &\necho $! > {0}.new\nmv {0}.new {0}\nwait\n", started.display()),
    )
    .unwrap();
    let definition = format!(
        "[[tool]]\nname = \"slow\"\ndescription = \"Sleeps\"\nprogram = \"/bin/sh\"\nargs = [{script:?}]\ntimeout_s = \
         600\nset_env = {{ PATH = \"/usr/bin:/bin\" }}\n"
    );
    let file = write(&folder, "slow.toml", &definition);
    let trial = folder.start(["tools", "test", text(&file)]);
    let pid = wait_until_async(|| std::fs::read_to_string(&started).ok());
    trial.signal(rustix::process::Signal::INT);
    let (code, said) = trial.wait_for_exit();
    assert!(code == 1 && said.contains("interrupted"), "{code}: {said}");
    wait_until_async(|| {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next());
        matches!(state, None | Some('Z' | 'X')).then_some(())
    });
}

/// Polls until there is a value, with a timeout for slow machines.
#[cfg(target_os = "linux")]
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "there is no runtime here whose worker it could block")]
fn wait_until_async<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not come about");
}

#[test]
fn the_doctor_checks_tools_hooks_and_secrets() {
    let folder = CliHarness::new();
    folder.write_settings(
        "listen = \"127.0.0.1:0\"\n[[hooks]]\nname = \"watch\"\nkind = \"command\"\nprogram = \
         \"/no/such/program\"\non_failure = \"open\"\n[secrets]\nelsewhere = { file = \"not_there\" }\n",
    );
    folder.run_with_input(&["secrets", "set", "key"], "x").assert_success();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(folder.file("secrets/key"), open).unwrap();
    let found = folder.run(["doctor"]);
    assert_eq!(found.code, 1, "{found:#?}");
    for part in ["/no/such/program", "chmod 600", "secrets/key", "elsewhere: no secret in the file"] {
        assert!(found.stdout.contains(part), "{part:?} is not in {found:#?}");
    }
}

#[test]
fn a_backup_contains_the_owners_tools_and_secrets() {
    let folder = CliHarness::new();
    let file = write(&folder, "hello.toml", HELLO);
    folder.run(["tools", "add", text(&file)]).assert_success();
    folder.run_with_input(&["secrets", "set", "key"], "x").assert_success();
    folder.serve_without_event(&[]).stop();
    let backup = folder.sibling_path("backup.tar");
    folder.run(["backup", text(&backup)]).assert_success();
    let elsewhere = CliHarness::new();
    elsewhere.run(["restore", text(&backup), "--yes"]).assert_success();
    assert_eq!(file_mode(&elsewhere.file("secrets/key")), 0o600);
    elsewhere.run(["tools", "test", "hello", r#"{"who": "you"}"#]).assert_success();
    assert_eq!(elsewhere.json(&["secrets", "list"])["secrets"], json!(["key"]));
}
