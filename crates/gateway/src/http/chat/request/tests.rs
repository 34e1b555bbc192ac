use serde_json::{Value, json};
use toolway_models::MessagePart;

use super::*;

fn read(body: Value) -> Result<ChatTurnRequest, String> {
    let body: ChatRequest = serde_json::from_value(body).map_err(|error| error.to_string())?;
    read_request(body)
        .map_err(|refused| format!("{} {}: {}", refused.status.as_u16(), refused.code, refused.message))
}

#[test]
fn missing_fields_have_defaults() {
    let asked = read(json!({"content": "hello"})).unwrap();
    assert_eq!(asked.input, TurnInput::Message(vec![MessagePart::text("hello")]));
    assert!(asked.stream, "events");
    assert!(!asked.is_interactive && !asked.debug, "nobody is asked, and nothing is shown of the prompt");
    assert_eq!((asked.session_id, asked.agent), (None, None));
}

#[test]
fn every_field_is_parsed() {
    let asked = read(json!({
        "session_id": "s1", "agent": "home", "content": "look", "debug": true, "stream": false, "interactive": true,
        "attachments": [{"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}],
    }))
    .unwrap();
    let picture = MessagePart::Image { data: "iVBORw0=".to_owned(), mime_type: "image/png".to_owned() };
    assert_eq!(asked.input, TurnInput::Message(vec![MessagePart::text("look"), picture]));
    assert_eq!((asked.session_id.as_deref(), asked.agent.as_deref()), (Some("s1"), Some("home")));
    assert!(asked.debug && asked.is_interactive && !asked.stream);
    assert_eq!(read(json!({"regenerate": true, "content": null})).unwrap().input, TurnInput::Regenerate);
}

#[test]
fn invalid_requests_are_refused_with_a_message() {
    for (body, refusal) in [
        (json!({}), "400 empty_content: the message is empty"),
        (json!({"content": " "}), "400 empty_content: the message is empty"),
        (
            json!({"regenerate": true, "content": "x"}),
            "400 malformed_request: regenerate answers the last message again, so it takes no content",
        ),
        (
            json!({"content": "x", "agent": ""}),
            "400 malformed_request: agent has 0 characters; it must have 1 to 128",
        ),
        (
            json!({"content": "x".repeat((1 << 20) + 1)}),
            "413 message_too_large: the message is longer than 1048576 bytes",
        ),
    ] {
        assert_eq!(read(body).unwrap_err(), refusal);
    }
    let unknown = read(json!({"content": "x", "contents": "y"})).unwrap_err();
    assert!(unknown.starts_with("unknown field `contents`"), "{unknown}");
}
