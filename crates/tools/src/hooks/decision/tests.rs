use serde_json::json;

use super::*;

fn arguments(text: &str) -> String {
    match parse_before(text).unwrap() {
        BeforeCallDecision::Modify(RawArguments::Json(raw)) => raw.get().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn replaced(text: &str) -> ToolOutput {
    match parse_after(text).unwrap() {
        AfterCallDecision::Replace(output) => output,
        AfterCallDecision::Keep => panic!("kept"),
    }
}

#[test]
fn an_empty_response_means_continue() {
    for text in ["", "\n", r#"{"decision":"continue"}"#, " {\"decision\":\"continue\"}\n"] {
        assert!(matches!(parse_before(text), Ok(BeforeCallDecision::Continue)), "{text:?}");
        assert!(matches!(parse_after(text), Ok(AfterCallDecision::Keep)), "{text:?}");
    }
}

#[test]
fn arguments_and_results_are_kept_byte_for_byte() {
    let given = r#"{"n":12345678901234567890123, "b":1.0,"a":1e3}"#;
    assert_eq!(arguments(&format!(r#"{{"decision":"modify","arguments":{given}}}"#)), given);
    let output = replaced(&format!(r#"{{"result":{given},"decision":"replace"}}"#));
    assert_eq!(output.structured.unwrap().get(), given);
    assert!(output.content.is_empty());
}

#[test]
fn a_reason_is_passed_on_unchanged() {
    match parse_before(r#"{"decision":"cancel","reason":"not on Sundays"}"#) {
        Ok(BeforeCallDecision::Cancel { reason }) => assert_eq!(reason, "not on Sundays"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_result_is_text_or_structured_with_further_parts() {
    assert_eq!(replaced(r#"{"decision":"replace","result":"a\nb"}"#), ToolOutput::text("a\nb"));
    for value in [json!(null), json!(5), json!(["a"]), json!({ "a": "b" })] {
        let text = json!({ "decision": "replace", "result": value }).to_string();
        assert_eq!(replaced(&text).structured.unwrap().to_value(), value);
    }
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let output = replaced(&json!({ "decision": "replace", "result": "a", "content": [image] }).to_string());
    assert_eq!(
        serde_json::to_value(&output.content).unwrap(),
        json!([{ "type": "text", "text": "a" }, image])
    );
}

#[test]
fn an_invalid_decision_is_an_error() {
    for text in [
        "yes",
        "{}",
        "null",
        "[]",
        r#""continue""#,
        r#"{"decision":"continue"} and more"#,
        r#"{"decision":"perhaps"}"#,
        r#"{"decision":"continue","reason":"x"}"#,
        r#"{"decision":"modify"}"#,
        r#"{"decision":"modify","arguments":[]}"#,
        r#"{"decision":"modify","arguments":null}"#,
        r#"{"decision":"modify","argument":{}}"#,
        r#"{"decision":"cancel"}"#,
        r#"{"decision":"cancel","reason":5}"#,
        r#"{"decision":"keep"}"#,
        r#"{"decision":"replace","result":1}"#,
    ] {
        let fault = parse_before(text).unwrap_err();
        assert!(fault.0.starts_with("its response is not a decision: "), "{fault}");
    }
    for text in [
        r#"{"decision":"cancel","reason":"too late"}"#,
        r#"{"decision":"modify","arguments":{}}"#,
        r#"{"decision":"keep"}"#,
        r#"{"decision":"replace"}"#,
        r#"{"decision":"replace","result":1,"content":[{"type":"film"}]}"#,
        r#"{"decision":"replace","result":1,"more":1}"#,
    ] {
        assert!(parse_after(text).is_err(), "{text}");
    }
    let deep =
        format!(r#"{{"decision":"modify","arguments":{{"a":{}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    assert!(parse_before(&deep).is_err());
}

#[test]
fn an_error_contains_the_start_of_the_response() {
    let fault = parse_before(&format!("Traceback\n  line {}", "x".repeat(5000))).unwrap_err();
    assert!(fault.0.contains("Traceback line xxx"), "{fault}");
    assert!(fault.0.ends_with('…') && fault.0.len() < 400, "{fault}");
    assert_eq!(excerpt("ü", 1), "…");
    assert_eq!(excerpt("a\u{1b}[2J\r\nb\u{202e}c\u{2028}d", 100), "a\\u{1b}[2J b\\u{202e}c d");
}
