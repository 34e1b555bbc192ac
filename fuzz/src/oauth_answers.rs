//! Answers of MCP servers and authorization servers during a login.

use http::StatusCode;
use secrecy::ExposeSecret as _;
use toolway_mcp::oauth::address::is_loopback;
use toolway_mcp::oauth::replay::{
    replay_issuer_addresses, replay_resource_addresses, replay_resource_metadata, replay_server_metadata,
    replay_token_response,
};
use toolway_mcp::oauth::{BearerChallenge, OauthError};
use url::Url;

/// Maximum length of an access token, in bytes: it must fit into a header.
const MAX_TOKEN: usize = 16 << 10;
/// Maximum lifetime of a token, in milliseconds.
const MAX_LIFE_MS: i64 = 365 * 24 * 3600 * 1000;
/// Maximum length of an error's text. An answer can be 256 KiB long.
const MAX_ERROR_BYTES: usize = 8 << 10;

/// Tests what servers send during a login. The first line is the header `WWW-Authenticate`, the second one the address
/// of the MCP server. The rest is the body of an answer: metadata of the resource and of the authorization server, and
/// a token response, with a good and a bad status.
pub fn oauth_answer(data: &[u8]) {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    let mut text = || lines.next().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
    let (challenge, server) = (text(), text());
    let body = lines.next().unwrap_or_default();
    check_challenge(&challenge);
    let server = if server.is_empty() { "https://mcp.example.org/mcp" } else { &server };
    let Some(addresses) = check(replay_resource_addresses(server)) else { return };
    let Ok(server) = Url::parse(server) else { return };
    assert!(addresses.iter().all(|address| address.origin() == server.origin()), "{addresses:?}");
    for status in [StatusCode::OK, StatusCode::BAD_REQUEST] {
        check_documents(&server, status, body);
        check_token(&server, status, body);
    }
}

/// Checks that a challenge that is written again has the same meaning.
fn check_challenge(header: &str) {
    let challenge = BearerChallenge::parse(header);
    let scopes = challenge.scopes();
    assert!(scopes.iter().enumerate().all(|(at, scope)| !scopes.iter().take(at).any(|it| it == scope)));
    let BearerChallenge { resource_metadata, scope, error, .. } = &challenge;
    let parameters: Vec<_> = [("resource_metadata", resource_metadata), ("scope", scope), ("error", error)]
        .into_iter()
        .filter_map(|(name, value)| {
            let value = value.as_ref()?.replace('\\', r"\\").replace('"', "\\\"");
            Some(format!("{name}=\"{value}\""))
        })
        .collect();
    let written = format!("Bearer {}", parameters.join(", "));
    if written.len() < 8 << 10 {
        let again = BearerChallenge::parse(&written);
        assert_eq!((&again.resource_metadata, &again.scope, &again.error), (resource_metadata, scope, error));
    }
}

fn check_documents(server: &Url, status: StatusCode, body: &[u8]) {
    let issuers = check(replay_resource_metadata(server, status, body)).flatten().unwrap_or_default();
    assert!(status.is_success() || issuers.is_empty());
    // A document names its own issuer, so that its other fields are reached.
    let own = serde_json::from_slice::<serde_json::Value>(body).unwrap_or_default();
    let own = own.get("issuer").and_then(serde_json::Value::as_str).map(str::to_owned);
    for issuer in issuers.into_iter().take(2).chain(own) {
        for address in check(replay_issuer_addresses(&issuer, server)).unwrap_or_default() {
            check_address(&address, server);
        }
        let Some(metadata) = check(replay_server_metadata(&issuer, server, status, body)).flatten() else {
            continue;
        };
        metadata.endpoints.iter().for_each(|endpoint| check_address(endpoint, server));
    }
}

/// Checks that secrets are sent encrypted, and that a server elsewhere names no address on this computer.
fn check_address(address: &Url, server: &Url) {
    assert!(address.scheme() == "https" || is_loopback(address), "{address}");
    assert!(!is_loopback(address) || is_here(server), "{server} names {address}");
    assert!(address.username().is_empty() && address.password().is_none(), "{address}");
}

/// Returns true if a server is on this computer. The unspecified address reaches it too.
fn is_here(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    is_loopback(server)
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_unspecified())
}

fn check_token(server: &Url, status: StatusCode, body: &[u8]) {
    let Some(token) = check(replay_token_response(server, status, body)) else { return };
    assert!(status.is_success());
    let access = token.access_token.expose_secret();
    assert!((1..=MAX_TOKEN).contains(&access.len()) && access.bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(access.len() < 16 || !format!("{token:?}").contains(access), "a token is not for logs");
    assert!(token.life_ms.is_none_or(|life| (0..=MAX_LIFE_MS).contains(&life)), "{:?}", token.life_ms);
    assert!(token.scopes.iter().flatten().all(|scope| !scope.is_empty()));
}

/// Checks that an error is short, in one line, and without control characters.
fn check<T>(result: Result<T, OauthError>) -> Option<T> {
    result
        .map_err(|error| {
            let text = error.to_string();
            assert!((1..MAX_ERROR_BYTES).contains(&text.len()), "{} bytes", text.len());
            assert!(!text.chars().any(char::is_control), "{text:?}");
        })
        .ok()
}
