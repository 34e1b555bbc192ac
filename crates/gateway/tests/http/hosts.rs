//! Hosts, origins and proxies in real requests. The rules have their own unit tests.

use serde_json::json;

use crate::support::{GatewayHarness, HttpAnswer};

async fn get(bench: &GatewayHarness, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    let mut all = vec![("Authorization".to_owned(), format!("Bearer {}", bench.owner))];
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    bench.send_raw("GET", path, &all, "").await
}

#[tokio::test]
async fn a_web_page_of_another_origin_cannot_reach_the_gateway_r20() {
    let bench = GatewayHarness::new().await;
    let own = bench.address().to_string();
    for path in ["/", "/health", "/api/status", "/ws/chat", "/ws/device", "/nothing"] {
        // A name that an attacker's DNS server resolves to this computer.
        let rebound = get(&bench, path, &[("Host", "evil.example")]).await;
        assert_eq!((rebound.status, rebound.code().as_str()), (403, "host_not_allowed"), "{path}");
        let foreign = get(&bench, path, &[("Host", &own), ("Origin", "https://evil.example")]).await;
        assert_eq!((foreign.status, foreign.code().as_str()), (403, "origin_not_allowed"), "{path}");
        assert_eq!(foreign.header("access-control-allow-origin"), None);
        let sandboxed = get(&bench, path, &[("Host", &own), ("Origin", "null")]).await;
        assert_eq!(sandboxed.code(), "origin_not_allowed", "{path}");
    }
    let headers = [
        ("Host".to_owned(), own.clone()),
        ("Origin".to_owned(), "https://evil.example".to_owned()),
        ("X-Pairing-Code".to_owned(), "00000000".to_owned()),
    ];
    assert_eq!(bench.send_raw("POST", "/pair", &headers, "").await.code(), "origin_not_allowed");
    let own_page = format!("http://{own}");
    assert_eq!(get(&bench, "/api/status", &[("Host", &own), ("Origin", &own_page)]).await.status, 200);
}

#[tokio::test]
async fn ambiguous_hosts_are_refused() {
    let bench = GatewayHarness::new().await;
    let port = bench.address().port();
    for (host, status) in [
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("127.0.0.1".to_owned(), 200),
        (format!("localhost:{port}@evil.example"), 403),
        ("evil.example#localhost".to_owned(), 403),
        ("[::1%25lo]".to_owned(), 403),
        ("0.0.0.0".to_owned(), 403),
        ("2130706433".to_owned(), 403),
    ] {
        let answer = get(&bench, "/api/status", &[("Host", &host)]).await;
        assert_eq!(answer.status, status, "{host}: {answer:?}");
    }
    assert_eq!(get(&bench, "/api/status", &[]).await.status, 400);
    let twice = get(&bench, "/api/status", &[("Host", "localhost"), ("Host", "evil.example")]).await;
    assert_eq!(twice.status, 400, "{twice:?}");
    let whole_url = get(&bench, "http://evil.example/api/status", &[("Host", "localhost")]).await;
    assert_eq!((whole_url.status, whole_url.code().as_str()), (403, "host_not_allowed"));
    let whole_url = get(&bench, "http://localhost/api/status", &[("Host", "localhost")]).await;
    assert_eq!(whole_url.status, 200);
}

#[tokio::test]
async fn an_allowed_page_may_send_requests_and_read_responses() {
    let bench = GatewayHarness::with(json!({"allowed_origins": ["https://app.example"]})).await;
    let page = [("Host", "localhost"), ("Origin", "https://app.example")];
    let answer = get(&bench, "/api/status", &page).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(answer.header("vary"), Some("origin"));
    let asked = [
        ("Host".to_owned(), "localhost".to_owned()),
        ("Origin".to_owned(), "https://app.example".to_owned()),
        ("Access-Control-Request-Method".to_owned(), "DELETE".to_owned()),
        ("Access-Control-Request-Headers".to_owned(), "authorization".to_owned()),
    ];
    let allowed = bench.send_raw("OPTIONS", "/api/tokens/x", &asked, "").await;
    assert_eq!(allowed.status, 204, "{allowed:?}");
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(allowed.header("access-control-allow-methods").unwrap().contains("DELETE"));
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("authorization"));
    let unlisted =
        get(&bench, "/api/status", &[("Host", "localhost"), ("Origin", "https://other.example")]).await;
    assert_eq!(unlisted.status, 403);
}

#[tokio::test]
async fn headers_of_untrusted_proxies_are_ignored() {
    let forwarded =
        [("Host", "localhost"), ("X-Forwarded-Host", "tools.example.org"), ("X-Forwarded-Proto", "https")];
    let settings = json!({"public_url": "https://tools.example.org"});
    let trusting = GatewayHarness::with(json!({
        "trusted_proxies": ["127.0.0.0/8"], "allowed_hosts": ["tools.example.org"],
    }))
    .await;
    let mut page = forwarded.to_vec();
    page.push(("Origin", "https://tools.example.org"));
    assert_eq!(get(&trusting, "/api/status", &page).await.status, 200);
    let evil = [("Host", "localhost"), ("X-Forwarded-Host", "evil.example")];
    assert_eq!(get(&trusting, "/api/status", &evil).await.code(), "host_not_allowed");

    let wary = GatewayHarness::with(json!({})).await;
    assert_eq!(get(&wary, "/api/status", &forwarded).await.status, 200, "the header counts for nothing");
    assert_eq!(get(&wary, "/api/status", &page).await.code(), "origin_not_allowed");
    let named = GatewayHarness::with(settings).await;
    let by_name = [("Host", "tools.example.org"), ("Origin", "https://tools.example.org")];
    assert_eq!(get(&named, "/api/status", &by_name).await.status, 200);
}

#[tokio::test]
async fn no_url_path_reads_a_file_r21() {
    let bench = GatewayHarness::new().await;
    for path in [
        "/etc/hostname",
        "/../../../../etc/hostname",
        "/..%2f..%2f..%2fetc/hostname",
        "/%2e%2e/%2e%2e/etc/hostname",
        "//etc/hostname",
        "/static/../../etc/hostname",
        "/index.html",
        "/owner.token",
        "/assets/../owner.token",
        "/..\\owner.token",
        "/.env",
        "/favicon.ico",
        "/api/../owner.token",
    ] {
        let answer = get(&bench, path, &[("Host", "localhost")]).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "path_not_found"), "{path}");
        assert!(!answer.body.contains(&bench.owner));
    }
    let page = get(&bench, "/", &[("Host", "localhost")]).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    for outside in ["src=", "href=", "@import", "url(", "<script"] {
        assert!(!page.body.contains(outside), "{outside}");
    }
}
