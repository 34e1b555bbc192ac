use super::*;

#[test]
fn redirects_keep_their_method_and_origin_and_come_to_an_end() {
    let from = Url::parse("http://127.0.0.1:8000/mcp?key=1").unwrap();
    let led = |status: u16, location: &'static str, nth| {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
        redirect_target(&from, StatusCode::from_u16(status).unwrap(), &headers, nth).map(String::from)
    };
    for status in [307, 308] {
        assert_eq!(led(status, "/mcp/", 0).as_deref(), Some("http://127.0.0.1:8000/mcp/"));
        assert_eq!(led(status, "http://127.0.0.1:8000/x", 4).as_deref(), Some("http://127.0.0.1:8000/x"));
        assert_eq!(led(status, "/mcp/", 5), None, "five were followed");
        // Another port, scheme or host is another origin (RFC 6454), and what is sent may hold keys.
        for other in ["http://127.0.0.1:8001/mcp", "https://127.0.0.1:8000/mcp", "//evil.example/mcp"] {
            assert_eq!(led(status, other, 0), None, "{other}");
        }
    }
    // These may turn a POST into a GET (RFC 9110, section 15.4).
    for status in [200, 301, 302, 303] {
        assert_eq!(led(status, "/mcp/", 0), None, "{status}");
    }
    assert_eq!(redirect_target(&from, StatusCode::TEMPORARY_REDIRECT, &HeaderMap::new(), 0), None);
}
