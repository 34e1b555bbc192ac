//! What the fuzz targets do with their input. The targets (`fuzz_targets/`) feed it bytes that a nightly
//! compiler's coverage leads to; a test of the workspace feeds it the corpus with the stable compiler.
//!
//! A function here panics where a parser broke a promise; it does not matter whether the input was good.

#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a broken promise is a panic")]

use toolway_core::{Arguments, RawArguments, Schema, ToolSpec};
use toolway_types::{ExposedName, Slug, SpecDocument};
use toolway_wire::pairing::{KeyPin, PairingCode, PairingInput, PairingLink};
use toolway_wire::{ClientMessage, FrameError, GatewayMessage, error_code};

/// What a target does with its input.
pub type Target = fn(&[u8]);

/// Every target: its name, which is also its corpus's folder, and what it does.
pub const TARGETS: &[(&str, Target)] = &[
    ("client_frame", client_frame),
    ("gateway_frame", gateway_frame),
    ("spec", spec),
    ("arguments", arguments),
    ("pairing", pairing),
];

/// A frame from a device or chat client.
pub fn client_frame(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ClientMessage::decode(text) {
        Err(error) => check_refusal(&error),
        Ok(message) => {
            let written = message.encode();
            let again = ClientMessage::decode(&written).expect("what was written can be read");
            // Fractions may lose their last bit on the way; everything else is kept.
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

/// A frame from the gateway, as a device's SDK or a client reads it.
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

/// A tool's spec as a source gives it: schemas are compiled, values are held against them.
pub fn spec(data: &[u8]) {
    let Ok(document) = serde_json::from_slice::<SpecDocument>(data) else { return };
    let given = document.parameters.clone();
    let Ok(spec) = ToolSpec::compile(document) else { return };
    let exposed = ExposedName::of(&Slug::from_label("fuzz"), spec.name().as_str());
    assert!(exposed.as_str().parse::<ExposedName>().is_ok(), "{exposed}");
    // A schema is taken for "no parameters" only where it says so.
    if spec.parameters().raw().is_none() {
        let given = given.as_ref().map_or("null", |raw| raw.get());
        assert!(given == "null" || given.trim_start_matches(['[', ' ', '\t', '\r', '\n']) == "]", "{given}");
    }
    for schema in [Some(spec.parameters()), spec.output()].into_iter().flatten() {
        hold_values_against(schema);
    }
}

fn hold_values_against(schema: &Schema) {
    for value in [
        serde_json::json!({}),
        serde_json::json!({"a": {"a": {"a": []}}, "b": [1, "x", null]}),
        serde_json::json!({"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "n": 1e300}),
        serde_json::json!([[[[]]]]),
        serde_json::json!("text"),
    ] {
        let _ = schema.violations(&value);
    }
}

/// The arguments of a call as a caller or a model gives them.
pub fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(arguments) = Arguments::parse(RawArguments::Text(text.to_owned())) else { return };
    assert!(arguments.value().is_object());
    // Only what says nothing stands for no arguments.
    if arguments.raw().get() == "{}" {
        let said: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(matches!(said.as_str(), "" | "{}" | "\"\"" | "null"), "{text:?}");
    }
}

/// A pairing code, key or link as a person gives it.
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
