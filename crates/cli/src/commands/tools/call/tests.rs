use super::*;

#[test]
fn arguments_are_passed_on_as_they_are() {
    let text = r#"{"b": 1.0, "a": 12345678901234567890123}"#;
    assert_eq!(arguments(text).unwrap().get(), text);
    assert_eq!(arguments("  ").unwrap().get(), "{}");
}

#[test]
fn arguments_that_are_no_object_are_bad_usage() {
    for text in ["{", "[1]", "5", "{'a': 1}", "{\"a\":1} x"] {
        let failure = arguments(text).unwrap_err();
        assert_eq!(failure.word(), "usage", "{text}");
        assert!(failure.for_people(false).contains("hint: write them as a JSON object"));
    }
}

#[test]
fn outcomes_of_both_kinds_are_read() {
    let success = r#"{"call_id":"x","duration_ms":1.5,"status":"success","result":{"a":1.0}}"#;
    let Outcome::Success(found) = Outcome::read(success).unwrap() else { panic!("a success") };
    assert_eq!(found.result.get(), r#"{"a":1.0}"#);
    let error = r#"{"call_id":"x","duration_ms":1.5,"status":"error","error_type":"timeout","message":"m","code":"no_progress","dispatched":true,"retryable":true}"#;
    let Outcome::Error(found) = Outcome::read(error).unwrap() else { panic!("an error") };
    assert_eq!((found.code.as_str(), found.dispatched), ("no_progress", true));
    assert!(Outcome::read("{}").is_err());
}

#[test]
fn progress_is_said_in_words() {
    let said = |text: &str| read::<Progress>(text).unwrap().in_words();
    assert_eq!(said(r#"{"progress":0.25}"#), "25 %");
    assert_eq!(said(r#"{"progress":3,"total":4,"message":"third\nof four"}"#), "75 %  third\\nof four");
    assert_eq!(said(r#"{"progress":17}"#), "17");
}

#[test]
fn parts_that_are_no_text_are_named() {
    let image = ContentPart::Image { data: "A".repeat(4096), mime_type: "image/png".to_owned() };
    assert_eq!(described(&image), "[image, image/png, 3 KiB; --json shows it whole]");
    let resource = ContentPart::Resource { resource: serde_json::json!({"uri": "file:///x"}) };
    assert_eq!(described(&resource), "[resource, file:///x; --json shows it whole]");
}
