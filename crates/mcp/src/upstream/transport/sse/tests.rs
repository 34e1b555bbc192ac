use super::*;

#[test]
fn messages_go_to_the_same_origin_only() {
    let stream = Url::parse("https://example.com/sse?key=1").unwrap();
    let to = |said: &str| parse_endpoint(&stream, said.as_bytes()).map(String::from);
    assert_eq!(to("/messages?id=7").unwrap(), "https://example.com/messages?id=7");
    assert_eq!(to("messages").unwrap(), "https://example.com/messages");
    assert_eq!(to("https://example.com:443/m").unwrap(), "https://example.com/m");
    for other in
        ["https://evil.example/m", "http://example.com/m", "//evil.example/m", "https://example.com:8443/m"]
    {
        assert!(to(other).is_err(), "{other}");
    }
}
