use super::*;

#[track_caller]
fn bad(text: &str) -> String {
    let error = parse_url(text).unwrap_err();
    assert_eq!(error.kind, WebErrorKind::BadRequest, "{text}");
    error.message
}

#[test]
fn unusual_host_spellings_are_normalized_e11() {
    for (text, host) in [
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f000001/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.01/", "127.0.0.1"),
        ("http://017700000001/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://127.0.1/", "127.0.0.1"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://127。0。0。1/", "127.0.0.1"),
        ("http://１２７.0.0.1/", "127.0.0.1"),
        ("http://%31%32%37.0.0.1/", "127.0.0.1"),
        ("http://①②⑦.0.0.1/", "127.0.0.1"),
        ("http://0/", "0.0.0.0"),
        ("http://[::ffff:7f00:1]/", "[::ffff:7f00:1]"),
        ("http://[0:0:0:0:0:0:0:1]/", "[::1]"),
        ("http://LOCALHOST./", "localhost"),
        ("http://lⓄcalhost/", "localhost"),
        ("http:\\\\example.org\\a", "example.org"),
        ("http:example.org", "example.org"),
        ("https://example.org:443/#top", "example.org"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ] {
        let url = parse_url(text).unwrap();
        assert_eq!(url.host_str(), Some(host), "{text}");
        assert_eq!(url.fragment(), None);
    }
}

#[test]
fn an_invalid_url_is_refused_with_the_reason() {
    assert_eq!(bad("example.org/x"), "The URL is invalid: relative URL without a base");
    assert_eq!(bad("ftp://example.org/"), "Only http and https URLs are supported, not ftp:");
    assert_eq!(bad("file:///etc/passwd"), "Only http and https URLs are supported, not file:");
    assert_eq!(bad("localhost:80/"), "Only http and https URLs are supported, not localhost:");
    assert_eq!(bad("gopher://127.0.0.1:6379/_"), "Only http and https URLs are supported, not gopher:");
    assert_eq!(bad("http://example.org:0/"), "Port 0 is invalid");
    assert_eq!(
        bad("http://169.254.169.254@example.org/"),
        "The URL contains a user name or password; pass them in a header instead"
    );
    assert!(bad("https://:secret@example.org/").contains("user name or password"));
    assert_eq!(bad("http://example.org../"), "The host of the URL ends with several dots");
    assert!(bad(&format!("http://example.org/{}", "a".repeat(9000))).contains("at most 8192 are allowed"));
    for text in [
        "",
        "http://",
        "http:///",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://256.0.0.1/",
        "http://1.2.3.4.5/",
        "http://0x100000000/",
        "http://a b/",
        "http://exa\0mple.org/",
        "http://[::1/",
        "http://example.org:99999/",
        "http://127.0.0.09/",
        "http://./",
    ] {
        bad(text);
    }
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let url = |text| parse_url(text).unwrap();
    assert!(same_origin(&url("http://a.example/x"), &url("http://A.example:80/y?z")));
    for other in ["https://a.example/", "http://b.example/", "http://a.example:8080/", "http://x.a.example/"]
    {
        assert!(!same_origin(&url("http://a.example/"), &url(other)), "{other}");
    }
}
