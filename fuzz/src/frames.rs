//! Frames of devices, clients and the gateway, and texts of pairing.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolway_core::ToolSpec;
use toolway_types::{CallId, Code, Outcome, RawJson, ToolError, ToolOutput};
use toolway_wire::client_message::ToolResultOutput;
use toolway_wire::gateway_message::{ChatToolResult, DebugPrompt, ToolCallRequest};
use toolway_wire::pairing::{KeyPin, PairingCode, PairingInput, PairingLink};
use toolway_wire::{ClientMessage, FrameError, GatewayMessage, error_code};

/// Tests a frame from a device or chat client.
pub fn client_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ClientMessage::decode(text) {
        Err(error) => check_refusal(&error),
        Ok(message) => {
            let written = message.encode();
            let again = ClientMessage::decode(&written).expect("what was written can be read");
            // Fractions may lose their last bit; everything else is unchanged.
            if !matches!(message, ClientMessage::ToolProgress(_)) {
                assert_eq!(again, message);
            }
            if let ClientMessage::RegisterTools(message) = &message {
                for spec in message.specs().flatten() {
                    let _ = ToolSpec::compile(spec);
                }
            }
        }
    }
}

/// Tests a frame from the gateway, as parsed by a device's SDK or a client.
pub fn gateway_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match GatewayMessage::decode(text) {
        Err(error) => check_refusal(&error),
        Ok(message) => {
            let written = message.encode();
            let again = GatewayMessage::decode(&written).expect("what was written can be read");
            assert_eq!(again.kind(), message.kind());
        }
    }
}

fn check_refusal(error: &FrameError) {
    assert!(error_code::ALL.contains(&error.code()));
    assert!(!error.to_string().is_empty());
}

/// Types of the messages that version 1 clients send (docs/version-1.md, "Messages from the client").
const VERSION_1_TYPES: &[&str] = &[
    "connect",
    "message",
    "abort",
    "regenerate",
    "register_tools",
    "get_registered_tools",
    "tool_result",
    "tool_error",
];

/// Tests a frame of a version 1 client: a null counts as an absent field, unknown fields are ignored, and messages
/// with the client's texts have only the fields of version 1.
pub fn version_1_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(message) = ClientMessage::decode(text) else { return };
    if !VERSION_1_TYPES.contains(&message.kind()) {
        return;
    }
    if let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) {
        fields.retain(|_, value| value.get() != "null");
        let unknown = RawJson::parse(r#"{"type":["\ud800"]}"#).unwrap_or_default();
        let mut frame: BTreeMap<&str, &str> =
            fields.iter().map(|(name, value)| (name.as_str(), value.get())).collect();
        frame.entry("not_in_version_1").or_insert(unknown.get());
        let members: Vec<_> =
            frame.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
        let same = ClientMessage::decode(&format!("{{{}}}", members.join(",")));
        assert_eq!(same.expect("nulls and unknown fields make no difference"), message);
    }
    match &message {
        ClientMessage::ToolResult(result) => {
            let (text, structured) = match result.output.clone() {
                ToolResultOutput::Text(text) => (text, None),
                ToolResultOutput::Json(json) => (String::new(), Some(json)),
            };
            let success = Outcome::Success(match structured {
                Some(json) => ToolOutput::new(Vec::new(), Some(json)),
                None => ToolOutput::text(text),
            });
            check_version_1_result(&result.id, &success);
        }
        ClientMessage::ToolError(failure) => {
            check_version_1_result(
                &failure.id,
                &Outcome::Error(ToolError::new(Code::ToolFailed, &failure.error)),
            );
        }
        ClientMessage::Message(message) => {
            let prompt =
                DebugPrompt { messages: vec![RawJson::from(&Value::from(message.content.as_str()))] };
            let frame = check_version_1(&prompt.write_version_1(), &["type", "messages", "estimated_tokens"]);
            let messages = frame.get("messages").and_then(Value::as_str).expect("a string");
            assert_eq!(serde_json::from_str::<Vec<String>>(messages).unwrap(), [message.content.as_str()]);
        }
        ClientMessage::RegisterTools(tools) => {
            for spec in tools.specs().flatten() {
                let arguments = spec.parameters.clone().unwrap_or_default();
                let frame = ToolCallRequest::write(CallId::new(), &spec.name, &arguments, None, None);
                let frame = check_version_1(&frame, &["type", "id", "name", "args"]);
                assert_eq!(frame.get("name").and_then(Value::as_str), Some(spec.name.as_str()));
            }
        }
        _ => {}
    }
}

fn check_version_1_result(name: &str, outcome: &Outcome) {
    let frame = ChatToolResult::write(CallId::new(), name, outcome, None);
    let frame = check_version_1(&frame, &["type", "id", "name", "output"]);
    assert!(frame.get("output").is_some_and(Value::is_string));
    assert_eq!(frame.get("name").and_then(Value::as_str), Some(name));
}

/// Checks that a message to a version 1 client has exactly these fields.
fn check_version_1(frame: &str, fields: &[&str]) -> Map<String, Value> {
    let message: Map<String, Value> = match serde_json::from_str(frame) {
        Ok(message) => message,
        // Values of other parties keep half surrogate pairs.
        Err(_) => return Map::new(),
    };
    let mut names: Vec<_> = message.keys().map(String::as_str).collect();
    let mut fields = fields.to_vec();
    names.sort_unstable();
    fields.sort_unstable();
    assert_eq!(names, fields);
    message
}

/// Tests a pairing code, key or link.
pub fn pairing(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(code) = text.parse::<PairingCode>() {
        assert_eq!(code.to_string().parse::<PairingCode>().as_ref(), Ok(&code));
        assert!(!format!("{code:?}").contains(code.secret()), "the secret is not for logs");
    }
    if let Ok(pin) = text.parse::<KeyPin>() {
        assert_eq!(pin.to_string().parse::<KeyPin>(), Ok(pin));
    }
    if let Ok(PairingInput::Link(link)) = text.parse::<PairingInput>() {
        let written = link.to_string().parse::<PairingLink>().expect("what was written can be read");
        assert_eq!(
            (written.url, written.code.secret(), written.key),
            (link.url.clone(), link.code.secret(), link.key)
        );
    }
}
