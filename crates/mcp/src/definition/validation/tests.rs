use serde_json::{Value, json};

use super::*;

/// The fields that something is wrong with.
#[track_caller]
fn flaws(definition: Value) -> Vec<String> {
    let definition: ServerDefinition = serde_json::from_value(definition).expect("the form is right");
    let flaws = definition.check().err().unwrap_or_default();
    for flaw in &flaws {
        assert!(!flaw.hint.is_empty(), "{flaw} has a hint");
    }
    flaws.into_iter().map(|flaw| flaw.field).collect()
}

#[test]
fn what_is_right_passes() {
    for definition in [
        json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "b", "T": "secret:t_1-x"}, "cwd": "/srv"}),
        json!({"command": "/opt/my server/run", "sampling": true, "roots": true, "disabled": true}),
        json!({"url": "https://x.example/mcp?a=b", "headers": {"Authorization": "Bearer x"}, "transport": "sse"}),
        json!({"url": "http://127.0.0.1:8080/mcp", "headers": {"X-Key": "secret:k"}}),
        json!({"url": "https://x.example", "oauth": {}}),
        json!({"url": "https://x.example", "oauth": {"client_id": "c", "client_secret": "secret:s", "scopes": ["a:b"]}}),
    ] {
        assert_eq!(flaws(definition.clone()), Vec::<String>::new(), "{definition}");
    }
}

#[test]
fn it_is_a_command_or_an_address() {
    assert_eq!(flaws(json!({})), ["command"]);
    assert_eq!(flaws(json!({"command": "a", "url": "https://x.example"})), ["url"]);
    assert_eq!(
        flaws(json!({"command": "a", "headers": {"A": "b"}, "transport": "sse", "oauth": {}})),
        ["headers", "transport", "oauth"]
    );
    assert_eq!(
        flaws(json!({"url": "https://x.example", "args": ["a"], "env": {"A": "b"}, "cwd": "/"})),
        ["args", "env", "cwd"]
    );
}

#[test]
fn commands_are_whole() {
    for command in ["", "  ", "./run", "bin/run", "npx -y server", "a\0b"] {
        assert_eq!(flaws(json!({"command": command})), ["command"], "{command:?}");
    }
    assert_eq!(flaws(json!({"command": "a", "args": ["ok", "x\0"]})), ["args[1]"]);
    assert_eq!(flaws(json!({"command": "a", "env": {"A=B": "x", "": "y"}})), ["env.", "env.A=B"]);
    assert_eq!(
        flaws(json!({"command": "a", "env": {"A": "secret:../x", "B": "secret:"}})),
        ["env.A", "env.B"]
    );
    assert_eq!(flaws(json!({"command": "a", "cwd": ""})), ["cwd"]);
    assert_eq!(flaws(json!({"command": "a", "args": vec!["x"; 257]})), ["args"]);
}

#[test]
fn addresses_are_of_the_web_and_hold_no_user() {
    for url in [
        "x.example",
        "ftp://x.example",
        "https://",
        "file:///etc/passwd",
        "https://u:p@x.example",
        "https://u@x.example",
        "https://x.example/#a",
        "",
        "stdio:",
    ] {
        assert_eq!(flaws(json!({"url": url})), ["url"], "{url:?}");
    }
}

#[test]
fn headers_can_be_sent_and_are_not_the_protocol_s_own() {
    for name in [
        "Host",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "content-type",
        "Accept",
        "Mcp-Param-City",
        "a b",
        "ä",
    ] {
        assert_eq!(
            flaws(json!({"url": "https://x.example", "headers": {name: "x"}})),
            [format!("headers.{name}")]
        );
    }
    assert_eq!(flaws(json!({"url": "https://x.example", "headers": {"A": "b\nc"}})), ["headers.A"]);
    assert_eq!(
        flaws(json!({"url": "https://x.example", "headers": {"authorization": "x"}, "oauth": {}})),
        ["oauth"]
    );
}

#[test]
fn oauth_names_its_secret() {
    let with = |oauth: Value| json!({"url": "https://x.example", "oauth": oauth});
    assert_eq!(flaws(with(json!({"client_id": "c", "client_secret": "plain"}))), ["oauth.client_secret"]);
    assert_eq!(flaws(with(json!({"client_secret": "secret:s"}))), ["oauth.client_secret"]);
    assert_eq!(flaws(with(json!({"client_id": " "}))), ["oauth.client_id"]);
    assert_eq!(
        flaws(with(json!({"issuer": "http://i.example", "client_metadata_url": "x"}))),
        ["oauth.issuer", "oauth.client_metadata_url"]
    );
    assert_eq!(flaws(with(json!({"issuer": "http://127.0.0.1:8/i"}))), Vec::<String>::new());
    assert_eq!(flaws(with(json!({"scopes": ["a b", "", "ok"]}))), ["oauth.scopes", "oauth.scopes"]);
}

#[test]
fn names_are_slugs_and_not_reserved() {
    assert_eq!(check_name("my-notes2").unwrap().as_str(), "my-notes2");
    for name in ["", "My", "2nd", "a_b", "builtin", "own", "shared", "abcdefghijklmnopqrstuvwxy"] {
        let flaw = check_name(name).expect_err(name);
        assert_eq!(flaw.field, "name");
        assert!(!flaw.hint.is_empty());
    }
}
