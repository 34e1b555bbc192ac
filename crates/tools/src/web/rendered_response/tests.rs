use reqwest::header::HeaderName;
use reqwest::{StatusCode, Url};
use serde_json::json;

use super::*;

fn answer(headers: &[(&'static str, &str)], body: WebBody) -> WebResponse {
    let headers =
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect();
    let url = Url::parse("http://a.example/").unwrap();
    WebResponse { status: StatusCode::OK, url, redirects: 0, headers, body }
}

fn whole(bytes: &[u8]) -> WebBody {
    WebBody { bytes: bytes.to_vec(), total: Some(bytes.len() as u64), cut: false }
}

fn read(content_type: &str, bytes: &[u8]) -> (String, Vec<String>) {
    let headers: &[_] = if content_type.is_empty() { &[] } else { &[("content-type", content_type)] };
    let shown = render_response(&answer(headers, whole(bytes)));
    (shown.body, shown.notes)
}

#[track_caller]
fn reads(content_type: &str, bytes: &[u8], text: &str) {
    assert_eq!(read(content_type, bytes), (text.to_owned(), Vec::new()), "{content_type}");
}

#[test]
fn text_is_decoded_in_its_charset() {
    reads("text/plain; charset=utf-8", "Grüße €".as_bytes(), "Grüße €");
    reads("text/plain; charset=ISO-8859-1", b"Gr\xfc\xdfe", "Grüße");
    reads("text/html;charset=\"windows-1252\"", b"\x80 5", "€ 5");
    reads("text/plain; format=flowed; CHARSET=Shift_JIS", b"\x93\xfa\x96\x7b", "日本");
    reads("application/json; charset=gbk", b"\"\xc4\xe3\"", "\"你\"");
    reads("text/plain; charset=utf-16le", b"h\0i\0", "hi");
    reads("text/plain; charset=koi8-r", b"\xcd\xc9\xd2", "мир");
}

#[test]
fn a_byte_order_mark_wins_over_the_header() {
    reads("text/plain; charset=iso-8859-1", "\u{feff}Grüße".as_bytes(), "Grüße");
    reads("text/plain", b"\xff\xfeh\0i\0", "hi");
    reads("text/xml", b"\xfe\xff\0h\0i", "hi");
}

#[test]
fn without_a_charset_it_is_utf_8_and_what_does_not_fit_is_said() {
    reads("text/plain", "Grüße".as_bytes(), "Grüße");
    let (text, notes) = read("text/plain", b"Gr\xfc\xdfe");
    assert_eq!(text, "Gr\u{fffd}\u{fffd}e");
    assert_eq!(notes, ["Some bytes of the body are not UTF-8; each is shown as \u{fffd}"]);
    let (text, notes) = read("text/plain; charset=klingon", b"hi");
    assert_eq!(text, "hi");
    assert_eq!(notes, ["The charset klingon is unknown; the body was decoded as UTF-8"]);
}

#[test]
fn binary_content_is_described_and_not_shown() {
    let described = |kind: &str, bytes: &[u8]| read(kind, bytes).0;
    assert_eq!(described("image/png", &[0x89; 12345]), "[binary: image/png, 12345 bytes, not shown]");
    assert_eq!(
        described("Application/PDF", b"%PDF-1.7 \xe2\xe3"),
        "[binary: application/pdf, 11 bytes, not shown]"
    );
    assert_eq!(described("", b"\x00\x01\x02"), "[binary: unknown type, 3 bytes, not shown]");
    assert_eq!(described("text/plain", b"PK\x03\x04\x00"), "[binary: text/plain, 5 bytes, not shown]");
    assert_eq!(
        described("application/zip", b"PK\x03\x04\xff"),
        "[binary: application/zip, 5 bytes, not shown]"
    );
    let shown = render_response(&answer(
        &[("content-type", "video/mp4")],
        WebBody { bytes: vec![1; 10], total: None, cut: true },
    ));
    assert_eq!(shown.body, "[binary: video/mp4, more than 10 bytes, not shown]");
}

#[test]
fn text_of_an_unknown_type_is_shown() {
    reads("", b"plain", "plain");
    reads("application/octet-stream", "Grüße".as_bytes(), "Grüße");
    reads("application/vnd.api+json", b"{}", "{}");
    reads("image/svg+xml", b"<svg/>", "<svg/>");
    // The checked start ends within a character.
    let long = format!("a{}", "é".repeat(SNIFFED_BYTES));
    reads("application/x-thing", long.as_bytes(), &long);
}

#[test]
fn an_unexpectedly_compressed_body_is_not_decompressed() {
    let headers = [("content-type", "text/html"), ("content-encoding", "gzip")];
    let shown = render_response(&answer(&headers, whole(b"\x1f\x8b\x08\x00")));
    assert_eq!(shown.body, "[binary: text/html compressed with gzip, 4 bytes, not shown]");
    assert_eq!(shown.notes, ["The server compressed the body although the request does not allow it"]);
    let headers = [("content-type", "text/html"), ("content-encoding", "identity")];
    assert_eq!(render_response(&answer(&headers, whole(b"hi"))).body, "hi");
}

#[test]
fn a_truncated_body_is_marked_and_ends_between_characters() {
    let body = WebBody { bytes: "aé€".as_bytes()[..5].to_vec(), total: Some(6), cut: true };
    let shown = render_response(&answer(&[("content-type", "text/plain")], body));
    assert_eq!(shown.body, "aé\n[cut: the first 5 of 6 bytes are shown]");
    assert!(shown.notes.is_empty());
    let body = WebBody { bytes: b"abc".to_vec(), total: None, cut: true };
    let shown = super::render_response(&answer(&[], body));
    assert_eq!(shown.body, "abc\n[cut: the first 3 bytes are shown]");
}

#[test]
fn an_empty_body_is_empty_for_every_type() {
    reads("image/png", b"", "");
}

#[test]
fn repeated_headers_become_a_list() {
    let headers = [("set-cookie", "a=1"), ("x-one", "1"), ("set-cookie", "b=2"), ("set-cookie", "c=3")];
    let shown = render_response(&answer(&headers, WebBody::default()));
    assert_eq!(Value::Object(shown.headers), json!({"set-cookie": ["a=1", "b=2", "c=3"], "x-one": "1"}));
    assert_eq!(shown.headers_omitted, 0);
}

#[test]
fn headers_are_bounded_in_number_and_size() {
    let many: Vec<_> = (0..100).map(|_| ("x-many", "v")).collect();
    let shown = render_response(&answer(&many, WebBody::default()));
    assert_eq!(shown.headers["x-many"].as_array().unwrap().len(), MAX_HEADERS);
    assert_eq!(shown.headers_omitted, 100 - MAX_HEADERS);
    let long = "v".repeat(MAX_HEADER_BYTES);
    let shown =
        super::render_response(&answer(&[("x-a", "1"), ("x-long", &long), ("x-b", "2")], WebBody::default()));
    assert_eq!(Value::Object(shown.headers), json!({"x-a": "1"}));
    assert_eq!(shown.headers_omitted, 2);
}
