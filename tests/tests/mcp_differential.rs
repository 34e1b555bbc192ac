//! Compares an MCP server with the gateway in front of it, using the same client, in every version of the
//! protocol. The results must be equal, byte for byte if a server's bytes are passed through.
//! `mcp_differential/allowed_differences.rs` lists all allowed differences.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

#[path = "mcp_differential/allowed_differences.rs"]
mod allowed_differences;
#[path = "mcp_differential/script.rs"]
mod script;

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_tests::mcp::{LEGACY_VERSIONS, MODERN_VERSION, McpServerAddress};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::{poll_until, rest};

use allowed_differences::VersionPair;
use script::ObservedResults;

/// Page size of the server's lists, so that every list has several pages.
const PAGE: usize = 7;

/// A gateway in front of servers that differ only in their protocol versions: `any`, `old` and `new`.
struct DifferentialHarness {
    gateway: GatewayProcess,
    /// Token of a client.
    token: String,
    _folder: TestFolder,
    _servers: Vec<FakeMcp>,
}

async fn start_harness() -> DifferentialHarness {
    let folder = TestFolder::new();
    std::fs::create_dir_all(folder.data_path()).unwrap();
    let (mut servers, mut definitions) = (Vec::new(), String::new());
    for (name, versions) in
        [("any", &[][..]), ("old", &LEGACY_VERSIONS[1..2]), ("new", &[MODERN_VERSION][..])]
    {
        let server = start_server(versions).await;
        let url = server.url();
        definitions += &format!("[servers.{name}]\nurl = \"{url}\"\nsampling = true\nroots = true\n");
        servers.push(server);
    }
    std::fs::write(folder.data_path().join("mcp.toml"), definitions).unwrap();
    let gateway = folder.serve(&[]).await;
    poll_until("all servers are connected", async || {
        let listed = rest::get_json(gateway.address(), &gateway.token, "/api/mcp/servers").await;
        let connected = |row: &Value| row["status"]["state"] == "connected";
        let rows = listed["servers"].as_array().unwrap();
        (rows.len() == servers.len() && rows.iter().all(connected)).then_some(())
    })
    .await;
    let asked = Some(json!({"role": "client", "label": "differential"}));
    let (status, made) =
        rest::send_request(gateway.address(), &gateway.token, "POST", "/api/tokens", asked).await;
    assert_eq!(status, 201, "{made}");
    let token = made["token"].as_str().unwrap().to_owned();
    DifferentialHarness { gateway, token, _folder: folder, _servers: servers }
}

async fn start_server(versions: &[&str]) -> FakeMcp {
    FakeMcp::start(FakeMcpOptions { page_size: Some(PAGE), ..FakeMcpOptions::with_versions(versions) }).await
}

impl DifferentialHarness {
    fn source_address(&self, name: &str) -> McpServerAddress {
        let url = format!("{}/mcp/sources/{name}", self.gateway.url());
        McpServerAddress::from_url(&url, Some(&self.token))
    }
}

/// Returns all differences, with the server's value first and the gateway's second.
fn find_differences(
    direct: &ObservedResults,
    through: &ObservedResults,
    between: &VersionPair<'_>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut names: Vec<&String> = direct.keys().chain(through.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        // Missing values count as null.
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
    let through = start_harness().await;
    let mut found = Vec::new();
    for version in LEGACY_VERSIONS.into_iter().chain([MODERN_VERSION]) {
        let alone = start_server(&[]).await;
        let direct = script::record_all(McpServerAddress::from_url(&alone.url(), None), version).await;
        let passed = script::record_all(through.source_address(upstream), version).await;
        let between = VersionPair { client: version, upstream };
        let differing = find_differences(&direct, &passed, &between);
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
