use http::HeaderValue;

use super::*;

fn with(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    let named = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    headers.iter().map(named).collect()
}

#[test]
fn a_header_counts_where_it_is_there_once() {
    assert_eq!(single_header(&with(&[("mcp-name", "a")]), &NAME), Some("a"));
    assert_eq!(single_header(&with(&[]), &NAME), None);
    // A middlebox might go by the other one.
    let mut twice = with(&[("mcp-name", "a")]);
    twice.append(NAME, HeaderValue::from_static("a"));
    assert_eq!(single_header(&twice, &NAME), None);
}

#[test]
fn media_types_are_compared_as_rfc_9110_has_it() {
    for fine in ["application/json", "Application/JSON; charset=utf-8", " application/json "] {
        assert!(is_json(fine), "{fine}");
    }
    for other in ["", "application/jsonx", "text/plain; a=application/json"] {
        assert!(!is_json(other), "{other}");
    }
    assert!(accepts_json_and_sse("application/json, text/event-stream"));
    assert!(accepts_json_and_sse("text/event-stream,APPLICATION/json,*/*"));
    for other in [
        "application/json",
        "*/*",
        "application/json;q=0, text/event-stream",
        "application/json text/event-stream",
    ] {
        assert!(!accepts_json_and_sse(other), "{other}");
    }
}

#[test]
fn ids_are_strings_and_whole_numbers() {
    let id = |text: &str| is_id(&RawValue::from_string(text.to_owned()).unwrap());
    for fine in ["1", "-7", "\"a\"", "9007199254740993"] {
        assert!(id(fine), "{fine}");
    }
    for other in ["1.5", "1e3", "null", "[1]", "{}", "true", "99999999999999999999"] {
        assert!(!id(other), "{other}");
    }
}
