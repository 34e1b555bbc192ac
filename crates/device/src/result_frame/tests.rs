use super::*;
use serde_json::{Value, json};
use toolway_types::RawJson;

const V2: FrameFormat = FrameFormat { version: 2, frame_limit: 1 << 20 };

#[track_caller]
fn writes(outcome: Result<ToolOutput, ToolError>, form: FrameFormat, expected: Value) {
    let frame: Value = serde_json::from_str(&result_frame("7", outcome, form)).unwrap();
    assert_eq!(frame, expected);
}

#[test]
fn result_frames_contain_text_structure_and_parts() {
    let picture = ContentPart::Image { data: "AA==".into(), mime_type: "image/png".into() };
    let output = ToolOutput::new(
        vec![ContentPart::text("a"), picture, ContentPart::text("b")],
        Some(RawJson::parse(r#"{"n":1.0}"#).unwrap()),
    );
    writes(
        Ok(output),
        V2,
        json!({
            "type": "tool_result", "id": "7", "output": "a\nb", "success": true, "structured": { "n": 1.0 },
            "content": [{ "type": "image", "data": "AA==", "mimeType": "image/png" }],
        }),
    );
}

#[test]
fn version_1_gets_only_text() {
    let v1 = FrameFormat { version: 1, ..V2 };
    let output = ToolOutput::structured(RawJson::parse(r#"{"n":1.0}"#).unwrap());
    writes(
        Ok(output),
        v1,
        json!({ "type": "tool_result", "id": "7", "output": "{\"n\":1.0}", "success": true }),
    );
}

#[test]
fn error_frames_contain_code_and_hint() {
    let error = ToolError::new(Code::AuthRequired, "sign in first").with_hint("open the app");
    writes(
        Err(error),
        V2,
        json!({
            "type": "tool_error", "id": "7", "error": "sign in first", "success": false,
            "error_type": "permission_denied", "code": "auth_required", "hint": "open the app",
        }),
    );
}

#[test]
fn codes_reserved_for_the_gateway_become_tool_failed() {
    let frame = result_frame("7", Err(ToolError::new(Code::Timeout, "slow")), V2);
    let frame: Value = serde_json::from_str(&frame).unwrap();
    assert_eq!(frame["code"], "tool_failed");
    assert_eq!(frame["retryable"], true, "what the tool said of it stays");
}

#[test]
fn a_result_larger_than_a_frame_becomes_an_error() {
    let small = FrameFormat { version: 2, frame_limit: 300 };
    let frame = result_frame("7", Ok(ToolOutput::text("x".repeat(300))), small);
    let frame: Value = serde_json::from_str(&frame).unwrap();
    assert_eq!((&frame["type"], &frame["code"]), (&json!("tool_error"), &json!("tool_failed")));
    assert!(frame["error"].as_str().unwrap().contains("accepts at most 300"), "{frame}");
}
