//! Tests of approvals: asked at a terminal, watched, listed and answered.

use serde_json::{Value, json};

use crate::support::{CliHarness, RunningProcess, wait_until};
use crate::terminal::TerminalHarness;

const ASKS: &str = "[approval]\ndefault = \"always\"\n";

fn serve(settings: &str) -> (CliHarness, RunningProcess) {
    let folder = CliHarness::new();
    folder.write_settings(settings);
    let gateway = folder.serve(&["--no-local-device"]);
    (folder, gateway)
}

/// Starts a terminal without colours, so that the output can be compared.
fn start_terminal(folder: &CliHarness, arguments: &[&str]) -> TerminalHarness {
    TerminalHarness::start(folder, arguments, &[("NO_COLOR", "1")])
}

/// Starts a call of another client.
fn start_call(folder: &CliHarness) -> RunningProcess {
    folder.start(["--json", "tools", "call", "get_current_time"])
}

fn call_outcome(call: &RunningProcess) -> Value {
    serde_json::from_str(&call.next_line(std::time::Duration::from_secs(60)).unwrap()).unwrap()
}

#[test]
fn a_caller_at_a_terminal_is_asked_there() {
    let (folder, _gateway) = serve(ASKS);
    let mut call = start_terminal(&folder, &["tools", "call", "get_current_time", r#"{"timezone": "UTC"}"#]);
    call.wait_for_text("? calls of builtin/get_current_time wait for approval");
    call.wait_for_text("caller    owner");
    call.wait_for_text(r#"arguments {"timezone": "UTC"}"#);
    call.wait_for_text("[g]rant once, [a]lways, [d]eny, [n]ever?");
    call.type_answer("perhaps", "[g]rant once");
    call.type_answer("g", "builtin/get_current_time: granted once");
    let (code, shown) = call.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("+00:00") || shown.contains('Z'), "{shown}");

    let mut call = start_terminal(&folder, &["tools", "call", "get_current_time"]);
    call.type_answer("d", "builtin/get_current_time: denied");
    let (code, shown) = call.wait_for_exit();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("was denied by the user (denied)"), "{shown}");
}

#[test]
fn without_a_terminal_the_call_fails_with_a_hint() {
    let (folder, _gateway) = serve(ASKS);
    let piped = folder.run(["tools", "call", "get_current_time"]).assert_failure(1, "(approval_unavailable)");
    assert!(piped.stderr.contains("toolway grants add builtin/get_current_time --for owner"), "{piped:#?}");
    let as_json = folder.run(["--json", "tools", "call", "get_current_time"]);
    assert_eq!(as_json.json()["code"], "approval_unavailable");
    let (code, shown) =
        start_terminal(&folder, &["tools", "call", "--non-interactive", "get_current_time"]).wait_for_exit();
    assert!(code == 1 && shown.contains("(approval_unavailable)"), "{code}: {shown}");
    // The command in the hint works.
    folder.run(["grants", "add", "builtin/get_current_time", "--principal", "owner"]).assert_success();
    folder.run(["tools", "call", "get_current_time"]).assert_success();
}

#[test]
fn a_permanent_grant_prevents_further_questions_until_it_is_revoked_e8() {
    let (folder, _gateway) = serve(ASKS);
    let mut first = start_terminal(&folder, &["tools", "call", "get_current_time"]);
    first.wait_for_text("[a]lways");
    first.type_answer("a", "granted always");
    assert_eq!(first.wait_for_exit().0, 0);
    folder.run(["tools", "call", "get_current_time"]).assert_success();
    let listed = folder.run(["grants", "list"]).assert_success().stdout;
    assert!(listed.contains("granted") && listed.contains("builtin/get_current_time"), "{listed}");
    let grants = folder.json(&["grants", "list"]);
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).assert_success();
    folder.run(["tools", "call", "get_current_time"]).assert_failure(1, "(approval_unavailable)");
    folder.run(["grants", "revoke", "nothing"]).assert_failure(1, "there is no grant \"nothing\"");
}

#[test]
fn a_watching_owner_is_asked() {
    let (folder, _gateway) = serve(ASKS);
    let mut watching = start_terminal(&folder, &["approvals", "watch"]);
    watching.wait_for_text("waiting for approvals");
    // Without a registered watcher, calls fail immediately.
    let calls = wait_until(|| {
        let call = start_call(&folder);
        let open = wait_until(|| {
            let open = folder.json(&["approvals", "list"])["approvals"].as_array()?.len();
            (open > 0 || call.next_line(std::time::Duration::from_millis(1)).is_some()).then_some(open)
        });
        (open > 0).then_some(call)
    });
    watching.wait_for_text("tool      builtin/get_current_time");
    watching.type_answer("g", "granted once");
    assert_eq!(call_outcome(&calls)["status"], "success");

    let other = start_call(&folder);
    watching.wait_for_text("[n]ever?");
    let question = folder.json(&["approvals", "list"])["approvals"][0].clone();
    folder.run(["approvals", "answer", question["id"].as_str().unwrap(), "--deny"]).assert_success();
    watching.wait_for_text("(builtin/get_current_time: denied by owner)");
    assert_eq!(call_outcome(&other)["code"], "denied");
}

#[test]
fn programs_can_watch_and_answer() {
    let (folder, gateway) = serve(ASKS);
    let mut watching = folder.start(["--json", "approvals", "watch"]);
    let mut asked = None;
    let first = wait_until(|| {
        let call = start_call(&folder);
        let line = watching.next_line(std::time::Duration::from_millis(200))?;
        asked = Some(serde_json::from_str::<Value>(&line).unwrap());
        Some(call)
    });
    let asked = asked.unwrap();
    assert_eq!(
        (&asked["event"], &asked["kind"], &asked["tool_id"], &asked["principal"]),
        (
            &json!("approval_requested"),
            &json!("approval"),
            &json!("builtin/get_current_time"),
            &json!("owner")
        )
    );
    let listed = folder.run(["approvals", "list"]).assert_success().stdout;
    assert!(listed.contains("builtin/get_current_time") && listed.contains("to run"), "{listed}");
    let id = asked["id"].as_str().unwrap();
    folder
        .run(["approvals", "answer", id, "--grant", "--scope", "session"])
        .assert_failure(1, "belongs to no session");
    folder.run(["approvals", "answer", id, "--deny-always"]).assert_success();
    let over = watching.wait_for_event("approval_resolved");
    assert_eq!(
        (&over["resolution"], &over["decision"], &over["scope"], &over["answered_by"]),
        (&json!("answered"), &json!("denied_always"), &json!("always"), &json!("owner"))
    );
    assert_eq!(call_outcome(&first)["code"], "denied_always");
    folder.run(["approvals", "answer", id, "--grant"]).assert_failure(1, "no question with this id is open");
    let again = folder.run(["tools", "call", "get_current_time"]).assert_failure(1, "(denied_always)");
    assert!(again.stderr.contains("toolway grants revoke"), "{again:#?}");

    gateway.stop();
    let (code, said) = watching.wait_for_exit();
    assert!(code == 1 && said.contains("connection_lost"), "{code}: {said}");
}

#[test]
fn a_client_may_answer_its_own_call_only_within_the_rules() {
    let (folder, gateway) = serve(
        "[[policy.rules]]\nname = \"time\"\nwhen = { tools = [\"builtin/*\"] }\neffect = \"ask\"\ncaller_may_answer = true\n",
    );
    let token = folder.run(["tokens", "create", "--label", "script"]).assert_success().stdout;
    let file = folder.sibling_path("token");
    std::fs::write(&file, &token).unwrap();
    let file = file.to_str().unwrap();
    let elsewhere = CliHarness::new();
    let url = gateway.url();
    let arguments = ["tools", "call", "get_current_time", "--gateway", &url, "--token-file", file];
    let mut call = start_terminal(&elsewhere, &arguments);
    call.wait_for_text("the rule \"time\" asks");
    call.wait_for_text("[g]rant once, [d]eny?");
    call.type_answer("a", "[g]rant once, [d]eny?");
    call.type_answer("g", "granted once");
    assert_eq!(call.wait_for_exit().0, 0);
    let watch = ["approvals", "watch", "--gateway", &url, "--token-file", file];
    elsewhere.run(watch).assert_failure(1, "error: ");
}
