use super::*;

#[test]
fn hosts_are_parsed_as_in_browsers() {
    for (text, shown) in [
        ("localhost", "localhost"),
        ("LocalHost:7717", "localhost:7717"),
        ("tools.example.org.", "tools.example.org"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("[::1]", "[::1]"),
        ("[::1]:7717", "[::1]:7717"),
        ("[::FFFF:10.0.0.1]:1", "10.0.0.1:1"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("my_host", "my_host"),
    ] {
        assert_eq!(UriAuthority::parse(text).unwrap_or_else(|| panic!("{text}")).to_string(), shown);
    }
}

#[test]
fn ambiguous_hosts_are_rejected() {
    for text in [
        "",
        ":80",
        "localhost:",
        "localhost:x",
        "localhost:+80",
        "localhost:65536",
        "localhost@evil.example",
        "localhost:7717@evil.example",
        "evil.example#localhost",
        "evil.example/localhost",
        "evil.example\\localhost",
        "evil.example?localhost",
        "localhost evil.example",
        "localhost,evil.example",
        "a..example",
        ".",
        "::1",
        "[::1",
        "::1]",
        "[::1]x",
        "[::1]7717",
        "[::1%eth0]",
        "[localhost]",
        "[127.0.0.1]",
        "h\u{e4}user.example",
        "*.example.org",
        "%6cocalhost",
    ] {
        assert_eq!(UriAuthority::parse(text), None, "{text:?}");
    }
}

#[test]
fn only_the_canonical_form_of_an_address_is_an_address() {
    // Resolvers read these as 127.0.0.1. Here they are names, and names must be allowed one by one.
    for text in ["127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.evil.example"] {
        let host = UriHost::parse(text).unwrap();
        assert!(matches!(host, UriHost::Name(_)), "{text}");
        assert!(!host.is_loopback(), "{text}");
    }
    assert!(!UriHost::parse("0.0.0.0").unwrap().is_loopback());
    assert!(UriHost::parse("127.9.9.9").unwrap().is_loopback());
    assert!(UriHost::parse("[::1]").unwrap().is_loopback());
    assert!(UriHost::parse("[::ffff:127.0.0.1]").unwrap().is_loopback());
    assert!(UriHost::parse("toolway.localhost").unwrap().is_loopback());
    assert!(!UriHost::parse("localhost.example").unwrap().is_loopback());
    assert!(!UriHost::parse("notlocalhost").unwrap().is_loopback());
}

#[test]
fn origins_are_compared_by_scheme_host_and_port() {
    let origin = |text: &str| WebOrigin::parse(text).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(origin("https://a.example"), origin("HTTPS://A.example:443/"));
    assert_eq!(origin("http://[::1]:80"), origin("http://[::1]"));
    assert_ne!(origin("http://a.example"), origin("https://a.example"));
    assert_ne!(origin("http://a.example:81"), origin("http://a.example"));
    assert_eq!(origin("http://a.example:81").to_string(), "http://a.example:81");
    assert_eq!(origin("https://a.example:443").to_string(), "https://a.example");
    assert_eq!(origin("chrome-extension://abcdef").to_string(), "chrome-extension://abcdef");
    for text in [
        "null",
        "",
        "a.example",
        "http://",
        "://a",
        "http://a/b",
        "http://u@a",
        "http://a#b",
        "1http://a",
        "http:a",
    ] {
        assert_eq!(WebOrigin::parse(text), None, "{text:?}");
    }
}
