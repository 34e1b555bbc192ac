use toolway_wire::ClientMessage;
use toolway_wire::client_message::{ToolResult, ToolResultOutput};

use super::*;

fn answered(frame: &str) -> (String, String) {
    match ClientMessage::decode(&answer_frame(frame).unwrap()).unwrap() {
        ClientMessage::ToolResult(ToolResult { id, output: ToolResultOutput::Text(output), .. }) => {
            (id, output)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_answered_with_its_text() {
    let request = r#"{"type":"tool_call_request","id":"u-1","name":"read_note","args":{"text":"abc"},"deadline_ms":30000,"attempt":1}"#;
    assert_eq!(answered(request), ("u-1".to_owned(), "abc".to_owned()));
    let through_the_relay = r#"{"type":"call_tool","id":"9","name":"a__b","args":{"text":"abc"}}"#;
    assert_eq!(answered(through_the_relay), ("9".to_owned(), "abc".to_owned()));
}

#[test]
fn other_frames_are_let_pass() {
    assert_eq!(answer_frame(r#"{"type":"result_acknowledged","id":"u-1","status":"accepted"}"#), None);
    assert_eq!(answer_frame(r#"{"type":"tool_call_cancel","id":"u-1","reason":"deadline"}"#), None);
    assert_eq!(answer_frame("not json"), None);
}
