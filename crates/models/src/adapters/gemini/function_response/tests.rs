use toolway_types::{Code, ContentPart, ToolError, ToolOutput};

use super::*;

const KINDS: &[&str] = &["image/png"];

fn response_text(outcome: &Outcome) -> String {
    function_response(outcome, ImagePlacement::InResult, KINDS).get().to_owned()
}

fn structured_outcome(json: &str) -> Outcome {
    Outcome::Success(ToolOutput::structured(RawJson::parse(json).unwrap()))
}

#[test]
fn a_tools_result_is_the_output() {
    assert_eq!(response_text(&Outcome::Success(ToolOutput::text("18 °C"))), r#"{"output":"18 °C"}"#);
    // Byte for byte.
    assert_eq!(
        response_text(&structured_outcome(r#"{"z": 1.0, "a": [1]}"#)),
        r#"{"output":{"z": 1.0, "a": [1]}}"#
    );
    assert_eq!(response_text(&structured_outcome("[1, 2]")), r#"{"output":[1, 2]}"#);
    let picture = ContentPart::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned() };
    let text = ContentPart::text("Taken.");
    let shown = response_text(&Outcome::Success(ToolOutput::new(vec![text, picture], None)));
    assert_eq!(
        shown,
        r#"{"output":{"result":"Taken.","content":[{"mimeType":"image/png","note":"The image is attached to this result.","type":"image"}]}}"#
    );
}

#[test]
fn why_a_tool_failed_is_the_error() {
    let error = ToolError::new(Code::Timeout, "it took too long").with_hint("Ask again.");
    let written: serde_json::Value = serde_json::from_str(&response_text(&Outcome::Error(error))).unwrap();
    let error = written.as_object().unwrap().get("error").unwrap();
    assert_eq!(error["code"], "timeout");
    assert_eq!(error["message"], "it took too long");
    assert_eq!(error["hint"], "Ask again.");
}

#[test]
fn a_result_that_the_api_would_refuse_is_sent_as_text() {
    // A reference means a picture there.
    assert_eq!(
        response_text(&structured_outcome(r##"{"$ref": "#/a"}"##)),
        r##"{"output":"{\"$ref\": \"#/a\"}"}"##
    );
    assert_eq!(response_text(&structured_outcome(r#"[1e400]"#)), r#"{"output":"[1e400]"}"#);
    assert_eq!(response_text(&structured_outcome(r#"["\ud800"]"#)), r#"{"output":["\ufffd"]}"#);
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    assert_eq!(response_text(&structured_outcome(&deep)), format!(r#"{{"output":"{deep}"}}"#));
}
