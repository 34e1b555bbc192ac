use serde_json::json;

use super::*;

fn read(value: serde_json::Value) -> Result<Settings, serde_json::Error> {
    serde_json::from_value(value)
}

#[track_caller]
fn problems(value: serde_json::Value) -> Vec<(String, String)> {
    let errors = read(value).expect("the form is right").validate().expect_err("something is wrong");
    for error in &errors {
        assert!(!error.hint.is_empty(), "{error} has a hint");
    }
    errors.into_iter().map(|error| (error.key, error.problem)).collect()
}

#[test]
fn the_defaults_are_valid_and_without_warnings() {
    let settings = Settings::default();
    assert_eq!(settings.validate(), Ok(()));
    assert_eq!(settings.warnings(), []);
    assert_eq!(settings.listen.to_string(), "127.0.0.1:7717");
    assert_eq!(settings.timeouts.tool_s.duration(), std::time::Duration::from_secs(30));
}

#[test]
fn settings_survive_serialization() {
    let settings = Settings::default();
    let written = serde_json::to_value(&settings).unwrap();
    assert_eq!(written["timeouts"]["tool_s"], json!(30), "whole seconds are written without a point");
    assert_eq!(read(written).unwrap(), settings);
}

#[test]
fn an_unknown_key_is_refused_in_every_table() {
    for unknown in [
        json!({"lisen": "::1"}),
        json!({"tls": {"certificate": "x"}}),
        json!({"limits": {"frames": 1}}),
        json!({"timeouts": {"tool": 1}}),
        json!({"calls": {"retention": 1}}),
        json!({"log": {"file": "x"}}),
        json!({"local_device": {"on": true}}),
        json!({"chat": {"title": true}}),
        json!({"budget": {"per_month": 1}}),
        json!({"mcp": {"session": 1}}),
        json!({"mcp": {"servers": {"a": {"comand": "x"}}}}),
    ] {
        let error = read(unknown.clone()).expect_err("unknown").to_string();
        assert!(error.contains("unknown field"), "{unknown}: {error}");
    }
}

#[test]
fn tls_is_a_string_or_a_table() {
    assert_eq!(read(json!({"tls": "off"})).unwrap().tls.mode, TlsMode::Off);
    let table = read(json!({"tls": {"mode": "on", "cert": "/c.pem", "key": "/k.pem"}})).unwrap().tls;
    assert_eq!(table.mode, TlsMode::On);
    assert_eq!(table.cert.as_deref(), Some(std::path::Path::new("/c.pem")));
    let error = read(json!({"tls": "maybe"})).unwrap_err().to_string();
    assert!(error.contains("maybe") && error.contains("auto"), "{error}");
    let error = read(json!({"tls": 5})).unwrap_err().to_string();
    assert!(error.contains("table with mode, cert and key"), "{error}");
}

#[test]
fn tls_is_on_automatically_only_off_loopback() {
    let on = |mode: &str, listen: &str| {
        let settings = read(json!({"tls": mode, "listen": listen})).unwrap();
        settings.tls.is_on(settings.listen)
    };
    assert!(!on("auto", "127.0.0.1"));
    assert!(!on("auto", "[::1]:80"));
    assert!(!on("auto", "[::ffff:127.0.0.1]:80"));
    assert!(on("auto", "0.0.0.0"));
    assert!(on("auto", "::"));
    assert!(on("auto", "192.168.1.5:80"));
    assert!(on("on", "127.0.0.1"));
    assert!(!on("off", "0.0.0.0"));
}

#[test]
fn listen_accepts_common_forms() {
    for (text, meant) in [
        ("0.0.0.0", "0.0.0.0:7717"),
        (" 0.0.0.0:80 ", "0.0.0.0:80"),
        ("::", "[::]:7717"),
        ("[::]", "[::]:7717"),
        ("[::1]:0", "[::1]:0"),
        ("localhost", "127.0.0.1:7717"),
        ("localhost:9", "127.0.0.1:9"),
    ] {
        assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), meant, "{text}");
    }
    for text in
        ["", "7717", ":7717", "localhost:", "localhosts", "example.org:1", "127.0.0.1:70000", "http://[::]"]
    {
        let error = text.parse::<ListenAddress>().expect_err(text).to_string();
        assert!(error.contains("127.0.0.1:7717"), "{error}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(json!({
        "public_url": "tools.example.org",
        "allowed_hosts": ["ok.example", "https://no.example", "*.example"],
        "allowed_origins": ["https://ok.example", "null", "*"],
        "trusted_proxies": ["10.0.0.0/8", "10.0.0.0/99"],
        "workers": 0,
        "tls": {"cert": "/c.pem"},
        "log": {"level": " "},
        "limits": {"frame_bytes": 1, "send_queue": 0, "connections": 0},
        "timeouts": {"tool_s": 0, "max_tool_s": -1, "tools": {"nosource": 5, "a/b": 0}},
        "calls": {"record_bytes": 1, "redact": [""]},
    }));
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "public_url",
            "allowed_hosts[1]",
            "allowed_hosts[2]",
            "allowed_origins[1]",
            "allowed_origins[2]",
            "trusted_proxies[1]",
            "workers",
            "tls.key",
            "log.level",
            "limits.frame_bytes",
            "limits.send_queue",
            "limits.connections",
            "timeouts.tool_s",
            "timeouts.max_tool_s",
            "timeouts.tools.\"a/b\"",
            "timeouts.tools.\"nosource\"",
            "calls.record_bytes",
            "calls.redact",
        ]
    );
}

#[test]
fn a_public_url_has_no_path_or_user_name() {
    for url in ["https://a.example/x", "https://u@a.example", "ftp://a.example", "https://", "https://a b"] {
        assert_eq!(problems(json!({"public_url": url}))[0].0, "public_url", "{url}");
    }
    for url in ["https://a.example", "http://[::1]:80", "https://a.example:8443", "https://a.example/"] {
        assert_eq!(read(json!({"public_url": url})).unwrap().validate(), Ok(()), "{url}");
    }
}

#[test]
fn unencrypted_settings_cause_warnings() {
    let warned =
        |value| read(value).unwrap().warnings().into_iter().map(|warning| warning.key).collect::<Vec<_>>();
    assert_eq!(warned(json!({"listen": "0.0.0.0", "tls": "off"})), ["tls.mode"]);
    assert_eq!(warned(json!({"listen": "0.0.0.0"})), [""; 0]);
    assert_eq!(warned(json!({"tls": "off"})), [""; 0]);
    assert_eq!(warned(json!({"public_url": "http://a.example"})), ["public_url"]);
    assert_eq!(warned(json!({"public_url": "http://localhost:7717"})), [""; 0]);
    assert_eq!(warned(json!({"allow_remote_commands": true})), ["allow_remote_commands"]);
}

#[test]
fn every_setting_is_described_with_its_default() {
    let described = describe();
    let find = |key: &str| described.iter().find(|it| it.key == key).unwrap_or_else(|| panic!("no {key}"));
    assert_eq!(find("listen").default, json!("127.0.0.1:7717"));
    assert_eq!(find("tls.mode").default, json!("auto"));
    assert_eq!(find("limits.frame_bytes").default, json!(16 << 20));
    assert_eq!(find("timeouts.tool_s").default, json!(30));
    assert_eq!(find("calls.durability").default, json!("batch"));
    for setting in &described {
        assert!(setting.description.len() > 10, "{} is described", setting.key);
    }
    // Every serialized setting is described, and vice versa.
    let mut written = Vec::new();
    flatten(&serde_json::to_value(Settings::default()).unwrap(), "", &mut written);
    let mut keys: Vec<String> = described.into_iter().map(|it| it.key).collect();
    written.sort();
    keys.sort();
    assert_eq!(keys, written);
}

fn flatten(value: &serde_json::Value, prefix: &str, keys: &mut Vec<String>) {
    match value.as_object() {
        Some(table) if !table.is_empty() || prefix.is_empty() => {
            for (name, value) in table {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(value, &key, keys);
            }
        }
        _ => keys.push(prefix.to_owned()),
    }
}

#[test]
fn unknown_keys_of_rules_and_tools_are_refused() {
    for unknown in [
        json!({"policy": {"rule": []}}),
        json!({"policy": {"rules": [{"effect": "deny", "approved": true}]}}),
        json!({"policy": {"rules": [{"effect": "deny", "when": {"tool": ["a/b"]}}]}}),
        json!({"approval": {"mode": "always"}}),
        json!({"approval": {"rules": [{"mode": "always", "effect": "deny"}]}}),
        json!({"permissions": {"rules": [{"permission": "a.b", "state": "ask", "mode": "x"}]}}),
        json!({"registration": {"rules": [{"when": {}}]}}),
        json!({"tools": {"files": {"folder": []}}}),
        json!({"tools": {"files": {"folders": [{"name": "a", "path": "/a", "read": true}]}}}),
        json!({"tools": {"http_request": {"allowed": []}}}),
        json!({"hooks": [{"name": "a", "kind": "command", "on_failure": "open", "shell": true}]}),
    ] {
        let error = read(unknown.clone()).expect_err("unknown").to_string();
        assert!(error.contains("unknown field"), "{unknown}: {error}");
    }
    for missing in [
        json!({"policy": {"rules": [{"name": "a"}]}}),
        json!({"approval": {"rules": [{}]}}),
        json!({"permissions": {"rules": [{"state": "ask"}]}}),
        json!({"hooks": [{"name": "a", "kind": "command", "program": "x"}]}),
    ] {
        let error = read(missing.clone()).expect_err("missing").to_string();
        assert!(error.contains("missing field"), "{missing}: {error}");
    }
}

#[test]
fn problems_of_rules_tools_and_hooks_name_their_place() {
    let found = problems(json!({
        "policy": {"trusted_sources": ["["], "rules": [
            {"name": "a", "effect": "deny", "when": {"tools": ["a/["]}},
            {"name": "a", "effect": "allow", "in_flight": 0},
            {"name": "a", "effect": "allow", "when": {"roles": ["admin"]}},
            {"name": "a", "effect": "allow"},
        ]},
        "approval": {"rules": [{"mode": "always", "when": {"agents": [""]}}]},
        "permissions": {"rules": [{"permission": "[", "state": "ask"}]},
        "registration": {"rules": [{"principals": ["["], "sources": [""], "names": ["{"]}]},
        "tools": {
            "own": ["/whole/tools.toml", "tools.toml"],
            "files": {"folders": [
                {"name": "a/b", "path": "/a"}, {"name": "docs", "path": "docs"}, {"name": "docs", "path": "/b"},
                {"name": "", "path": "/c"}, {"name": "..", "path": "/d"}, {"name": "c:", "path": "/e"},
            ]},
            "http_request": {"allow": ["https://a.example"], "body_bytes": 10},
        },
        "hooks": [{"name": "A hook", "kind": "command", "on_failure": "open"}],
    }));
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "policy.rules[0].when.tools",
            "policy.rules[1].in_flight",
            "policy.rules[2].when.roles",
            "policy.rules",
            "approval.rules[0].when.agents",
            "permissions.rules[0].permission",
            "policy.trusted_sources",
            "registration.rules[0].principals",
            "registration.rules[0].sources",
            "registration.rules[0].names",
            "tools.files.folders[0].name",
            "tools.files.folders[1].path",
            "tools.files.folders[2].name",
            "tools.files.folders[3].name",
            "tools.files.folders[4].name",
            "tools.files.folders[5].name",
            "tools.own[1]",
            "hooks[0].name",
            "hooks[0].program",
            "tools.http_request.allow",
            "tools.http_request.body_bytes",
        ]
    );
}

#[test]
fn settings_of_rules_tools_and_hooks_apply_at_once() {
    for key in [
        "policy.default",
        "policy.rules",
        "approval.rules",
        "permissions.default",
        "registration.rules",
        "tools.own",
        "tools.files.folders",
        "hooks",
        "secrets",
        "timeouts.tools",
        "timeouts.approval_s",
        "calls.redact",
    ] {
        assert!(Settings::applies_immediately(key), "{key}");
    }
    for key in [
        "listen",
        "tls.mode",
        "timeouts.heartbeat_s",
        "limits.connections",
        "calls.record_bytes",
        "policyish",
    ] {
        assert!(!Settings::applies_immediately(key), "{key}");
    }
    let keys: Vec<_> = describe().into_iter().map(|setting| setting.key).collect();
    assert!(keys.iter().filter(|key| Settings::applies_immediately(key)).count() >= 20, "{keys:?}");
}

#[test]
fn chat_and_budget_settings_are_validated() {
    let said = json!({"chat": {"max_tools": 0, "max_concurrent_turns": 0, "context_threshold": 1.5}, "budget": {"per_day": 0.0}});
    let found = problems(said);
    let keys: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        ["chat.max_tools", "chat.max_concurrent_turns", "chat.context_threshold", "budget.per_day"]
    );
    assert_eq!(
        problems(json!({"budget": {"per_day": -1}})),
        [("budget.per_day".to_owned(), "-1 is not a valid amount".to_owned())]
    );
    let settings = read(json!({"budget": {"per_day": 5.5, "on_exceeded": "warn"}})).unwrap();
    assert_eq!(settings.validate(), Ok(()));
    assert_eq!(settings.budget.on_exceeded, OnExceeded::Warn);
    assert!(
        Settings::applies_immediately("chat.generate_titles")
            && Settings::applies_immediately("budget.per_day")
    );
}

#[test]
fn problems_of_mcp_servers_name_the_server() {
    let found =
        problems(json!({"mcp": {"max_sessions": 0, "session_idle_s": 0, "list_timeout_s": -1, "servers": {
            "time": {"command": "uvx", "args": ["mcp-server-time"]},
            "Own": {"command": "x"},
            "web": {"url": "https://x.example", "headers": {"Host": "x"}},
        }}}));
    let keys: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "mcp.servers.Own",
            "mcp.servers.web.headers.Host",
            "mcp.max_sessions",
            "mcp.session_idle_s",
            "mcp.list_timeout_s"
        ]
    );
    assert!(
        Settings::applies_immediately("mcp.servers.time.command")
            && !Settings::applies_immediately("mcp.max_sessions")
    );
}
