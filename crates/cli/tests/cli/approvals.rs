//! Questions that calls wait with: asked at a terminal, watched, listed and answered.

use serde_json::{Value, json};

use crate::support::{Folder, Running, until};
use crate::terminal::Terminal;

const ASKS: &str = "[approval]\ndefault = \"always\"\n";

fn serve(settings: &str) -> (Folder, Running) {
    let folder = Folder::new();
    folder.settings(settings);
    let gateway = folder.serve(&["--no-local-device"]);
    (folder, gateway)
}

/// Without colours, so that what is shown can be compared.
fn terminal(folder: &Folder, arguments: &[&str]) -> Terminal {
    Terminal::start(folder, arguments, &[("NO_COLOR", "1")])
}

/// A call that somebody else makes, and what it ends in.
fn call(folder: &Folder) -> Running {
    folder.start(["--json", "tools", "call", "get_current_time"])
}

fn outcome(call: &Running) -> Value {
    serde_json::from_str(&call.line(std::time::Duration::from_secs(60)).unwrap()).unwrap()
}

#[test]
fn whoever_calls_at_a_terminal_is_asked_there() {
    let (folder, _gateway) = serve(ASKS);
    let mut call = terminal(&folder, &["tools", "call", "get_current_time", r#"{"timezone": "UTC"}"#]);
    call.says("? calls of builtin/get_current_time wait for approval");
    call.says("caller    owner");
    call.says(r#"arguments {"timezone": "UTC"}"#);
    call.says("[g]rant once, [a]lways, [d]eny, [n]ever?");
    call.answers("perhaps", "[g]rant once");
    call.answers("g", "builtin/get_current_time: granted once");
    let (code, shown) = call.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("+00:00") || shown.contains('Z'), "{shown}");

    let mut call = terminal(&folder, &["tools", "call", "get_current_time"]);
    call.answers("d", "builtin/get_current_time: denied");
    let (code, shown) = call.end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("was denied by the user (denied)"), "{shown}");
}

#[test]
fn where_nobody_sits_the_call_ends_at_once_and_says_what_to_do() {
    let (folder, _gateway) = serve(ASKS);
    let piped = folder.run(["tools", "call", "get_current_time"]).failed(1, "(approval_unavailable)");
    assert!(piped.stderr.contains("toolway grants add builtin/get_current_time --for owner"), "{piped:#?}");
    let as_json = folder.run(["--json", "tools", "call", "get_current_time"]);
    assert_eq!(as_json.json()["code"], "approval_unavailable");
    let (code, shown) = terminal(&folder, &["tools", "call", "--no-ask", "get_current_time"]).end();
    assert!(code == 1 && shown.contains("(approval_unavailable)"), "{code}: {shown}");
    // What the hint says works.
    folder.run(["grants", "add", "builtin/get_current_time", "--for", "owner"]).done();
    folder.run(["tools", "call", "get_current_time"]).done();
}

#[test]
fn e8_what_is_granted_for_always_is_not_asked_again_until_it_is_revoked() {
    let (folder, _gateway) = serve(ASKS);
    let mut first = terminal(&folder, &["tools", "call", "get_current_time"]);
    first.says("[a]lways");
    first.answers("a", "granted always");
    assert_eq!(first.end().0, 0);
    folder.run(["tools", "call", "get_current_time"]).done();
    let listed = folder.run(["grants", "list"]).done().stdout;
    assert!(listed.contains("granted") && listed.contains("builtin/get_current_time"), "{listed}");
    let grants = folder.json(&["grants", "list"]);
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).done();
    folder.run(["tools", "call", "get_current_time"]).failed(1, "(approval_unavailable)");
    folder.run(["grants", "revoke", "nothing"]).failed(1, "there is no grant \"nothing\"");
}

#[test]
fn an_owner_who_watches_at_a_terminal_is_asked() {
    let (folder, _gateway) = serve(ASKS);
    let mut watching = terminal(&folder, &["approvals", "watch"]);
    watching.says("waiting for questions");
    // The gateway counts who watches: until it does, calls end at once.
    let calls = until(|| {
        let call = call(&folder);
        let open = until(|| {
            let open = folder.json(&["approvals", "list"])["approvals"].as_array()?.len();
            (open > 0 || call.line(std::time::Duration::from_millis(1)).is_some()).then_some(open)
        });
        (open > 0).then_some(call)
    });
    watching.says("tool      builtin/get_current_time");
    watching.answers("g", "granted once");
    assert_eq!(outcome(&calls)["status"], "success");

    let other = call(&folder);
    watching.says("[n]ever?");
    let question = folder.json(&["approvals", "list"])["approvals"][0].clone();
    folder.run(["approvals", "answer", question["id"].as_str().unwrap(), "--deny"]).done();
    watching.says("(builtin/get_current_time: denied by owner)");
    assert_eq!(outcome(&other)["code"], "denied");
}

#[test]
fn programs_watch_and_answer() {
    let (folder, gateway) = serve(ASKS);
    let mut watching = folder.start(["--json", "approvals", "watch"]);
    let mut asked = None;
    let first = until(|| {
        let call = call(&folder);
        let line = watching.line(std::time::Duration::from_millis(200))?;
        asked = Some(serde_json::from_str::<Value>(&line).unwrap());
        Some(call)
    });
    let asked = asked.unwrap();
    assert_eq!(
        (&asked["event"], &asked["kind"], &asked["tool_id"], &asked["principal"]),
        (&json!("asked"), &json!("approval"), &json!("builtin/get_current_time"), &json!("owner"))
    );
    let listed = folder.run(["approvals", "list"]).done().stdout;
    assert!(listed.contains("builtin/get_current_time") && listed.contains("to run"), "{listed}");
    let id = asked["id"].as_str().unwrap();
    folder
        .run(["approvals", "answer", id, "--grant", "--scope", "session"])
        .failed(1, "belongs to no session");
    folder.run(["approvals", "answer", id, "--deny-always"]).done();
    let over = watching.event("over");
    assert_eq!(
        (&over["how"], &over["decision"], &over["scope"], &over["by"]),
        (&json!("answered"), &json!("denied_always"), &json!("always"), &json!("owner"))
    );
    assert_eq!(outcome(&first)["code"], "denied_always");
    folder.run(["approvals", "answer", id, "--grant"]).failed(1, "no question with this id is open");
    let again = folder.run(["tools", "call", "get_current_time"]).failed(1, "(denied_always)");
    assert!(again.stderr.contains("toolway grants revoke"), "{again:#?}");

    gateway.stop();
    let (code, said) = watching.end();
    assert!(code == 1 && said.contains("connection_lost"), "{code}: {said}");
}

#[test]
fn a_client_answers_for_its_own_call_where_the_rules_let_it_and_for_no_longer_than_it_may() {
    let (folder, gateway) = serve(
        "[[policy.rules]]\nname = \"time\"\nwhen = { tools = [\"builtin/*\"] }\neffect = \"ask\"\ncaller_may_answer = true\n",
    );
    let token = folder.run(["tokens", "create", "--label", "script"]).done().stdout;
    let file = folder.beside("token");
    std::fs::write(&file, &token).unwrap();
    let file = file.to_str().unwrap();
    let elsewhere = Folder::new();
    let url = gateway.url();
    let arguments = ["tools", "call", "get_current_time", "--gateway", &url, "--token-file", file];
    let mut call = terminal(&elsewhere, &arguments);
    call.says("the rule \"time\" asks");
    call.says("[g]rant once, [d]eny?");
    call.answers("a", "[g]rant once, [d]eny?");
    call.answers("g", "granted once");
    assert_eq!(call.end().0, 0);
    let watch = ["approvals", "watch", "--gateway", &url, "--token-file", file];
    elsewhere.run(watch).failed(1, "error: ");
}
