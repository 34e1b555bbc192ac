use std::collections::BTreeSet;

use super::*;

fn rules() -> OriginRules {
    let settings = Settings {
        public_url: Some("https://tools.example.org".to_owned()),
        allowed_hosts: vec!["box.lan".to_owned(), "pinned.lan:7717".to_owned(), "[fd00::5]".to_owned()],
        allowed_origins: vec!["https://app.example".to_owned(), "chrome-extension://abc".to_owned()],
        ..Settings::default()
    };
    let own = || BTreeSet::from(["192.168.1.5".parse().unwrap(), "2001:db8::5".parse().unwrap()]);
    OriginRules::new(&settings, InterfaceAddresses::new(own))
}

struct OriginTestRequest<'a> {
    hosts: &'a [&'a str],
    origins: &'a [&'a str],
    target: Option<&'a str>,
    https: bool,
    forwarded_host: Option<&'a str>,
}

const PLAIN: OriginTestRequest<'_> = OriginTestRequest {
    hosts: &["localhost:7717"],
    origins: &[],
    target: None,
    https: false,
    forwarded_host: None,
};

async fn check(sent: OriginTestRequest<'_>) -> Result<Option<String>, &'static str> {
    let mut headers = HeaderMap::new();
    for host in sent.hosts {
        headers.append(HOST, http::HeaderValue::from_bytes(host.as_bytes()).unwrap());
    }
    for origin in sent.origins {
        headers.append(ORIGIN, http::HeaderValue::from_bytes(origin.as_bytes()).unwrap());
    }
    let client = EffectiveClient {
        ip: "127.0.0.1".parse().unwrap(),
        https: sent.https,
        forwarded_host: sent.forwarded_host.map(str::to_owned),
    };
    let local = "10.9.9.9".parse().unwrap();
    match rules().check(&headers, sent.target, &client, local).await {
        Ok(checked) => Ok(checked.listed_origin),
        Err(error) => {
            assert!(!error.hint().is_empty());
            Err(error.code())
        }
    }
}

#[tokio::test]
async fn hosts_of_the_gateway_are_accepted() {
    for host in [
        "localhost",
        "LOCALHOST:7717",
        "localhost.:7717",
        "toolway.localhost:7717",
        "127.0.0.1:7717",
        "127.8.8.8",
        "[::1]:7717",
        "[::ffff:127.0.0.1]:7717",
        "192.168.1.5:7717",
        "[2001:db8::5]:7717",
        "[2001:0DB8:0:0::5]",
        // The address that the connection reached.
        "10.9.9.9:7717",
        "tools.example.org",
        "tools.example.org:8443",
        "box.lan",
        "box.lan:1234",
        "pinned.lan:7717",
        "[fd00::5]:7717",
    ] {
        assert_eq!(check(OriginTestRequest { hosts: &[host], ..PLAIN }).await, Ok(None), "{host}");
    }
}

#[tokio::test]
async fn other_hosts_are_refused() {
    for host in [
        "evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "192.168.1.6",
        "[2001:db8::6]",
        "0.0.0.0:7717",
        "[::]:7717",
        "127.1",
        "2130706433",
        "0x7f000001",
        "pinned.lan",
        "pinned.lan:1",
        "sub.tools.example.org",
        "tools.example.org.evil.example",
        "localhost@evil.example",
        "localhost:7717@evil.example",
        "evil.example:80@localhost",
        "localhost evil",
        "localhost/",
        "[::1",
        "[::1%25lo]:7717",
        "",
        "l\u{f6}calhost",
    ] {
        let code = check(OriginTestRequest { hosts: &[host], ..PLAIN }).await.expect_err(host);
        assert!(code == "host_not_allowed" || code == "host_missing", "{host}: {code}");
    }
    assert_eq!(check(OriginTestRequest { hosts: &[], ..PLAIN }).await, Err("host_missing"));
    assert_eq!(
        check(OriginTestRequest { hosts: &["localhost", "localhost"], ..PLAIN }).await,
        Err("host_missing")
    );
}

#[tokio::test]
async fn a_host_in_the_request_line_is_checked_too() {
    let with = |target| check(OriginTestRequest { target: Some(target), ..PLAIN });
    assert_eq!(with("127.0.0.1:7717").await, Ok(None));
    assert_eq!(with("evil.example").await, Err("host_not_allowed"));
    assert_eq!(with("u@localhost").await, Err("host_not_allowed"));
    let evil_header = OriginTestRequest { hosts: &["evil.example"], target: Some("localhost"), ..PLAIN };
    assert_eq!(check(evil_header).await, Err("host_not_allowed"));
}

#[tokio::test]
async fn the_forwarded_host_of_a_trusted_proxy_is_used() {
    let behind =
        |host| check(OriginTestRequest { hosts: &["upstream"], forwarded_host: Some(host), ..PLAIN });
    assert_eq!(behind("tools.example.org").await, Ok(None));
    assert_eq!(behind("evil.example").await, Err("host_not_allowed"));
}

#[tokio::test]
async fn allowed_pages_are_accepted() {
    for (hosts, origin, https) in [
        (&["localhost:7717"], "http://localhost:7717", false),
        (&["127.0.0.1:7717"], "http://127.0.0.1:7717", false),
        (&["[::1]:7717"], "http://[::1]:7717", false),
        (&["192.168.1.5:7717"], "https://192.168.1.5:7717", true),
        (&["box.lan"], "https://box.lan", true),
        // Behind a proxy without forwarding headers: by public_url.
        (&["tools.example.org"], "https://tools.example.org", false),
    ] {
        assert_eq!(
            check(OriginTestRequest { hosts, origins: &[origin], https, ..PLAIN }).await,
            Ok(None),
            "{origin}"
        );
    }
    for origin in ["https://app.example", "chrome-extension://abc"] {
        let listed = check(OriginTestRequest { origins: &[origin], ..PLAIN }).await;
        assert_eq!(listed, Ok(Some(origin.to_owned())));
    }
}

#[tokio::test]
async fn other_pages_are_refused() {
    for origin in [
        "null",
        "https://evil.example",
        // Another program on this computer is another origin.
        "http://localhost:3000",
        "http://127.0.0.1:7717",
        "https://localhost:7717",
        "http://localhost",
        "http://localhost:7717@evil.example",
        "http://localhost:7717.evil.example",
        "http://evil.example#localhost:7717",
        "http://localhost:7717/path",
        "https://app.example.evil.example",
        "http://app.example",
        "https://sub.app.example",
        "file://",
        "",
    ] {
        let refused = check(OriginTestRequest { origins: &[origin], ..PLAIN }).await;
        assert_eq!(refused, Err("origin_not_allowed"), "{origin}");
    }
    let twice = OriginTestRequest { origins: &["http://localhost:7717", "https://evil.example"], ..PLAIN };
    assert_eq!(check(twice).await, Err("origin_not_allowed"));
}
