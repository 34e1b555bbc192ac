use super::*;

fn url(text: &str) -> GatewayUrl {
    text.parse().unwrap()
}

#[test]
fn addresses_are_parsed_in_all_common_forms() {
    for (text, shown, secure, port) in [
        ("https://gw.example", "https://gw.example", true, 443),
        ("wss://gw.example:7717/", "https://gw.example:7717", true, 7717),
        (" http://127.0.0.1:7717 ", "http://127.0.0.1:7717", false, 7717),
        ("ws://[::1]:7717", "http://[::1]:7717", false, 7717),
        ("HTTPS://gw.example/tools/", "https://gw.example/tools", true, 443),
    ] {
        let url = url(text);
        assert_eq!(url.to_string(), shown, "{text}");
        assert_eq!((url.is_secure(), url.port()), (secure, port), "{text}");
    }
    assert_eq!(url("https://gw.example/tools").path("/pair"), "/tools/pair");
    assert_eq!(url("http://[::1]:7717").authority(), "[::1]:7717");
}

#[test]
fn loopback_addresses_are_recognized() {
    for text in
        ["http://127.0.0.1", "http://127.9.9.9", "http://localhost", "http://[::1]", "http://a.localhost"]
    {
        assert!(url(text).is_loopback(), "{text}");
    }
    for text in ["http://192.168.0.2", "http://localhost.example", "http://gw", "http://[::2]"] {
        assert!(!url(text).is_loopback(), "{text}");
    }
}

#[test]
fn invalid_addresses_are_rejected() {
    let refused = |text: &str| text.parse::<GatewayUrl>().unwrap_err();
    assert_eq!(refused("gw:7717"), BadGatewayUrl::Scheme("gw:7717".into()));
    assert_eq!(refused("ftp://gw"), BadGatewayUrl::Scheme("ftp://gw".into()));
    assert_eq!(refused("https://"), BadGatewayUrl::Malformed("https://".into()));
    assert_eq!(refused("https://me@gw"), BadGatewayUrl::UserInfo);
}
