use std::path::Path;

use super::*;
use crate::definition::ServersFile;

fn command(command: &str) -> ServerDefinition {
    ServerDefinition { command: Some(command.to_owned()), ..ServerDefinition::default() }
}

const WRITTEN: &str = "# My servers.\n\n# The clock.\n[servers.time]\ncommand = 'uvx' # as it is\nargs = [\n  \"a\",\n  \
                       \"b\",\n]\n\n# Others.\n[servers.docs]\nurl = \"https://docs.example/mcp\"\n";

#[test]
fn a_new_file_has_a_head_and_a_table() {
    let text = upsert_server("", "time", &command("uvx")).unwrap();
    assert_eq!(text, "# MCP servers whose tools this gateway offers.\n\n[servers.time]\ncommand = \"uvx\"\n");
    let two = upsert_server(&text, "b", &command("npx")).unwrap();
    assert_eq!(two, format!("{text}\n[servers.b]\ncommand = \"npx\"\n"));
}

#[test]
fn what_is_written_says_what_was_meant() {
    let definition: ServerDefinition = serde_json::from_value(serde_json::json!({
        "url": "https://x.example/mcp", "transport": "sse", "era": "2025", "headers": {"X-A b": "\"quoted\"\\ ä"}, "disabled": true,
        "sampling": true, "roots": true,
        "oauth": {"client_id": "c", "client_secret": "secret:s", "issuer": "https://i.example", "client_metadata_url": "https://m.example/c", "scopes": ["a", "b"]},
    }))
    .unwrap();
    let other: ServerDefinition = serde_json::from_value(serde_json::json!({
        "command": "/opt/x", "args": ["--a", "b c"], "env": {"A": "1"}, "cwd": "/srv/x", "url": "https://x.example",
        "transport": "streamable-http", "era": "2026",
    }))
    .unwrap();
    let unattended: ServerDefinition = serde_json::from_value(serde_json::json!({
        "url": "https://x.example/mcp",
        "oauth": {
            "grant": "enterprise_managed", "client_id": "c", "private_key": "secret:k", "private_key_id": "1",
            "assertion": "secret:a", "subject": "s", "dpop": true,
            "identity_provider": {
                "issuer": "https://i.example", "token_endpoint": "https://i.example/t", "client_id": "p",
                "client_secret": "secret:p", "private_key": "secret:q", "private_key_id": "2",
                "subject_token": "secret:t", "subject_token_type": "refresh_token",
            },
        },
    }))
    .unwrap();
    for meant in [definition, other, unattended] {
        let text = upsert_server(WRITTEN, "new", &meant).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let read: ServerDefinition = table["servers"]["new"].clone().try_into().unwrap();
        assert_eq!(read, meant);
        assert!(text.starts_with(WRITTEN));
    }
}

#[test]
fn changing_one_leaves_what_stays_as_it_was_written() {
    let mut changed = command("uvx");
    changed.args = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(upsert_server(WRITTEN, "time", &changed).unwrap(), WRITTEN, "nothing changes");
    changed.command = Some("npx".to_owned());
    changed.sampling = true;
    let text = upsert_server(WRITTEN, "time", &changed).unwrap();
    let expected = WRITTEN
        .replace("command = 'uvx' # as it is", "command = \"npx\" # as it is")
        .replace("  \"b\",\n]\n", "  \"b\",\n]\nsampling = true\n");
    assert_eq!(text, expected);
    let to_address =
        ServerDefinition { url: Some("https://x.example".to_owned()), ..ServerDefinition::default() };
    let text = upsert_server(WRITTEN, "time", &to_address).unwrap();
    let read = ServersFile::parse(&text, Path::new("f")).unwrap();
    assert_eq!(read.servers[&"time".parse::<toolway_types::Slug>().unwrap()].definition, to_address);
    assert!(text.contains("# The clock.") && text.contains("# Others."));
}

#[test]
fn removing_one_leaves_all_else() {
    let text = remove_server(WRITTEN, "docs").unwrap().unwrap();
    assert_eq!(text, WRITTEN.split_once("\n# Others.").unwrap().0);
    let text = remove_server(WRITTEN, "time").unwrap().unwrap();
    assert_eq!(
        text, "# My servers.\n\n# Others.\n[servers.docs]\nurl = \"https://docs.example/mcp\"\n",
        "what the file begins with stays"
    );
    assert_eq!(remove_server(WRITTEN, "nobody").unwrap(), None);
    assert_eq!(remove_server("", "nobody").unwrap(), None);
    let with_tables =
        "[servers.a]\nurl = \"https://x\"\n[servers.a.headers]\nB = \"c\"\n\n[servers.d]\ncommand = \"e\"\n";
    assert_eq!(
        remove_server(with_tables, "a").unwrap().unwrap().trim_start(),
        "[servers.d]\ncommand = \"e\"\n"
    );
}

#[test]
fn what_can_t_be_changed_is_refused() {
    assert!(matches!(
        upsert_server("servers = 5", "a", &command("b")),
        Err(DefinitionEditError::ServersNotTables)
    ));
    assert!(matches!(upsert_server("[", "a", &command("b")), Err(DefinitionEditError::NotToml(_))));
    assert!(matches!(
        remove_server("servers = { a = { command = \"b\" } }", "a"),
        Err(DefinitionEditError::ServersNotTables)
    ));
}
