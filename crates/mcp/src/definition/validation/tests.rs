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
fn a_grant_without_a_person_names_its_client_its_issuer_and_its_secrets() {
    let with = |oauth: Value| json!({"url": "https://x.example", "oauth": oauth});
    let client = json!({"client_id": "c", "issuer": "https://i.example", "client_secret": "secret:s"});
    let over = |top: Value| {
        let mut oauth = client.clone();
        oauth.as_object_mut().unwrap().extend(top.as_object().unwrap().clone());
        with(oauth)
    };
    let provider = json!({"issuer": "https://idp.example", "client_id": "p", "subject_token": "secret:t"});
    for right in [
        json!({"grant": "client_credentials", "dpop": true}),
        json!({"grant": "client_credentials", "client_secret": null, "private_key": "secret:k"}),
        json!({"grant": "jwt_bearer", "client_secret": null, "assertion": "secret:a"}),
        json!({"grant": "jwt_bearer", "client_secret": null, "private_key": "secret:k", "subject": "s"}),
        json!({"grant": "enterprise_managed", "identity_provider": provider}),
    ] {
        assert_eq!(flaws(over(right.clone())), Vec::<String>::new(), "{right}");
    }
    for (wrong, fields) in [
        (json!({"grant": "client_credentials", "issuer": null}), ["oauth.issuer"].as_slice()),
        (json!({"grant": "client_credentials", "client_secret": null}), &["oauth.client_secret"]),
        (json!({"grant": "client_credentials", "private_key": "-----BEGIN"}), &["oauth.private_key"]),
        (json!({"grant": "jwt_bearer"}), &["oauth.assertion"]),
        (json!({"grant": "enterprise_managed"}), &["oauth.identity_provider"]),
        (
            json!({"grant": "enterprise_managed", "identity_provider": {"issuer": "x", "subject_token": "e.y.J"}}),
            &[
                "oauth.identity_provider.subject_token",
                "oauth.identity_provider.client_id",
                "oauth.identity_provider.issuer",
            ],
        ),
        (json!({"assertion": "secret:a", "subject": "s"}), &["oauth.assertion", "oauth.subject"]),
        (json!({"identity_provider": provider}), &["oauth.identity_provider"]),
    ] {
        assert_eq!(flaws(over(wrong.clone())), fields, "{wrong}");
    }
    let nothing = with(json!({"grant": "client_credentials"}));
    assert_eq!(flaws(nothing), ["oauth.client_id", "oauth.issuer", "oauth.client_secret"]);
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
