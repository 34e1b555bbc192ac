use super::*;

fn add(name: &str, value: &str) -> Result<HeaderMap, BadHeader> {
    let mut headers = HeaderMap::new();
    request_header(&mut headers, name, value, false).map(|()| headers)
}

#[test]
fn ordinary_headers_are_accepted() {
    let headers = add("X-Api-Key", "  k-1 ").unwrap();
    assert_eq!(headers["x-api-key"], "k-1");
    assert_eq!(add("X-Name", "Zoë").unwrap()["x-name"].as_bytes(), "Zoë".as_bytes());
    assert_eq!(add("X-Empty", "").unwrap()["x-empty"], "");
}

#[test]
fn connection_and_client_headers_are_refused_e11() {
    for name in [
        "Host",
        "hOST",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Expect",
        "Accept-Encoding",
    ] {
        assert_eq!(add(name, "x"), Err(BadHeader::Reserved(name.to_owned())));
    }
}

#[test]
fn header_values_with_control_characters_are_refused_e11() {
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\u{7f}b", "a\u{1}"] {
        let error = add("X-A", value).unwrap_err();
        assert_eq!(error, BadHeader::Value("X-A".to_owned()));
        assert!(!error.to_string().contains("Evil"), "values are not said: {error}");
    }
    for name in ["", "a b", "a:b", "a\r\nb", "ä", "a\0", " a"] {
        assert_eq!(add(name, "x"), Err(BadHeader::Name(name.to_owned())));
    }
}

#[test]
fn repeated_and_too_many_headers_are_refused() {
    let mut headers = add("X-A", "1").unwrap();
    assert_eq!(request_header(&mut headers, "x-a", "2", false), Err(BadHeader::Twice("x-a".to_owned())));
    let mut headers = HeaderMap::new();
    for number in 0..MAX_COUNT {
        request_header(&mut headers, &format!("x-{number}"), "v", false).unwrap();
    }
    assert_eq!(request_header(&mut headers, "x-more", "v", false), Err(BadHeader::TooMany));
    assert_eq!(add("x-a", &"v".repeat(MAX_BYTES)), Err(BadHeader::TooMany));
}

#[test]
fn only_harmless_headers_are_sent_to_another_origin_e11() {
    let mut headers = HeaderMap::new();
    for name in [
        "Authorization",
        "Cookie",
        "X-Api-Key",
        "Api-Key",
        "X-Custom",
        "Private-Token",
        "Accept",
        "User-Agent",
        "Content-Type",
        "Referer",
        "Origin",
    ] {
        request_header(&mut headers, name, "v", false).unwrap();
    }
    request_header(&mut headers, "Accept-Language", "secret", true).unwrap();
    strip_cross_origin_headers(&mut headers);
    let mut kept: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
    kept.sort_unstable();
    assert_eq!(kept, ["accept", "content-type", "user-agent"]);
}
