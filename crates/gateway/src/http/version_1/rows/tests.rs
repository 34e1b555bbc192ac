use serde_json::{Value, json};
use toolway_types::RawJson;

use super::*;

fn row(role: &str, parts: Value) -> (String, String) {
    let MessageRow { content, kind, .. } = message_row(SessionMessage {
        seq: 1,
        turn_id: None,
        role: role.to_owned(),
        created_ms: 0,
        truncated: false,
        parts: RawJson::from(&parts),
    });
    (content, kind)
}

#[track_caller]
fn assert_row(role: &str, parts: Value, content: &str, kind: &str) {
    assert_eq!(row(role, parts), (content.to_owned(), kind.to_owned()));
}

#[test]
fn the_content_of_a_message_is_its_text() {
    let text = json!({"type": "text", "text": "Hello"});
    let call = json!({"type": "tool_call", "name": "battery", "arguments": "{}"});
    let thinking = json!({"type": "thinking", "text": "Hm."});
    assert_row("user", json!([text]), "Hello", "message");
    assert_row("assistant", json!([thinking, text, call, text]), "Hello\n\nHello", "message");
    assert_row("assistant", json!([thinking, call]), "", "tool_call");
    assert_row("user", json!([{"type": "image", "mimeType": "image/png"}]), "", "message");
    let result = |fields: Value| {
        let mut part = json!({"type": "tool_result", "name": "battery"});
        part.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!([part])
    };
    assert_row("tool", result(json!({"result": "81"})), "81", "tool_result");
    assert_row("tool", result(json!({"result": {"a": 1}})), r#"{"a":1}"#, "tool_result");
    assert_row("tool", result(json!({"message": "no battery"})), "no battery", "tool_result");
}

#[test]
fn times_are_rfc_3339() {
    assert_eq!(rfc_3339(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
    assert_eq!(rfc_3339(i64::MAX), "1970-01-01T00:00:00Z");
}
