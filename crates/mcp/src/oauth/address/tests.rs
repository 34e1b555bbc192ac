use reqwest::Url;

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn this_computer_is_known_however_it_is_written() {
    for here in [
        "http://127.0.0.1/",
        "http://127.9.9.9:1/",
        "http://[::1]:8/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://2130706433/",
    ] {
        assert!(is_loopback(&url(here)), "{here}");
    }
    for elsewhere in
        ["http://10.0.0.1/", "http://localhost.example.org/", "http://0.0.0.0/", "http://127.0.0.1.example/"]
    {
        assert!(!is_loopback(&url(elsewhere)), "{elsewhere}");
    }
}

/// Each case: address, resource, whether the address is allowed.
#[test]
fn secrets_go_over_https_or_stay_on_this_computer() {
    let far = "https://mcp.example.org/mcp";
    let near = "http://127.0.0.1:9000/mcp";
    for (address, resource, used) in [
        ("https://login.example.org/token", far, true),
        ("https://login.example.org/token", near, true),
        ("http://login.example.org/token", far, false),
        ("http://login.example.org/token", near, false),
        ("http://127.0.0.1:9001/token", near, true),
        ("http://localhost:9001/token", near, true),
        ("http://127.0.0.1:9001/token", far, false),
        ("https://localhost/token", far, false),
        ("https://0.0.0.0/token", far, false),
        ("https://[::]/token", far, false),
        ("https://10.0.0.1/token", far, false),
        ("https://192.168.1.1/token", far, false),
        ("https://169.254.1.1/token", far, false),
        ("https://[fe80::1]/token", far, false),
        ("https://[::ffff:10.0.0.1]/token", far, false),
        ("https://[64:ff9b::7f00:1]/token", far, false),
        ("https://169.254.169.254/token", far, false),
        ("https://169.254.169.254/token", near, false),
        ("https://10.0.0.1/token", near, true),
        ("https://10.0.0.2/token", "https://10.0.0.1/mcp", true),
        ("https://127.0.0.1/token", "https://10.0.0.1/mcp", false),
        ("https://0.0.0.0/token", "https://0.0.0.0/mcp", true),
        ("https://user:word@login.example.org/token", far, false),
        ("ftp://login.example.org/", far, false),
        ("javascript:alert(1)", far, false),
        ("file:///etc/passwd", near, false),
        ("/token", far, false),
        ("", far, false),
    ] {
        assert_eq!(usable_address("it", address, &url(resource)).is_ok(), used, "{address} for {resource}");
    }
}

#[test]
fn a_server_is_shown_tokens_over_https_or_on_this_computer() {
    for (address, may) in [
        ("https://mcp.example.org/mcp", true),
        ("http://127.0.0.1:9000/mcp", true),
        ("http://localhost/mcp#part", true),
        ("http://mcp.example.org/mcp", false),
        ("http://192.168.1.7/mcp", false),
        ("ws://127.0.0.1/mcp", false),
        ("nothing", false),
    ] {
        assert_eq!(server_url(address).is_ok(), may, "{address}");
    }
}

/// Examples of MCP's "Canonical Server URI".
#[test]
fn a_server_has_one_canonical_uri() {
    for (server, canonical_uri) in [
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
        ("https://mcp.example.com", "https://mcp.example.com"),
        ("https://mcp.example.com/", "https://mcp.example.com"),
        ("HTTPS://MCP.Example.com:8443/Server/mcp", "https://mcp.example.com:8443/Server/mcp"),
        ("https://mcp.example.com/mcp?key=secret#part", "https://mcp.example.com/mcp"),
        ("https://me:word@mcp.example.com/mcp", "https://mcp.example.com/mcp"),
    ] {
        assert_eq!(canonical_resource_uri(&url(server)), canonical_uri);
    }
}

/// Each case: resource, server, whether a token for the resource may go to the server.
#[test]
fn a_token_goes_to_its_resource_and_below() {
    for (resource, server, may) in [
        ("https://a.example/mcp", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcp/", true),
        ("https://a.example/mcp/", "https://a.example/mcp", true),
        ("https://a.example", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcp/agents/one", true),
        ("https://a.example:443/mcp", "https://a.example/mcp?x=1", true),
        ("https://a.example/mcp", "https://a.example/mcp2", false),
        ("https://a.example/mcp", "https://a.example/", false),
        ("https://a.example/mcp", "http://a.example/mcp", false),
        ("https://a.example/mcp", "https://b.example/mcp", false),
        ("https://a.example/mcp", "https://a.example:8443/mcp", false),
        ("https://a.example/mcp", "https://a.example.evil.example/mcp", false),
        ("https://a.example/mcp#x", "https://a.example/mcp", false),
        ("urn:example", "https://a.example/mcp", false),
    ] {
        assert_eq!(is_token_allowed(&url(resource), &url(server)), may, "{resource} → {server}");
    }
}
