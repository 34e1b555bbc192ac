//! Rules and grants: made, listed, asked about and taken back.

use serde_json::{Value, json};

use crate::support::{Ended, Folder};

const RULES: &str = "[policy]\ndefault = \"allow\"\n\n[[policy.rules]]\nname = \"no files\"\neffect = \"deny\"\nwhen = { \
                     tools = [\"builtin/*_file\"], roles = [\"client\"] }\n";

fn token(folder: &Folder, label: &str) -> (String, String) {
    let made = folder.json(&["tokens", "create", "--label", label]);
    let file = folder.beside(&format!("{label}.token"));
    std::fs::write(&file, made["token"].as_str().unwrap()).unwrap();
    (made["id"].as_str().unwrap().to_owned(), file.to_str().unwrap().to_owned())
}

fn test(folder: &Folder, name: &str, principal: &str) -> Value {
    folder.json(&["policy", "test", name, "--as", principal])
}

#[test]
fn which_rule_decides_is_told_with_its_place() {
    let folder = Folder::new();
    folder.settings(RULES);
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");

    let said = folder.run(["policy", "test", "read_file", "--as", "script"]).done().stdout;
    let place = format!("{}, line 4", folder.file("toolway.toml").display());
    for part in [
        "builtin/read_file",
        "denied, and not listed",
        "\"no files\" is the first rule that fits (1 of 1)",
        &place,
        "deny tools builtin/*_file, role client",
        &format!("{id} (client)"),
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let decided = test(&folder, "read_file", &id);
    assert_eq!((&decided["decision"]["rule"], &decided["place"]), (&json!("no files"), &json!(place)));
    // It is so.
    folder.run(["tools", "call", "read_file", "--token-file", &file]).failed(1, "(tool_not_available)");
    let listed = folder.json(&["tools", "list", "--token-file", &file]);
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert!(names.contains(&json!("get_current_time")) && !names.contains(&json!("read_file")), "{names:?}");

    let owner = folder.run(["policy", "test", "read_file", "--as", "owner"]).done().stdout;
    assert!(
        owner.contains("so the default holds (policy.default)") && owner.contains("allowed\n"),
        "{owner}"
    );
    folder
        .run(["policy", "test", "read_file", "--as", "nobody"])
        .failed(1, "no token with the id or the label");
    folder.run(["policy", "test", "nothing", "--as", "owner"]).failed(1, "Tool nothing is not available");

    let listed = folder.run(["policy", "list"]).done();
    assert!(listed.stdout.contains("no files") && listed.stdout.contains(&place), "{listed:#?}");
    assert!(listed.stderr.contains("else: allow (policy.default)"), "{listed:#?}");
    // What stands in a file is changed there.
    let in_file = |ended: Ended| {
        let said = ended.failed(1, &place);
        assert!(said.stderr.contains("change the file"), "{said:#?}");
    };
    in_file(folder.run(["policy", "remove", "no files"]));
    in_file(folder.run(["policy", "add", "no files", "--effect", "allow"]));
}

#[test]
fn rules_are_made_changed_put_in_order_and_removed() {
    let folder = Folder::new();
    folder.settings(RULES);
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");
    let call = || folder.run(["tools", "call", "get_current_time", "--token-file", &file]);
    call().done();

    let said = folder
        .run([
            "policy",
            "add",
            "quiet",
            "--effect",
            "deny",
            "--principal",
            "script",
            "--tool",
            "builtin/get_*",
        ])
        .done()
        .stdout;
    assert_eq!(said, format!("the rule quiet holds now: deny tools builtin/get_*, by {id}\n"));
    call().failed(1, "(tool_not_available)");

    // Before the other, so it decides.
    let first = ["policy", "add", "first", "--effect", "allow", "--before", "0", "--calls-per-minute", "1"];
    folder.run(first.iter().chain(&["--when", "tools = ['builtin/get_*']", "--read-only", "true"])).done();
    call().done();
    call().failed(1, "(rate_limited)");
    let policy = folder.json(&["policy", "list"]);
    let names: Vec<_> = policy["rules"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["no files", "first", "quiet"]);
    assert_eq!(
        policy["rules"][1]["rule"],
        json!({
            "when": {"tools": ["builtin/get_*"], "read_only": true}, "effect": "allow", "calls_per_minute": 1,
        })
    );
    let listed = folder.run(["policy", "list"]).done().stdout;
    assert!(listed.contains("1 a minute") && listed.contains("made here"), "{listed}");

    let changed = folder.json(&["policy", "add", "first", "--effect", "ask", "--caller-may-answer"]);
    assert_eq!(changed["new"], false);
    let asks = folder.run(["policy", "test", "get_current_time", "--as", "script"]).done().stdout;
    for part in
        ["allowed once a person has said yes", "the owner, or the caller", "\"first\" is the first rule"]
    {
        assert!(asks.contains(part), "{part:?} is not in {asks}");
    }
    for name in ["first", "quiet"] {
        folder.run(["policy", "remove", name]).done();
    }
    call().done();
    folder.run(["policy", "remove", "first"]).failed(1, "there is no rule \"first\"");
    folder.run(["policy", "add", "x", "--effect", "deny", "--tool", "a/[b"]).failed(1, "rule.when.tools");
    let roles = ["policy", "add", "x", "--effect", "deny", "--role", "king"];
    folder.run(roles).failed(1, "king");
}

#[test]
fn grants_are_given_beforehand_for_whom_they_are_meant() {
    let folder = Folder::new();
    folder.settings("[approval]\ndefault = \"always\"\n");
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");
    let (_, other) = token(&folder, "other");
    let call = |file: &str| folder.run(["tools", "call", "get_current_time", "--token-file", file]);
    call(&file).failed(1, "(approval_unavailable)");

    let given = folder.json(&["grants", "add", "builtin/get_*", "--for", "script", "--expires", "30d"]);
    assert_eq!(
        (&given["scope"], &given["principal"], &given["decision"]),
        (&json!("principal"), &json!(id), &json!("granted"))
    );
    call(&file).done();
    call(&other).failed(1, "(approval_unavailable)");
    let listed = folder.run(["grants", "list"]).done().stdout;
    for part in ["granted", "builtin/get_*", "to run", "script", "in 30 d", "owner"] {
        assert!(listed.contains(part), "{part:?} is not in {listed}");
    }
    // A no counts before a yes.
    let said = folder.run(["grants", "add", "builtin/*", "--deny"]).done();
    assert!(said.stdout.starts_with("denied: builtin/* to run, for anyone"), "{said:#?}");
    assert!(said.stderr.contains("to take it back: toolway grants revoke "), "{said:#?}");
    call(&file).failed(1, "(denied_always)");

    folder
        .run(["grants", "add", "builtin/*", "--for", "nobody"])
        .failed(1, "no token with the id or the label");
    folder.run(["grants", "add", "camera"]).failed(1, "which is not source/tool");
    folder.run(["tokens", "create", "--label", "script"]).done();
    let twice =
        folder.run(["grants", "add", "builtin/*", "--for", "script"]).failed(1, "2 tokens have the label");
    assert!(twice.stderr.contains(&id), "{twice:#?}");
}
