//! Tests of `toolway device` with a gateway, each in its own process and with its own data folder.

use crate::support::{CliHarness, RunningProcess, file_mode};

/// A gateway, and the folder of another machine.
struct DeviceHarness {
    gateway_machine: CliHarness,
    device_machine: CliHarness,
    gateway: RunningProcess,
}

fn pair(flags: &[&str]) -> DeviceHarness {
    let here = CliHarness::new();
    let gateway = here.serve(&[&["--no-local-device"], flags].concat());
    DeviceHarness { gateway_machine: here, device_machine: CliHarness::new(), gateway }
}

impl DeviceHarness {
    fn code(&self) -> String {
        self.gateway_machine.json(&["pair"])["code"].as_str().unwrap().to_owned()
    }

    fn device(&self, more: &[&str]) -> RunningProcess {
        self.device_machine.start(["--json", "device"].iter().chain(more))
    }

    fn status(&self) -> String {
        self.gateway_machine.json(&["devices", "list"])["devices"][0]["status"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_device_pairs_once_and_reconnects_without_a_code() {
    let pair = pair(&["--tls", "on"]);
    let (url, code) = (pair.gateway.url(), pair.code());
    let mut device = pair.device(&["--gateway", &url, "--pair", &code, "--name", "Lap Top"]);
    let paired = device.wait_for_event("paired");
    let file = std::path::PathBuf::from(paired["file"].as_str().unwrap());
    assert_eq!((file_mode(&file), file_mode(file.parent().unwrap())), (0o600, 0o700));
    let connected = device.wait_for_event("connected");
    assert_eq!(connected["source"], "lap-top");
    assert!(connected["tools"].as_u64().unwrap() >= 4);
    pair.gateway_machine.run(["tools", "call", "lap-top__disk_usage"]).assert_success();
    let (code_of_end, said) = device.stop();
    assert_eq!(code_of_end, 0, "{said}");
    assert_eq!(pair.status(), "offline");

    let mut again = pair.device(&[]);
    assert_eq!(again.wait_for_event("connected")["source"], "lap-top");
    again.stop();
    // Repeat the first command, like a service manager: the code is used up, but the stored credentials work.
    let mut same = pair.device(&["--gateway", &url, "--pair", &code, "--name", "Lap Top"]);
    assert_eq!(same.wait_for_event("connected")["source"], "lap-top");
    same.stop();
    // Another machine cannot use the code again.
    let other = CliHarness::new();
    other
        .run(["device", "--gateway", &url, "--pair", &code])
        .assert_failure(1, "the gateway refused the code");
}

#[test]
fn a_revoked_device_stops_and_reports_it_r17() {
    let pair = pair(&[]);
    let mut device = pair.device(&["--gateway", &pair.gateway.url(), "--pair", &pair.code()]);
    let source = device.wait_for_event("connected")["source"].as_str().unwrap().to_owned();
    pair.gateway_machine.run(["devices", "revoke", &source]).assert_success();
    let (code, said) = device.wait_for_exit();
    assert_eq!(code, 1);
    let error: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["code"], "token_revoked", "{said}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("pair again"), "{said}");
    pair.device_machine.run(["device"]).assert_failure(1, "revoked");
}

#[test]
fn a_connected_device_without_tools_is_reported_r16() {
    let here = CliHarness::new();
    here.write_settings("[[registration.rules]]\nsources = [\"mute\"]\nnames = [\"none\"]\n");
    let gateway = here.serve(&["--no-local-device"]);
    let pair = DeviceHarness { gateway_machine: here, device_machine: CliHarness::new(), gateway };
    let mut device =
        pair.device(&["--gateway", &pair.gateway.url(), "--pair", &pair.code(), "--name", "Mute"]);
    assert_eq!(device.wait_for_event("connected")["source"], "mute");
    let said = "mute: It is connected, but offers no tools.";
    let listed = pair.gateway_machine.run(["devices", "list"]).assert_success();
    assert!(listed.stdout.contains("online"), "{listed:#?}");
    assert!(listed.stderr.contains(&format!("warning: {said}")), "{listed:#?}");
    let found = pair.gateway_machine.run(["doctor"]).assert_success();
    assert!(found.stdout.contains(said), "{found:#?}");
    device.stop();
    // A disconnected device without tools causes no warning.
    let listed = pair.gateway_machine.run(["devices", "list"]).assert_success();
    assert!(listed.stdout.contains("offline"), "{listed:#?}");
    assert_eq!(listed.stderr, "");
    assert!(!pair.gateway_machine.run(["doctor"]).assert_success().stdout.contains(said));
}

#[test]
fn another_key_is_rejected_before_the_code_is_sent() {
    let pair = pair(&["--tls", "on"]);
    let code = pair.code();
    let other = match code.strip_suffix('0') {
        Some(start) => format!("{start}1"),
        None => format!("{}0", &code[..code.len() - 1]),
    };
    let url = pair.gateway.url();
    let refused = pair
        .device_machine
        .run(["device", "--gateway", &url, "--pair", &other])
        .assert_failure(1, "the gateway's key is");
    assert!(refused.stderr.contains("the code was not sent"), "{refused:#?}");
    let mut device = pair.device(&["--gateway", &url, "--pair", &code]);
    device.wait_for_event("connected");
}

#[test]
fn a_link_is_enough_to_pair() {
    let pair = pair(&["--tls", "on"]);
    let link = pair.gateway_machine.json(&["pair"])["link"].as_str().unwrap().to_owned();
    let mut device = pair.device(&["--pair", &link]);
    device.wait_for_event("connected");
}

#[test]
fn commands_in_a_file_become_tools() {
    let pair = pair(&[]);
    let tools = pair.device_machine.sibling_path("tools.toml");
    std::fs::write(
        &tools,
        "[[tool]]\nname = \"echo\"\ndescription = \"Says it again\"\nprogram = \"/bin/echo\"\nargs = [\"{text}\"]\n\
         [tool.parameters]\ntype = \"object\"\nproperties.text = { type = \"string\" }\n",
    )
    .unwrap();
    let (url, code) = (pair.gateway.url(), pair.code());
    let arguments = ["--gateway", &url, "--pair", &code, "--name", "box", "--tools", tools.to_str().unwrap()];
    let mut device = pair.device(&arguments);
    device.wait_for_event("connected");
    let said = pair.gateway_machine.json(&["tools", "call", "box__echo", "{\"text\": \"$(id); hello\"}"]);
    assert_eq!(said["result"]["stdout"], "$(id); hello\n", "{said}");
    drop(device);

    std::fs::write(&tools, "[[tool]]\nname = \"x\"\n").unwrap();
    let code = pair.code();
    let wrong = ["device", "--gateway", &url, "--pair", &code, "--tools", tools.to_str().unwrap()];
    CliHarness::new().run(wrong).assert_failure(1, "tools.toml");
    let mut unspent = CliHarness::new().start(["--json", "device", "--gateway", &url, "--pair", &code]);
    unspent.wait_for_event("connected");
}

#[test]
fn a_token_replaces_pairing() {
    let pair = pair(&[]);
    let token = pair.device_machine.sibling_path("token");
    let made = pair.gateway_machine.run(["tokens", "create", "--role", "device"]).assert_success();
    std::fs::write(&token, made.stdout).unwrap();
    let url = pair.gateway.url();
    let mut device =
        pair.device(&["--gateway", &url, "--token-file", token.to_str().unwrap(), "--name", "Box"]);
    assert_eq!(device.wait_for_event("connected")["source"], "box");
    assert!(!pair.device_machine.file("devices").exists(), "nothing is kept of a token that lies elsewhere");
}
