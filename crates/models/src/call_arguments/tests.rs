use toolway_types::CallId;

use super::*;

fn call() -> ToolCall {
    ToolCall {
        id: CallId::new(),
        name: "t".to_owned(),
        arguments: "{}".to_owned(),
        is_cut: false,
        opaque: None,
    }
}

fn sent_arguments(text: &str, is_cut: bool) -> String {
    let call = ToolCall { id: CallId::new(), name: "t".into(), arguments: text.into(), is_cut, opaque: None };
    arguments_json(&call, &ConvertedTools::default()).get().to_owned()
}

#[test]
fn arguments_are_always_an_object() {
    assert_eq!(sent_arguments("", false), "{}");
    assert_eq!(sent_arguments(" \n", false), "{}");
    assert_eq!(sent_arguments(r#"{ "b":1.0,"a":2 }"#, false), r#"{ "b":1.0,"a":2 }"#);
    assert_eq!(sent_arguments("[1]", false), r#"{"unreadable_arguments":"[1]"}"#);
    assert_eq!(sent_arguments("{'a':1}", false), r#"{"unreadable_arguments":"{'a':1}"}"#);
    assert_eq!(sent_arguments("{}{}", false), r#"{"unreadable_arguments":"{}{}"}"#);
    // One that looks whole may be cut all the same.
    assert_eq!(sent_arguments(r#"{"a":1}"#, true), r#"{"unreadable_arguments":"{\"a\":1}"}"#);
    assert_eq!(sent_arguments("", true), r#"{"unreadable_arguments":""}"#);
    let long = sent_arguments(&"é".repeat(5_000), false);
    assert!(long.len() < MAX_SHOWN_BYTES + 50 && serde_json::from_str::<serde_json::Value>(&long).is_ok());
}

#[test]
fn json_that_some_api_can_t_read_is_unreadable() {
    for (json, readable) in [
        (r#"{"a":1e300}"#, true),
        (r#"{"a":1e400}"#, false),
        (r#"{"a":"1e400"}"#, true),
        (r#"{"a":"\ud83d\ude00"}"#, true),
        (r#"{"a":"\uD83D"}"#, false),
        (r#"{"a":12345678901234567890123}"#, true),
    ] {
        assert_eq!(is_readable(json), readable, "{json}");
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(is_readable(&nested(MAX_LEVELS)) && !is_readable(&nested(MAX_LEVELS + 1)));
}

#[test]
fn truncated_or_malformed_arguments_are_replayed_inside_an_object_m10() {
    let with = |arguments: &str, is_cut| ToolCall { arguments: arguments.to_owned(), is_cut, ..call() };
    assert_eq!(arguments_text(&with(r#"{"a": 1}"#, false)), r#"{"a": 1}"#);
    assert_eq!(arguments_text(&with(" ", false)), "{}");
    for bad in ["{\"a\":", "[1]", "null", "{} {}", "\"x\""] {
        let shown = serde_json::json!({ "unreadable_arguments": bad }).to_string();
        assert_eq!(arguments_text(&with(bad, false)), shown, "{bad}");
    }
    assert_eq!(arguments_text(&with("{\"a\":1}", true)), r#"{"unreadable_arguments":"{\"a\":1}"}"#);
    assert_eq!(arguments_text(&with("", true)), r#"{"unreadable_arguments":""}"#);
}

#[test]
fn half_a_surrogate_pair_in_arguments_reaches_the_api_as_a_replacement() {
    assert_eq!(sent_arguments(r#"{"a":"x \ud83d"}"#, false), r#"{"a":"x \ufffd"}"#);
    let call = ToolCall { arguments: r#"{"a":"\ude00"}"#.to_owned(), ..call() };
    assert_eq!(arguments_text(&call), r#"{"a":"\ufffd"}"#);
}
