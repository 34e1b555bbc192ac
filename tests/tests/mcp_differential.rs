//! The same client against an MCP server and against the gateway in front of it, in every version of the protocol: what
//! it is told must be the same, byte for byte where a server's bytes are to come through. What may differ is listed in
//! `mcp_differential/allowed.rs`, and nothing else may.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

#[path = "mcp_differential/allowed.rs"]
mod allowed;
#[path = "mcp_differential/script.rs"]
mod script;

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, Options};
use toolway_tests::mcp::{LEGACY, MODERN, Place};
use toolway_tests::process::{Folder, Gateway};
use toolway_tests::{rest, until};

use allowed::Between;
use script::Record;

/// How many entries a page of the server's lists has, so that every list has several.
const PAGE: usize = 7;

/// A gateway in front of servers that are alike but for the versions that they speak: `any`, `old` and `new`.
struct Through {
    gateway: Gateway,
    /// A client's token.
    token: String,
    _folder: Folder,
    _servers: Vec<FakeMcp>,
}

async fn through() -> Through {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path()).unwrap();
    let (mut servers, mut definitions) = (Vec::new(), String::new());
    for (name, versions) in [("any", &[][..]), ("old", &LEGACY[1..2]), ("new", &[MODERN][..])] {
        let server = server(versions).await;
        let url = server.url();
        definitions += &format!("[servers.{name}]\nurl = \"{url}\"\nsampling = true\nroots = true\n");
        servers.push(server);
    }
    std::fs::write(folder.path().join("mcp.toml"), definitions).unwrap();
    let gateway = folder.serve(&[]).await;
    until("all servers are connected", async || {
        let listed = rest::get(gateway.address(), &gateway.token, "/api/mcp/servers").await;
        let connected = |row: &Value| row["status"]["state"] == "connected";
        let rows = listed["servers"].as_array().unwrap();
        (rows.len() == servers.len() && rows.iter().all(connected)).then_some(())
    })
    .await;
    let asked = Some(json!({"role": "client", "label": "differential"}));
    let (status, made) = rest::ask(gateway.address(), &gateway.token, "POST", "/api/tokens", asked).await;
    assert_eq!(status, 201, "{made}");
    let token = made["token"].as_str().unwrap().to_owned();
    Through { gateway, token, _folder: folder, _servers: servers }
}

async fn server(versions: &[&str]) -> FakeMcp {
    FakeMcp::start(Options { page_size: Some(PAGE), ..Options::speaking(versions) }).await
}

impl Through {
    fn source(&self, name: &str) -> Place {
        let url = format!("{}/mcp/sources/{name}", self.gateway.url());
        Place::of(&url, Some(&self.token))
    }
}

/// All that differs, with what the server says first and what the gateway says second.
fn differences(direct: &Record, through: &Record, between: &Between<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut names: Vec<&String> = direct.keys().chain(through.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        // What was not there counts as null.
        let [one, other] = [(direct, false), (through, true)].map(|(record, is_gateway)| {
            record.get(name).map_or(Value::Null, |value| between.without_allowed(name, value, is_gateway))
        });
        if one != other {
            found.push(format!("{name}\n      server:  {one}\n      gateway: {other}"));
        }
    }
    found
}

async fn compare(upstream: &str) {
    let through = through().await;
    let mut found = Vec::new();
    for version in LEGACY.into_iter().chain([MODERN]) {
        let alone = server(&[]).await;
        let direct = script::record(Place::of(&alone.url(), None), version).await;
        let passed = script::record(through.source(upstream), version).await;
        let between = Between { client: version, upstream };
        let differing = differences(&direct, &passed, &between);
        found.extend(differing.into_iter().map(|it| format!("  {version}, {upstream}: {it}")));
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}

#[tokio::test]
async fn a_server_of_all_versions_is_the_same_through_the_gateway() {
    compare("any").await;
}

#[tokio::test]
async fn a_server_with_handshake_is_the_same_to_clients_of_all_versions() {
    compare("old").await;
}

#[tokio::test]
async fn a_server_without_handshake_is_the_same_to_clients_of_all_versions() {
    compare("new").await;
}
