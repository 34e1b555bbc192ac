//! MCP clients with tokens of an issuer: discovery of the issuer and the scope of its tokens.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::mcp_client::{McpEra, McpTestClient};
use crate::probe_tools::ProbeTools;
use crate::support::{GatewayHarness, HttpAnswer, NOW};

const AUDIENCE: &str = "api://toolway";
const DOCUMENT: &str = "/.well-known/oauth-protected-resource";

fn url64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer with one key on a loopback port.
struct FakeIssuer {
    url: String,
    key: EcdsaKeyPair,
}

impl FakeIssuer {
    async fn start() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let point = key.public_key().as_ref();
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "kid": "one", "x": url64(&point[1..33]), "y": url64(&point[33..]),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let documents = Arc::new([
            ("/keys", json!({ "keys": [jwk] }).to_string()),
            (
                "/.well-known/oauth-authorization-server",
                json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }).to_string(),
            ),
        ]);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let documents = Arc::clone(&documents);
                tokio::spawn(async move {
                    let mut head = vec![0; 4096];
                    let read = stream.read(&mut head).await.unwrap();
                    let head = String::from_utf8_lossy(&head[..read]).into_owned();
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    let found = documents.iter().find(|(at, _)| *at == path);
                    let (status, body) = found.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", body));
                    let answer = format!(
                        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { url, key }
    }

    fn settings(&self) -> Value {
        json!({ "url": self.url, "audience": AUDIENCE, "subjects": ["*"], "scopes": ["tools"] })
    }

    fn token(&self, over: Value) -> String {
        let mut claims = json!({
            "iss": self.url, "sub": "ada", "aud": AUDIENCE, "exp": NOW / 1000 + 600, "scope": "tools",
        });
        claims.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        let header = json!({ "alg": "ES256", "kid": "one", "typ": "at+jwt" });
        let signed = format!("{}.{}", url64(header.to_string()), url64(claims.to_string()));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", url64(signature))
    }
}

fn header<'a>(answer: &'a HttpAnswer, name: &str) -> Option<&'a str> {
    let of = |line: &'a str| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    };
    answer.head.lines().find_map(of)
}

async fn request_mcp(bench: &GatewayHarness, token: Option<&str>) -> HttpAnswer {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    bench.send("POST", "/mcp", token, Some(body)).await
}

#[tokio::test]
async fn without_an_issuer_no_metadata_is_served() {
    let bench = GatewayHarness::new().await;
    for path in [DOCUMENT.to_owned(), format!("{DOCUMENT}/mcp"), format!("{DOCUMENT}/mcp/sources/x")] {
        let answer = bench.send("GET", &path, None, None).await;
        assert_eq!(answer.status, 404);
        assert_eq!(answer.json()["error"]["code"], "path_not_found");
    }
    assert_eq!(header(&request_mcp(&bench, None).await, "www-authenticate"), Some("Bearer"));
    let token = FakeIssuer::start().await.token(json!({}));
    let answer = request_mcp(&bench, Some(&token)).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (401, Some("token_unknown")));
}

/// RFC 9728, sections 2 and 3.
#[tokio::test]
async fn the_metadata_has_the_resource_and_the_issuer() {
    let issuer = FakeIssuer::start().await;
    let settings =
        json!({ "public_url": "https://tools.example.org/", "mcp": { "issuer": issuer.settings() } });
    let bench = GatewayHarness::with(settings).await;
    for path in [DOCUMENT.to_owned(), format!("{DOCUMENT}/mcp"), format!("{DOCUMENT}/mcp/agents/helper")] {
        let answer = bench.send("GET", &path, None, None).await;
        assert_eq!(answer.status, 200);
        assert_eq!(header(&answer, "content-type"), Some("application/json"));
        assert_eq!(
            answer.json(),
            json!({
                "resource": "https://tools.example.org/mcp",
                "resource_name": "Toolway",
                "authorization_servers": [issuer.url],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["tools"],
            })
        );
    }
    let other = bench.send("GET", &format!("{DOCUMENT}/api"), None, None).await;
    assert_eq!(other.status, 404);
    assert_eq!(bench.send("POST", DOCUMENT, None, None).await.status, 405);
}

/// RFC 6750, section 3, and RFC 9728, section 5.1.
#[tokio::test]
async fn a_rejection_has_the_url_of_the_metadata() {
    let issuer = FakeIssuer::start().await;
    let bench = GatewayHarness::with(json!({ "mcp": { "issuer": issuer.settings() } })).await;
    let place = format!("http://{}{DOCUMENT}/mcp", bench.address());
    let document = bench.send("GET", &format!("{DOCUMENT}/mcp"), None, None).await.json();
    assert_eq!(document["resource"], format!("http://{}/mcp", bench.address()));
    let leads = format!("Bearer resource_metadata=\"{place}\"");
    let cases = [
        (None, 401, "token_missing", format!("{leads}, scope=\"tools\"")),
        (
            Some("twy_c_x".to_owned()),
            401,
            "token_unknown",
            format!("{leads}, error=\"invalid_token\", scope=\"tools\""),
        ),
        (
            Some(issuer.token(json!({ "aud": "other" }))),
            401,
            "token_refused",
            format!("{leads}, error=\"invalid_token\", scope=\"tools\""),
        ),
        (
            Some(issuer.token(json!({ "exp": NOW / 1000 - 31 }))),
            401,
            "token_expired",
            format!("{leads}, error=\"invalid_token\", scope=\"tools\""),
        ),
        (
            Some(issuer.token(json!({ "scope": "other" }))),
            403,
            "scope_missing",
            format!("{leads}, error=\"insufficient_scope\", scope=\"tools\""),
        ),
    ];
    for (token, status, code, expected) in cases {
        for path in ["/mcp", "/mcp/agents/helper", "/mcp/sources/desk"] {
            let answer = bench.send("POST", path, token.as_deref(), Some(json!({}))).await;
            assert_eq!(
                (answer.status, answer.json()["error"]["code"].as_str()),
                (status, Some(code)),
                "{path}"
            );
            assert_eq!(header(&answer, "www-authenticate"), Some(expected.as_str()), "{path}");
        }
    }
    // Other endpoints have the plain header.
    let answer = bench.send("GET", "/api/tools", None, None).await;
    assert_eq!(header(&answer, "www-authenticate"), Some("Bearer"));
    // The role is checked after the token: a wrong role is not a missing scope.
    let device = bench.create_token("device").await.token;
    let answer = request_mcp(&bench, Some(&device)).await;
    assert_eq!((answer.status, header(&answer, "www-authenticate")), (403, None));
}

#[tokio::test]
async fn a_token_of_the_issuer_is_valid_only_for_mcp() {
    let issuer = FakeIssuer::start().await;
    let bench = GatewayHarness::with(json!({ "mcp": { "issuer": issuer.settings() } })).await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a"]);
    let token = issuer.token(json!({}));
    for era in McpEra::ALL {
        for (path, name) in [("/mcp", "desk__a"), ("/mcp/sources/desk", "a")] {
            let mut client = McpTestClient::at(&bench, path, &token, era).await;
            let listed = client.request_text("tools/list", json!({})).await;
            assert!(listed.contains(&format!("\"{name}\"")), "{era:?} {listed}");
        }
    }
    for (method, path) in [
        ("GET", "/api/tools"),
        ("GET", "/api/status"),
        ("GET", "/v1/models"),
        ("GET", "/ws/chat"),
        ("GET", "/mcpx"),
    ] {
        let answer = bench.send(method, path, Some(&token), None).await;
        assert!(matches!(answer.status, 401 | 404), "{path}: {answer:?}");
    }
    // The gateway's own tokens stay valid.
    let own = bench.create_token("client").await.token;
    assert!(
        McpTestClient::at(&bench, "/mcp", &own, McpEra::Nov2025)
            .await
            .request_text("tools/list", json!({}))
            .await
            .contains("desk__a")
    );
}

#[tokio::test]
async fn the_policy_applies_to_clients_of_the_issuer() {
    let issuer = FakeIssuer::start().await;
    let bench = GatewayHarness::with(json!({ "mcp": { "issuer": issuer.settings() } })).await;
    let _probe = ProbeTools::offer(&bench, "desk", &["a", "b"]);
    let rule =
        json!({ "rule": { "effect": "deny", "when": { "principals": ["sub-*"], "tools": ["desk/b"] } } });
    let made = bench.send_as_owner("PUT", "/api/policy/rules/by-word", Some(rule)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let mut client =
        McpTestClient::at(&bench, "/mcp/sources/desk", &issuer.token(json!({})), McpEra::Nov2025).await;
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>(), ["a"]);
}

#[tokio::test]
async fn unusable_issuer_settings_are_refused() {
    for (settings, key) in [
        (json!({ "audience": AUDIENCE, "subjects": ["*"] }), "mcp.issuer.url"),
        (
            json!({ "url": "http://login.example.org", "audience": AUDIENCE, "subjects": ["*"] }),
            "mcp.issuer.url",
        ),
        (json!({ "url": "https://login.example.org", "subjects": ["*"] }), "mcp.issuer.audience"),
        (json!({ "url": "https://login.example.org", "audience": AUDIENCE }), "mcp.issuer.subjects"),
        (
            json!({ "url": "https://login.example.org", "audience": AUDIENCE, "subjects": ["*"], "scopes": ["a b"] }),
            "mcp.issuer.scopes",
        ),
        (
            json!({ "url": "https://login.example.org", "audience": AUDIENCE, "subjects": ["*"], "jwks_url": "keys" }),
            "mcp.issuer.jwks_url",
        ),
    ] {
        let refused = GatewayHarness::expect_start_error(json!({ "mcp": { "issuer": settings } })).await;
        let toolway_gateway::GatewayStartError::Settings(problems) = refused else { panic!("{refused}") };
        assert_eq!(problems.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), [key], "{settings}");
    }
}
