use toolway_types::{CallId, Code, Outcome, ToolError, ToolOutput};

use super::*;
use crate::CONNECTED_MESSAGE;

#[track_caller]
fn writes(message: impl Into<GatewayMessage>, expected: &str) {
    assert_eq!(message.into().encode(), expected);
}

/// Version 1 clients read null as the text "null", so fields that they do not know are omitted.
#[test]
fn version_1_frames_have_only_version_1_fields() {
    writes(
        Connected { v: 1, message: CONNECTED_MESSAGE.into(), ..Connected::default() },
        r#"{"type":"connected","v":1,"message":"Connection established"}"#,
    );
    writes(
        SessionStart { v: 1, session_id: "s1".into(), ..SessionStart::default() },
        r#"{"type":"session_start","v":1,"session_id":"s1","resumed":false,"message_count":0}"#,
    );
    writes(
        ToolCallRequest {
            id: "550e8400-e29b-41d4-a716-446655440000".into(),
            name: "device_info".into(),
            args: RawJson::empty_object(),
            ..ToolCallRequest::default()
        },
        r#"{"type":"tool_call_request","id":"550e8400-e29b-41d4-a716-446655440000","name":"device_info","args":{}}"#,
    );
    writes(
        ResultAcknowledged { id: "550e8400-e29b-41d4-a716-446655440000".into(), status: None },
        r#"{"type":"result_acknowledged","id":"550e8400-e29b-41d4-a716-446655440000"}"#,
    );
    writes(
        ToolsRegistered { count: 2, registered: 2, rejected: Vec::new() },
        r#"{"type":"tools_registered","count":2,"registered":2}"#,
    );
    writes(
        ErrorMessage { message: "no".into(), ..ErrorMessage::default() },
        r#"{"type":"error","message":"no"}"#,
    );
    writes(
        Done { full_response: "Hello.".into(), ..Done::default() },
        r#"{"type":"done","full_response":"Hello."}"#,
    );
}

/// Null is written only in `usage`, and only for version 2.
#[test]
fn unknown_usage_figures_are_null() {
    let usage = Some(Usage { input: Some(1), ..Usage::default() });
    writes(
        Done { usage, ..Done::default() },
        r#"{"type":"done","full_response":"","usage":{"input":1,"output":null,"cached":null,"reasoning":null}}"#,
    );
}

/// The direct writer of a request and the derived serializer give the same frame.
#[test]
fn both_writers_of_a_request_give_the_same_frame() {
    let text = "01890a5d-ac96-774b-bcce-b302099a8057";
    let id: CallId = text.parse().unwrap();
    let args = RawJson::parse(r#"{ "b":1.0 }"#).unwrap();
    for (deadline_ms, attempt) in [(None, None), (Some(29_950), Some(2))] {
        let plain = ToolCallRequest {
            id: text.into(),
            name: "a \"b\"".into(),
            args: args.clone(),
            deadline_ms,
            attempt,
        };
        let quick = ToolCallRequest::write(id, "a \"b\"", &args, deadline_ms, attempt);
        assert_eq!(quick, GatewayMessage::from(plain).encode());
    }
}

#[track_caller]
fn result_frame(outcome: &Outcome, expected: &str) {
    let id: CallId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let frame = CallResult::write("1", id, 1.5, outcome);
    assert_eq!(
        frame,
        format!(
            r#"{{"type":"call_result","id":"1","call_id":"01890a5d-ac96-774b-bcce-b302099a8057","duration_ms":1.5,{expected}}}"#
        )
    );
    // Decoding finds the same fields.
    let GatewayMessage::CallResult(read) = GatewayMessage::decode(&frame).unwrap() else { panic!() };
    assert_eq!(GatewayMessage::from(read).encode(), frame);
}

#[test]
fn a_call_result_contains_the_envelope() {
    let theirs = RawJson::parse(r#"{ "b":1.0,"a":1e3 }"#).unwrap();
    result_frame(
        &Outcome::Success(ToolOutput::structured(theirs)),
        r#""status":"success","result":{ "b":1.0,"a":1e3 }"#,
    );
    // Text stays text, even if it contains JSON.
    result_frame(
        &Outcome::Success(ToolOutput::text(r#"{"model":"Pixel 8"}"#)),
        r#""status":"success","result":"{\"model\":\"Pixel 8\"}""#,
    );
    let error = ToolError::new(Code::Timeout, "the deadline passed").with_dispatched(true);
    result_frame(
        &Outcome::Error(error),
        r#""status":"error","error_type":"timeout","message":"the deadline passed","code":"timeout","dispatched":true,"retryable":true"#,
    );
}

/// A structured null is a result, not a missing value.
#[test]
fn a_structured_null_is_written() {
    result_frame(
        &Outcome::Success(ToolOutput::structured(RawJson::null())),
        r#""status":"success","result":null"#,
    );
}

#[track_caller]
fn shown_as(outcome: &Outcome, duration_ms: Option<f64>, expected: &str) {
    let id: CallId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let frame = ChatToolResult::write(id, "camera", outcome, duration_ms);
    let expected = expected.replace("ID", "01890a5d-ac96-774b-bcce-b302099a8057");
    assert_eq!(frame, expected);
    // Decoding and encoding again gives the same bytes.
    assert_eq!(GatewayMessage::decode(&frame).unwrap().encode(), frame);
}

#[test]
fn a_result_in_a_chat_has_the_fields_of_its_outcome_for_version_2_alone() {
    let text = Outcome::Success(ToolOutput::text("taken"));
    shown_as(&text, None, r#"{"type":"tool_result","id":"ID","name":"camera","output":"taken"}"#);
    shown_as(
        &text,
        Some(1.5),
        r#"{"type":"tool_result","id":"ID","name":"camera","output":"taken","duration_ms":1.5,"status":"success","result":"taken"}"#,
    );
    let failed = Outcome::Error(ToolError::new(Code::Timeout, "too slow"));
    shown_as(&failed, None, r#"{"type":"tool_result","id":"ID","name":"camera","output":"too slow"}"#);
    shown_as(
        &failed,
        Some(2.0),
        r#"{"type":"tool_result","id":"ID","name":"camera","output":"too slow","duration_ms":2.0,"status":"error","error_type":"timeout","message":"too slow","code":"timeout","dispatched":false,"retryable":true}"#,
    );
}

#[test]
fn the_output_in_a_chat_is_always_a_string() {
    let structured = ToolOutput::structured(RawJson::parse(r#"{ "percent":81 }"#).unwrap());
    shown_as(
        &Outcome::Success(structured.clone()),
        None,
        r#"{"type":"tool_result","id":"ID","name":"camera","output":"{ \"percent\":81 }"}"#,
    );
    let both = ToolOutput { content: vec![ContentPart::text("81 percent")], ..structured.clone() };
    shown_as(
        &Outcome::Success(both),
        None,
        r#"{"type":"tool_result","id":"ID","name":"camera","output":"81 percent"}"#,
    );
    let picture = ContentPart::Image { data: "AA==".into(), mime_type: "image/png".into() };
    let pictured = ToolOutput::new(vec![picture.clone()], None);
    shown_as(
        &Outcome::Success(pictured),
        None,
        r#"{"type":"tool_result","id":"ID","name":"camera","output":""}"#,
    );
    let pictured = ToolOutput { content: vec![picture], ..structured };
    shown_as(
        &Outcome::Success(pictured),
        Some(1.0),
        r#"{"type":"tool_result","id":"ID","name":"camera","output":"{ \"percent\":81 }","duration_ms":1.0,"status":"success","result":{ "percent":81 },"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
    );
}

#[test]
fn version_1_gets_the_prompt_as_one_string() {
    let prompt =
        DebugPrompt { messages: vec![RawJson::parse(r#"{"content":"a\"b","role":"user"}"#).unwrap()] };
    assert_eq!(
        prompt.write_version_1(),
        r#"{"type":"debug_prompt","messages":"[{\"content\":\"a\\\"b\",\"role\":\"user\"}]","estimated_tokens":9}"#
    );
}

#[test]
fn frames_written_directly_are_those_of_the_messages() {
    let id = CallId::new();
    let args = RawJson::parse(r#"{"a": "\ud83d"}"#).unwrap();
    for (deadline_ms, attempt) in [(None, None), (Some(5), Some(2))] {
        let message = ToolCallRequest {
            id: id.to_string(),
            name: "a\"b\n\u{1}ü".to_owned(),
            args: args.clone(),
            deadline_ms,
            attempt,
        };
        let frame = ToolCallRequest::write(id, &message.name, &args, deadline_ms, attempt);
        assert_eq!(frame, GatewayMessage::from(message).encode());
    }
    for status in
        [ResultStatus::Accepted, ResultStatus::Late, ResultStatus::Duplicate, ResultStatus::Unknown].map(Some)
    {
        for status in [None, status] {
            let message = ResultAcknowledged { id: "c\\1".to_owned(), status };
            let frame = ResultAcknowledged::write(&message.id, status);
            assert_eq!(frame, GatewayMessage::from(message).encode());
        }
    }
}
