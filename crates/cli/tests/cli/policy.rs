//! Tests of rules and grants.

use serde_json::{Value, json};

use crate::support::{CliHarness, CommandOutput};

const RULES: &str = "[policy]\ndefault = \"allow\"\n\n[[policy.rules]]\nname = \"no files\"\neffect = \"deny\"\nwhen = { \
                     tools = [\"builtin/*_file\"], roles = [\"client\"] }\n";

fn token(folder: &CliHarness, label: &str) -> (String, String) {
    let made = folder.json(&["tokens", "create", "--label", label]);
    let file = folder.sibling_path(&format!("{label}.token"));
    std::fs::write(&file, made["token"].as_str().unwrap()).unwrap();
    (made["id"].as_str().unwrap().to_owned(), file.to_str().unwrap().to_owned())
}

fn test(folder: &CliHarness, name: &str, principal: &str) -> Value {
    folder.json(&["policy", "test", name, "--principal", principal])
}

#[test]
fn the_deciding_rule_is_shown_with_its_location() {
    let folder = CliHarness::new();
    folder.write_settings(RULES);
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");

    let said = folder.run(["policy", "test", "read_file", "--principal", "script"]).assert_success().stdout;
    let place = format!("{}, line 4", folder.file("toolway.toml").display());
    for part in [
        "builtin/read_file",
        "denied and hidden",
        "\"no files\" is the first matching rule (1 of 1)",
        &place,
        "deny tools builtin/*_file, role client",
        &format!("{id} (client)"),
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    let decided = test(&folder, "read_file", &id);
    assert_eq!(decided["decision"]["rule"], "no files");
    let path = folder.file("toolway.toml");
    assert_eq!(decided["origin"], json!({"kind": "settings", "path": path, "line": 4}));
    // The prediction matches the behaviour.
    folder
        .run(["tools", "call", "read_file", "--token-file", &file])
        .assert_failure(1, "(tool_not_available)");
    let listed = folder.json(&["tools", "list", "--token-file", &file]);
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert!(names.contains(&json!("get_current_time")) && !names.contains(&json!("read_file")), "{names:?}");

    let owner = folder.run(["policy", "test", "read_file", "--principal", "owner"]).assert_success().stdout;
    assert!(owner.contains("policy.default applies") && owner.contains("allowed\n"), "{owner}");
    folder
        .run(["policy", "test", "read_file", "--principal", "nobody"])
        .assert_failure(1, "no token has the id or label");
    folder
        .run(["policy", "test", "nothing", "--principal", "owner"])
        .assert_failure(1, "Tool nothing is not available");

    let listed = folder.run(["policy", "list"]).assert_success();
    assert!(listed.stdout.contains("no files") && listed.stdout.contains(&place), "{listed:#?}");
    assert!(listed.stderr.contains("default: allow (policy.default)"), "{listed:#?}");
    // Rules of a file are only changed in the file.
    let in_file = |ended: CommandOutput| {
        let said = ended.assert_failure(1, &place);
        assert!(said.stderr.contains("change the file"), "{said:#?}");
    };
    in_file(folder.run(["policy", "remove", "no files"]));
    in_file(folder.run(["policy", "add", "no files", "--effect", "allow"]));
}

#[test]
fn rules_are_created_changed_ordered_and_removed() {
    let folder = CliHarness::new();
    folder.write_settings(RULES);
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");
    let call = || folder.run(["tools", "call", "get_current_time", "--token-file", &file]);
    call().assert_success();

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
        .assert_success()
        .stdout;
    assert_eq!(said, format!("added the rule quiet: deny tools builtin/get_*, by {id}\n"));
    call().assert_failure(1, "(tool_not_available)");

    // It comes before the other rule, so it decides.
    let first = ["policy", "add", "first", "--effect", "allow", "--before", "0", "--calls-per-minute", "1"];
    folder
        .run(first.iter().chain(&["--when", "tools = ['builtin/get_*']", "--read-only", "true"]))
        .assert_success();
    call().assert_success();
    call().assert_failure(1, "(rate_limited)");
    let policy = folder.json(&["policy", "list"]);
    let names: Vec<_> = policy["rules"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["no files", "first", "quiet"]);
    assert_eq!(
        policy["rules"][1]["rule"],
        json!({
            "when": {"tools": ["builtin/get_*"], "read_only": true}, "effect": "allow", "calls_per_minute": 1,
        })
    );
    let listed = folder.run(["policy", "list"]).assert_success().stdout;
    assert!(listed.contains("1 per minute") && listed.contains("database"), "{listed}");

    let changed = folder.json(&["policy", "add", "first", "--effect", "ask", "--caller-may-answer"]);
    assert_eq!(changed["new"], false);
    let asks =
        folder.run(["policy", "test", "get_current_time", "--principal", "script"]).assert_success().stdout;
    for part in ["allowed after approval", "the owner or the caller", "\"first\" is the first matching rule"]
    {
        assert!(asks.contains(part), "{part:?} is not in {asks}");
    }
    for name in ["first", "quiet"] {
        folder.run(["policy", "remove", name]).assert_success();
    }
    call().assert_success();
    folder.run(["policy", "remove", "first"]).assert_failure(1, "there is no rule \"first\"");
    folder
        .run(["policy", "add", "x", "--effect", "deny", "--tool", "a/[b"])
        .assert_failure(1, "rule.when.tools");
    let roles = ["policy", "add", "x", "--effect", "deny", "--role", "king"];
    folder.run(roles).assert_failure(1, "king");
}

#[test]
fn grants_apply_only_to_their_principals() {
    let folder = CliHarness::new();
    folder.write_settings("[approval]\ndefault = \"always\"\n");
    let _gateway = folder.serve(&["--no-local-device"]);
    let (id, file) = token(&folder, "script");
    let (_, other) = token(&folder, "other");
    let call = |file: &str| folder.run(["tools", "call", "get_current_time", "--token-file", file]);
    call(&file).assert_failure(1, "(approval_unavailable)");

    let given = folder.json(&["grants", "add", "builtin/get_*", "--principal", "script", "--expires", "30d"]);
    assert_eq!(
        (&given["scope"], &given["principal"], &given["decision"]),
        (&json!("principal"), &json!(id), &json!("granted"))
    );
    call(&file).assert_success();
    call(&other).assert_failure(1, "(approval_unavailable)");
    let listed = folder.run(["grants", "list"]).assert_success().stdout;
    for part in ["granted", "builtin/get_*", "to run", "script", "in 30 d", "owner"] {
        assert!(listed.contains(part), "{part:?} is not in {listed}");
    }
    // A denial takes precedence over a grant.
    let said = folder.run(["grants", "add", "builtin/*", "--deny"]).assert_success();
    assert!(said.stdout.starts_with("denied: builtin/* to run, for anyone"), "{said:#?}");
    assert!(said.stderr.contains("to revoke it: toolway grants revoke "), "{said:#?}");
    call(&file).assert_failure(1, "(denied_always)");

    folder
        .run(["grants", "add", "builtin/*", "--principal", "nobody"])
        .assert_failure(1, "no token has the id or label");
    folder.run(["grants", "add", "camera"]).assert_failure(1, "it must be a pattern for source/tool");
    folder.run(["tokens", "create", "--label", "script"]).assert_success();
    let twice = folder
        .run(["grants", "add", "builtin/*", "--principal", "script"])
        .assert_failure(1, "2 tokens have the label");
    assert!(twice.stderr.contains(&id), "{twice:#?}");
}
