use serde_json::json;
use toolway_types::{Code, SpecDocument};

use super::*;

fn mask() -> SecretMask {
    let mut mask = SecretMask::new(&["password".to_owned(), "token".to_owned()]);
    let schema = json!({"type": "object", "properties": {"pin": {"type": "string", "writeOnly": true}}});
    mask.add_schema(&RawJson::from(&schema));
    mask
}

#[test]
fn secrets_in_arguments_are_masked_and_everything_else_keeps_its_bytes() {
    for (text, masked) in [
        (r#"{ "user":"ada", "n": 1.0 }"#, r#"{ "user":"ada", "n": 1.0 }"#),
        (r#"{ "password" : "hunter2", "n": 1.0 }"#, r#"{ "password" : "[redacted]", "n": 1.0 }"#),
        (r#"{"PassWord":"a\"b","pin":"1234"}"#, r#"{"PassWord":"[redacted]","pin":"[redacted]"}"#),
        (
            r#"{"a":[{"token":12},{"token":null}]}"#,
            r#"{"a":[{"token":"[redacted]"},{"token":"[redacted]"}]}"#,
        ),
        (r#"{"token":{"a":["}",1]},"b":2}"#, r#"{"token":"[redacted]","b":2}"#),
        // An escaped name, and a value that looks like a name.
        (r#"{"to\u006ben":"x","a":"token"}"#, r#"{"to\u006ben":"[redacted]","a":"token"}"#),
        // Cut in a value, in an escape, and in a nested value.
        (r#"{"n":1,"password":"hunt"#, r#"{"n":1,"password":"[redacted]""#),
        (r#"{"token":{"a":"b"#, r#"{"token":"[redacted]""#),
        (r#"{"password":"#, r#"{"password":"[redacted]""#),
        // JSON in a string, whole and cut.
        (r#""{\"password\":\"x\"}""#, r#""{\"password\":\"[redacted]\"}""#),
        (r#"{"body":"{\"token\":\"ab\\n\"}"}"#, r#"{"body":"{\"token\":\"[redacted]\"}"}"#),
        (r#"{"body":"{\"token\":\"ab\u00"#, r#"{"body":"{\"token\":\"[redacted]\""}"#.trim_end_matches('}')),
        ("", ""),
        ("no JSON", "no JSON"),
    ] {
        assert_eq!(mask().mask_arguments(text), masked, "{text}");
    }
    // A schema that can't be resolved makes everything secret.
    let mut unclear = SecretMask::new(&[]);
    unclear.add_schema(&RawJson::from(&json!({"type": "object", "writeOnly": true})));
    assert_eq!(unclear.mask_arguments(r#"{"a":1}"#), r#""[redacted]""#);
    assert_eq!(unclear.mask_arguments(""), "");
}

#[test]
fn secrets_in_results_are_masked_in_values_and_texts() {
    let structured = RawJson::parse(r#"{"token": "t-1", "n": 1.0}"#).unwrap();
    let content = vec![
        ContentPart::text(r#"Signed in: {"token":"t-1"}."#),
        ContentPart::text("plain"),
        ContentPart::Resource { resource: json!({"uri": "a:", "text": r#"{"password":"p"}"#}) },
    ];
    let output = Arc::new(Outcome::Success(ToolOutput::new(content, Some(structured))));
    let masked = mask().mask_outcome(&output);
    let Outcome::Success(masked) = &*masked else { panic!("it was a success") };
    assert_eq!(masked.structured.as_ref().unwrap().get(), r#"{"token": "[redacted]", "n": 1.0}"#);
    assert_eq!(
        masked.content,
        [
            ContentPart::text(r#"Signed in: {"token":"[redacted]"}."#),
            ContentPart::text("plain"),
            ContentPart::Resource { resource: json!({"uri": "a:", "text": r#"{"password":"[redacted]"}"#}) },
        ]
    );
    let error = Arc::new(Outcome::Error(ToolError::new(Code::ToolFailed, r#"refused {"token":"t-1"}"#)));
    let masked = mask().mask_outcome(&error);
    assert_eq!(masked.error().unwrap().message, r#"refused {"token":"[redacted]"}"#);
    let plain = Arc::new(Outcome::Success(ToolOutput::text(r#"{"a":"token"}"#)));
    assert!(Arc::ptr_eq(&plain, &mask().mask_outcome(&plain)), "without secrets, it is the same");
}

#[test]
fn the_schema_of_results_marks_secrets_too() {
    let output = json!({"type": "object", "properties": {"key": {"writeOnly": true}}});
    let document =
        SpecDocument { output_schema: Some(RawJson::from(&output)), ..SpecDocument::named("sign_in") };
    let spec = ToolSpec::compile(document).unwrap();
    let result = Arc::new(Outcome::Success(ToolOutput::structured(RawJson::from(&json!({"key": "k-1"})))));
    let masked = mask_recorded_outcome(&result, &[], Some(&spec));
    let Outcome::Success(masked) = &*masked else { panic!("it was a success") };
    assert_eq!(masked.structured.as_ref().unwrap().get(), r#"{"key":"[redacted]"}"#);
}
