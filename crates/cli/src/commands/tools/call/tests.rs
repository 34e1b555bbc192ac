use super::*;

#[test]
fn arguments_are_forwarded_unchanged() {
    let text = r#"{"b": 1.0, "a": 12345678901234567890123}"#;
    assert_eq!(parse_arguments(text).unwrap().get(), text);
    assert_eq!(parse_arguments("  ").unwrap().get(), "{}");
}

#[test]
fn arguments_that_are_not_an_object_are_a_usage_error() {
    for text in ["{", "[1]", "5", "{'a': 1}", "{\"a\":1} x"] {
        let failure = parse_arguments(text).unwrap_err();
        assert_eq!(failure.code(), "usage", "{text}");
        assert!(failure.render_text(false).contains("hint: use a JSON object"));
    }
}

#[test]
fn progress_is_described() {
    let said = |text: &str| describe_progress(&parse_response(text).unwrap());
    assert_eq!(said(r#"{"progress":0.25}"#), "25 %");
    assert_eq!(said(r#"{"progress":3,"total":4,"message":"third\nof four"}"#), "75 %  third\\nof four");
    assert_eq!(said(r#"{"progress":17}"#), "17");
}
