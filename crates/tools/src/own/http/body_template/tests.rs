use serde_json::json;

use super::*;

fn filled(body: Value, arguments: Value) -> String {
    let body = BodyTemplate::parse(body, false).unwrap();
    String::from_utf8(body.fill(arguments.as_object().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_sole_placeholder_becomes_the_value_and_others_become_text() {
    let body =
        json!({"a": "{a}", "b": ["{b}", 1, null], "c": {"d": "x {a} {b}"}, "{k}": "{{a}}", "e": "\"{s}\""});
    let arguments = json!({"a": 5, "b": {"x": [true]}, "s": "\" , \"z\": 1"});
    let value: Value = serde_json::from_str(&filled(body, arguments)).unwrap();
    assert_eq!(
        value,
        json!({"a": 5, "b": [{"x": [true]}, 1, null], "c": {"d": "x 5 {\"x\":[true]}"}, "{k}": "{a}", "e": "\"\" , \"z\": 1\""})
    );
}

#[test]
fn members_without_a_value_are_omitted() {
    let body = json!({"a": "{a}", "b": "x {b}", "c": ["{a}", "{c}"], "d": {"e": "{a}"}});
    assert_eq!(filled(body, json!({"c": 1, "a": null})), r#"{"c":[1],"d":{}}"#);
}

#[test]
fn text_in_json_form_is_parsed_as_json() {
    assert_eq!(filled(json!(r#" {"a": "{a}"} "#), json!({"a": "\"x\""})), r#"{"a":"\"x\""}"#);
    assert_eq!(filled(json!("[1, 2]"), json!({})), "[1,2]");
    assert_eq!(BodyTemplate::parse(json!("[]"), false).unwrap().media_type(), "application/json");
    assert_eq!(filled(json!("{a}"), json!({"a": "plain"})), "plain");
    assert_eq!(filled(json!("<q>{a}</q>"), json!({"a": 1})), "<q>1</q>");
}

#[test]
fn values_in_a_form_are_encoded() {
    let body = BodyTemplate::parse(json!("a={a}&b=2"), true).unwrap();
    let arguments = json!({"a": "1&b=3"});
    assert_eq!(body.fill(arguments.as_object().unwrap()).unwrap(), b"a=1%26b%3D3&b=2");
    assert_eq!(body.required_placeholders(), ["a"]);
}

#[test]
fn a_text_body_requires_all_values() {
    let body = BodyTemplate::parse(json!("a {a} {b}"), false).unwrap();
    assert_eq!(body.required_placeholders(), ["a", "b"]);
    let error = body.fill(json!({"a": 1}).as_object().unwrap()).unwrap_err();
    assert_eq!(error.message, "a, b are needed for the request's body");
}

#[test]
fn an_invalid_body_is_refused() {
    for (given, problem) in [
        (json!(5), "body must be a table, a list or text"),
        (json!({"a": "{x"}), "body: an unclosed brace; write {{ and }} for literal braces"),
        (json!({"a": ["{secret:key}"]}), "body: secrets are only allowed in headers"),
        (json!("k={secret:key}"), "body: secrets are only allowed in headers"),
        (
            json!({"when": {"$__toml_private_datetime": "2026-01-01"}}),
            "body: JSON has no dates; write the date as text",
        ),
    ] {
        assert_eq!(BodyTemplate::parse(given, false).unwrap_err(), problem);
    }
}
