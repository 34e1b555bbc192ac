use toolway_types::Outcome;

use super::*;

fn text_of(outcome: &Outcome) -> String {
    encode(outcome, usize::MAX)
}

#[test]
fn a_decoded_envelope_encodes_to_the_same_text() {
    let image = || ContentPart::Image { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() };
    let structured = |text: &str| Some(RawJson::parse(text).unwrap());
    let outputs = [
        ToolOutput::text("plain"),
        ToolOutput::text(""),
        ToolOutput::new(vec![ContentPart::text("a"), image(), ContentPart::text("b")], None),
        ToolOutput::new(vec![image()], None),
        ToolOutput::new(vec![image()], structured(r#"{"b":1.0,"a":[1e3]}"#)),
        ToolOutput::new(vec![], structured(r#""a structured text""#)),
        ToolOutput::new(vec![], structured("null")),
        ToolOutput::default(),
    ];
    for output in outputs {
        let outcome = Outcome::Success(output);
        let text = text_of(&outcome);
        assert_eq!(text_of(&decode(&text).unwrap()), text);
    }
    for code in Code::ALL {
        let mut error = ToolError::new(*code, "what happened").with_hint("what to do").with_dispatched(true);
        error.retryable = !error.retryable;
        error.authorize_intent = structured(r#"{"action":"open"}"#);
        let outcome = Outcome::Error(error);
        assert_eq!(decode(&text_of(&outcome)).unwrap(), outcome);
    }
}

#[test]
fn text_within_the_limit_is_not_truncated() {
    let outcome = Outcome::Success(ToolOutput::text("x".repeat(100)));
    let whole = text_of(&outcome);
    assert_eq!(encode(&outcome, whole.len()), whole);
    assert_ne!(encode(&outcome, whole.len() - 1), whole);
}

#[test]
fn truncated_text_is_json_within_the_limit_with_both_lengths() {
    let texts = ["plain ".repeat(500), "\"\\\n".repeat(500), "\u{1}".repeat(500), "é€😀".repeat(500)];
    for text in texts {
        for cap in [200, 333, 1000] {
            let outcome = Outcome::Error(ToolError::new(Code::DeviceDisconnected, text.clone()));
            let cut = encode(&outcome, cap);
            assert!(cut.len() <= cap, "{} > {cap}", cut.len());
            let mark: serde_json::Value = serde_json::from_str(&cut).unwrap();
            let whole = text_of(&outcome);
            assert_eq!(
                (mark["total_bytes"].as_u64(), mark["truncated"].as_bool()),
                (Some(whole.len() as u64), Some(true))
            );
            let start = mark["preview"].as_str().unwrap();
            assert!(whole.starts_with(start));
            assert_eq!(mark["kept_bytes"].as_u64(), Some(start.len() as u64));
            assert_eq!(mark["error_type"], "execution_error");
            assert_eq!(mark["code"], "device_disconnected");
            assert_eq!(decode(&cut), None);
        }
    }
}

#[test]
fn text_that_is_not_an_envelope_is_not_decoded() {
    for text in
        ["", "{", "[]", r#"{"status":"error","code":"of_the_future","message":"m"}"#, r#"{"result":1}"#]
    {
        assert_eq!(decode(text), None, "{text}");
    }
}

#[test]
fn the_weight_grows_with_the_content() {
    let resource = serde_json::json!({"uri": "file:///a", "blob": "x".repeat(1000)});
    let output = ToolOutput::new(
        vec![ContentPart::text("x".repeat(500)), ContentPart::Resource { resource }],
        Some(RawJson::parse("[1,2,3]").unwrap()),
    );
    let weight = weight(&Outcome::Success(output));
    assert!((1500..1700).contains(&weight), "{weight}");
}
