use serde_json::{Value, json};

use super::*;

#[test]
fn half_a_surrogate_pair_costs_only_itself() {
    let read = |text: &str| from_str::<Value>(text).unwrap();
    assert_eq!(read(r#"{"a":"x \ud83d"}"#), json!({"a": "x \u{FFFD}"}));
    assert_eq!(read(r#""\ude00 there""#), json!("\u{FFFD} there"));
    assert_eq!(read(r#""\uD83Dx\ud83d\ude00\ud83d\ud83d\ude00""#), json!("\u{FFFD}x😀\u{FFFD}😀"));
    assert_eq!(read(r#"{"\udc00":1}"#), json!({"\u{FFFD}": 1}));
}

#[test]
fn a_whole_pair_and_an_escaped_backslash_stay() {
    for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9\\""#, "\"\u{FFFD}\""] {
        assert!(matches!(replace_lone_surrogates(text), Cow::Borrowed(same) if same == text), "{text}");
    }
    assert_eq!(replace_lone_surrogates(r#""\\\ud83d""#), r#""\\\ufffd""#);
}

#[test]
fn a_byte_that_is_not_utf8_costs_only_itself() {
    assert_eq!(from_slice::<Value>(b"{\"a\":\"caf\xE9\"}").unwrap(), json!({"a": "caf\u{FFFD}"}));
    assert_eq!(from_slice::<Value>(b"\"\xE9 \\ud83d\"").unwrap(), json!("\u{FFFD} \u{FFFD}"));
}

#[test]
fn what_is_no_json_is_an_error_as_before() {
    for text in ["", "{", r#"{"a":"\ud83d""#, "[1,]", r#""\uzzzz""#, "\"\\ud8\""] {
        assert!(from_str::<Value>(text).is_err(), "{text}");
        assert!(from_slice::<Value>(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn kept_positions_keep_their_bytes() {
    let text = r#"["\ud83d","\ud83d"]"#;
    let first = lone_surrogates(text.as_bytes()).next().unwrap();
    assert_eq!(replace_lone_surrogates_except(text, |at| at == first), r#"["\ud83d","\ufffd"]"#);
}

#[test]
fn the_members_of_a_broken_object_are_found() {
    let id = |text: &str| {
        let member = broken_members(text.as_bytes()).find(|member| member.name == b"id")?;
        member.as_text().or_else(|| member.as_word().map(Cow::into_owned))
    };
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":12,"result":{"x":NaN}}"#).as_deref(), Some("12"));
    assert_eq!(id(r#"log: {"id" : "a\ud83d", "x": {"id": 3"#).as_deref(), Some("a\u{FFFD}"));
    assert_eq!(id(r#"{"result":{"id":3},"id":4"#).as_deref(), Some("4"));
    assert_eq!(id(r#"{"note":"\"id\":5","id":6}"#).as_deref(), Some("6"));
    assert_eq!(id(r#"{"result":{"id":3}}"#), None);
    assert_eq!(id(r#"{"a":1} {"id":7}"#), None);
    assert_eq!(id(r#"{"id":{"a":1}}"#), None);
    assert_eq!(id("no object"), None);
    assert_eq!(id(r#"{"id"#), None);
}
