use secrecy::ExposeSecret;

use super::*;
use crate::definition::{EraMode, TransportMode};

fn read_one(entry: Value) -> Result<ImportedServer, String> {
    let text = serde_json::json!({"mcpServers": {"one": entry}}).to_string();
    let mut found = parse_import_file(&text, &BTreeSet::new()).unwrap();
    assert_eq!(found.entries.len(), 1);
    found.entries.remove(0).outcome
}

#[test]
fn a_file_of_claude_desktop_is_taken_over_whole() {
    let text = r#"{
      "globalShortcut": "Alt+C",
      "mcpServers": {
        "GitHub": {
          "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
          "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_0123", "LOG_LEVEL": "debug", "PORT": 80}
        },
        "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer t0p"}},
        "old one": {"type": "sse", "url": "https://old.example/sse"}
      }
    }"#;
    let found = parse_import_file(text, &BTreeSet::new()).unwrap();
    let names: Vec<_> = found.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["GitHub", "docs", "old one"]);
    let all: Vec<_> = found.entries.iter().map(|entry| entry.outcome.as_ref().unwrap()).collect();
    assert_eq!(all[0].slug.as_str(), "github");
    assert_eq!(all[0].definition.command.as_deref(), Some("npx"));
    assert_eq!(all[0].definition.args, ["-y", "@modelcontextprotocol/server-github"]);
    assert_eq!(all[0].definition.env["LOG_LEVEL"], "debug");
    assert_eq!(all[0].definition.env["PORT"], "80");
    let name = "mcp-github-GITHUB_PERSONAL_ACCESS_TOKEN";
    assert_eq!(all[0].definition.env["GITHUB_PERSONAL_ACCESS_TOKEN"], format!("secret:{name}"));
    assert_eq!(all[0].secrets[0].name, name);
    assert_eq!(all[0].secrets[0].value.expose_secret(), "ghp_0123");
    assert!(!format!("{found:?}").contains("ghp_0123"));
    assert_eq!(all[1].definition.headers["Authorization"], "secret:mcp-docs-Authorization");
    assert_eq!(all[1].secrets[0].value.expose_secret(), "Bearer t0p");
    assert_eq!(all[2].definition.transport, TransportMode::Sse);
    assert_eq!(all[2].slug.as_str(), "old-one");
}

#[test]
fn an_entry_may_pin_the_era() {
    let entry = |era: &str| serde_json::json!({"url": "https://x.example/mcp", "era": era});
    let imported = read_one(entry("2025")).unwrap();
    assert_eq!(imported.definition.era, EraMode::Older);
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    assert_eq!(read_one(entry("2024")).unwrap_err(), "its era is \"2024\"; use \"2025\" or \"2026\"");
}

#[test]
fn a_file_of_vs_code_names_what_it_would_have_asked_for() {
    let text = r#"{
      // what is asked for
      "inputs": [{"type": "promptString", "id": "key", "password": true}],
      "servers": {
        "perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "server-perplexity"],
                       "env": {"API": "${input:key}"},},
        "remote": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-Auth": "Bearer ${input:key}"}}
      }
    }"#;
    let found = parse_import_file(text, &BTreeSet::new()).unwrap();
    let all: Vec<_> = found.entries.iter().map(|entry| entry.outcome.as_ref().unwrap()).collect();
    assert_eq!(all[0].definition.env["API"], "secret:mcp-perplexity-API");
    assert!(all[0].secrets.is_empty());
    assert_eq!(
        all[0].notes,
        ["env.API was ${input:key}: store it with `toolway secrets set mcp-perplexity-API`"]
    );
    assert!(all[1].notes[0].contains("store the whole value"), "{:?}", all[1].notes);
}

#[test]
fn a_reference_to_a_variable_is_not_stored_as_the_secret() {
    for value in
        ["$TOKEN", "{env:TOKEN}", "%TOKEN%", "${env:TOKEN}", "${TOKEN}", "${input:x}", "Bearer $TOKEN"]
    {
        let entry = serde_json::json!({"command": "a", "env": {"API_TOKEN": value}});
        let found = read_one(entry).unwrap();
        assert_eq!(found.definition.env["API_TOKEN"], "secret:mcp-one-API_TOKEN", "{value}");
        assert!(found.secrets.is_empty(), "{value}");
        assert!(found.notes[0].contains("`toolway secrets set mcp-one-API_TOKEN`"), "{:?}", found.notes);
        let entry = serde_json::json!({"url": "https://x.example/mcp", "headers": {"Authorization": value}});
        let found = read_one(entry).unwrap();
        assert_eq!(found.definition.headers["Authorization"], "secret:mcp-one-Authorization", "{value}");
        assert!(found.secrets.is_empty(), "{value}");
    }
    assert!(read_one(serde_json::json!({"command": "{env:BIN}/run"})).unwrap_err().contains("{env:BIN}"));
    assert!(
        read_one(serde_json::json!({"url": "https://x.example/%TOKEN%"})).unwrap_err().contains("%TOKEN%")
    );
    // The shell fills this in.
    let shell = read_one(serde_json::json!({"command": "sh", "args": ["-c", "run $HOME"]})).unwrap();
    assert_eq!(shell.definition.args[1], "run $HOME");
}

#[test]
fn what_can_t_be_taken_over_is_said() {
    for (entry, words) in [
        (serde_json::json!("npx"), "not an object"),
        (serde_json::json!({}), "neither a command nor an address"),
        (serde_json::json!({"command": "a", "url": "https://x.example"}), "both a command and an address"),
        (serde_json::json!({"command": ["npx", "-y"]}), "its command is not a string"),
        (serde_json::json!({"command": "a", "args": "b"}), "its args is not a list"),
        (serde_json::json!({"command": "a", "env": {"A": {}}}), "its env is not an object of strings"),
        (serde_json::json!({"command": "${workspaceFolder}/run"}), "only that program can fill in"),
        (serde_json::json!({"command": "/usr/bin/toolway", "args": ["mcp"]}), "Toolway itself"),
        (serde_json::json!({"command": "C:\\P\\toolway.exe", "args": ["mcp"]}), "Toolway itself"),
        (serde_json::json!({"type": "ws", "url": "https://x.example"}), "which is not supported"),
        (serde_json::json!({"url": "ftp://x.example"}), "is not supported for MCP servers"),
        (serde_json::json!({"command": "./run.sh"}), "is a relative path"),
    ] {
        let why = read_one(entry.clone()).expect_err("not taken over");
        assert!(why.contains(words), "{entry}: {why}");
    }
    let noted =
        read_one(serde_json::json!({"command": "a", "timeout": 5, "autoApprove": ["x"], "envFile": ".env"}));
    let notes = noted.unwrap().notes.join("\n");
    assert!(
        notes.contains("envFile is not read") && notes.contains("not taken over: autoApprove, timeout"),
        "{notes}"
    );
    let args = read_one(serde_json::json!({"command": "a", "args": ["--api-key", "k"]})).unwrap();
    assert!(args.notes[0].contains("looks like a secret"));
    assert!(read_one(serde_json::json!({"command": "a", "disabled": true})).unwrap().definition.disabled);
}

#[test]
fn names_become_slugs_that_are_free() {
    let text = r#"{"mcpServers": {
        "Time": {"command": "a"}, "time": {"command": "b"}, "own": {"command": "c"}, "時計": {"command": "d"}
    }}"#;
    let taken = BTreeSet::from(["time".parse().unwrap()]);
    let found = parse_import_file(text, &taken).unwrap();
    let slugs: Vec<_> =
        found.entries.iter().map(|entry| entry.outcome.as_ref().unwrap().slug.to_string()).collect();
    assert_eq!(slugs, ["time-2", "own-2", "time-3", "server"]);
}

#[test]
fn secrets_of_different_fields_and_servers_have_different_names() {
    let long = "X".repeat(60);
    let text = serde_json::json!({"mcpServers": {
        "a": {"command": "c", "env": {"b-key": "1", "b.key": "2", "B_KEY": "3"}},
        "a-b": {"url": "https://b.example/mcp", "headers": {"key": "4", "b_token": "${B}"}},
        "long": {"command": "c", "env": {format!("{long}_A_TOKEN"): "5", format!("{long}_B_TOKEN"): "6"}},
    }})
    .to_string();
    let found = parse_import_file(&text, &BTreeSet::new()).unwrap();
    let servers: Vec<_> = found.entries.iter().map(|entry| entry.outcome.as_ref().unwrap()).collect();
    let stored: Vec<_> = servers
        .iter()
        .flat_map(|server| &server.secrets)
        .map(|secret| (secret.name.as_str(), secret.value.expose_secret()))
        .collect();
    let cut = format!("mcp-long-{}", &long[..55]);
    let numbered = format!("mcp-long-{}-2", &long[..53]);
    assert_eq!(
        stored,
        [
            ("mcp-a-B_KEY", "3"),
            ("mcp-a-b-key", "1"),
            ("mcp-a-b-key-2", "2"),
            ("mcp-a-b-key-3", "4"),
            (cut.as_str(), "5"),
            (numbered.as_str(), "6"),
        ]
    );
    assert_eq!(servers[0].definition.env["b.key"], "secret:mcp-a-b-key-2");
    assert_eq!(servers[1].definition.headers["key"], "secret:mcp-a-b-key-3");
}

#[test]
fn a_second_client_secret_is_not_stored() {
    let entry = serde_json::json!({
        "url": "https://a.example/mcp",
        "oauth": {"clientId": "c", "clientSecret": "1", "client_secret": "2"},
    });
    let server = read_one(entry).unwrap();
    let stored: Vec<_> = server.secrets.iter().map(|secret| secret.value.expose_secret()).collect();
    assert_eq!(stored, ["1"]);
    assert_eq!(server.definition.oauth.unwrap().client_secret.unwrap(), "secret:mcp-one-client_secret");
    assert_eq!(server.notes, ["not taken over: oauth.client_secret"]);
}

#[test]
fn a_file_without_servers_is_refused() {
    let none = BTreeSet::new();
    assert!(matches!(parse_import_file("{", &none), Err(ImportFileError::NotJson(_))));
    assert!(matches!(parse_import_file("{}", &none), Err(ImportFileError::NoServers)));
    assert!(matches!(parse_import_file("[]", &none), Err(ImportFileError::NoServers)));
    let many: Map<String, Value> =
        (0..300).map(|n| (format!("s{n}"), serde_json::json!({"command": "a"}))).collect();
    let text = serde_json::json!({ "mcpServers": many }).to_string();
    assert_eq!(parse_import_file(&text, &none).unwrap_err(), ImportFileError::TooMany(300));
    let projects = r#"{"mcpServers": {}, "projects": {"/p": {"mcpServers": {"a": {}, "b": {}}}}}"#;
    assert_eq!(
        parse_import_file(projects, &none).unwrap().notes,
        ["servers of single projects are not read; there are 2"]
    );
}

#[test]
fn a_registered_client_keeps_its_secret_apart() {
    for (field, entry) in [
        ("oauth", serde_json::json!({"clientId": "me", "clientSecret": "s3cret", "callbackPort": 1})),
        ("auth", serde_json::json!({"CLIENT_ID": "me", "CLIENT_SECRET": "s3cret", "scopes": ["a", "b"]})),
    ] {
        let found = read_one(serde_json::json!({"url": "https://x.example/mcp", field: entry})).unwrap();
        let oauth = found.definition.oauth.as_ref().unwrap();
        assert_eq!(oauth.client_id.as_deref(), Some("me"));
        assert_eq!(oauth.client_secret.as_deref(), Some("secret:mcp-one-client_secret"));
        assert_eq!(found.secrets[0].value.expose_secret(), "s3cret");
        match field {
            "oauth" => assert_eq!(found.notes, ["not taken over: oauth.callbackPort"]),
            _ => assert_eq!(oauth.scopes, ["a", "b"]),
        }
    }
}
