//! Client configurations with MCP servers, imported from other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toolway_mcp::definition::edit::{remove_server, upsert_server};
use toolway_mcp::definition::import::{ImportedSecret, ImportedServer, parse_import_file};
use toolway_mcp::definition::{SECRET_PREFIX, ServerDefinition, ServersFile};
use toolway_types::Slug;

/// Tests a file with `mcpServers` or `servers`. Imported servers are valid definitions with names of their own, and
/// survive being written to `mcp.toml`.
pub fn mcp_import(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut taken: BTreeSet<Slug> = ["time", "server"].iter().map(|name| name.parse().unwrap()).collect();
    let file = match parse_import_file(text, &taken) {
        Ok(file) => file,
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            return;
        }
    };
    let mut secrets = BTreeSet::new();
    let mut written = String::new();
    let mut definitions = BTreeMap::new();
    for entry in file.entries {
        let server = match entry.outcome {
            Ok(server) => server,
            Err(reason) => {
                assert!(!reason.is_empty());
                continue;
            }
        };
        assert!(taken.insert(server.slug.clone()), "two servers named {}", server.slug);
        let json = serde_json::to_string(&server.definition).expect("a definition can be written");
        let again: ServerDefinition = serde_json::from_str(&json).expect("what was written can be read");
        assert!(again == server.definition);
        for secret in &server.secrets {
            check_secret(&server, secret);
            assert!(secrets.insert(secret.name.clone()), "two secrets named {}", secret.name);
        }
        written = upsert_server(&written, server.slug.as_str(), &server.definition).expect("our own TOML");
        definitions.insert(server.slug, server.definition);
    }
    let parsed = ServersFile::parse(&written, Path::new("mcp.toml")).expect("our own file");
    let parsed: BTreeMap<_, _> =
        parsed.servers.into_iter().map(|(slug, entry)| (slug, entry.definition)).collect();
    assert!(parsed == definitions, "the file has other definitions:\n{written}");
    if let Some(slug) = definitions.keys().next() {
        let rest = remove_server(&written, slug.as_str()).expect("our own TOML").expect("it was there");
        let rest = ServersFile::parse(&rest, Path::new("mcp.toml")).expect("our own file");
        assert_eq!(rest.servers.len() + 1, definitions.len());
    }
}

/// Checks that the definition refers to the secret instead of containing it.
fn check_secret(server: &ImportedServer, secret: &ImportedSecret) {
    assert!((1..=64).contains(&secret.name.len()) && secret.name.is_ascii(), "{}", secret.name);
    let (field, name) = secret.field.split_once('.').expect("a field and a name");
    let reference = format!("{SECRET_PREFIX}{}", secret.name);
    let definition = &server.definition;
    let value = match field {
        "env" => definition.env.get(name),
        "headers" => definition.headers.get(name),
        _ => definition.oauth.as_ref().and_then(|oauth| oauth.client_secret.as_ref()),
    };
    assert_eq!(value, Some(&reference));
}
