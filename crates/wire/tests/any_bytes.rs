//! Property tests with arbitrary frames.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use proptest::prelude::*;
use serde_json::{Map, Value};
use toolway_wire::{ClientMessage, GatewayMessage};

/// Generates any JSON value of modest size.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Sums of powers of two, because every parser reads them exactly.
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((field(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Generates names of known fields and others.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(vec![
            "type", "id", "name", "args", "tools", "output", "structured", "content", "success", "error",
            "progress", "total", "for", "decision", "scope", "mode", "v", "limits", "usage", "attempt",
            "deadline_ms", "code", "hint", "message", "session_id", "names", "status", "result",
            "providers", "authority", "package", "label", "dialect", "state", "info", "scopes", "notes", "kind",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{0,5}",
    ]
}

/// Generates an object with a known type and any fields.
fn frame() -> impl Strategy<Value = String> {
    let kinds: Vec<_> = [ClientMessage::TYPES, GatewayMessage::TYPES].concat();
    (proptest::sample::select(kinds), proptest::collection::vec((field(), json()), 0..6)).prop_map(
        |(kind, fields)| {
            let mut object: Map<String, Value> = fields.into_iter().collect();
            object.insert("type".into(), kind.into());
            Value::Object(object).to_string()
        },
    )
}

proptest! {
    #[test]
    fn decoding_never_panics(text in any::<String>()) {
        let _ = ClientMessage::decode(&text);
        let _ = GatewayMessage::decode(&text);
    }

    #[test]
    fn decoding_text_similar_to_json_never_panics(text in r#"[\[\]{}",:\\a-f0-9 ]{0,80}"#) {
        let _ = ClientMessage::decode(&text);
        let _ = GatewayMessage::decode(&text);
    }

    #[test]
    fn a_decoded_frame_encodes_to_an_equal_frame(text in frame()) {
        if let Ok(message) = ClientMessage::decode(&text) {
            prop_assert_eq!(ClientMessage::decode(&message.encode()).unwrap(), message);
        }
        if let Ok(message) = GatewayMessage::decode(&text) {
            prop_assert_eq!(GatewayMessage::decode(&message.encode()).unwrap(), message);
        }
    }

    #[test]
    fn truncated_frames_are_refused(text in frame(), at in any::<prop::sample::Index>()) {
        let cut: String = text.chars().take(at.index(text.chars().count())).collect();
        prop_assert!(ClientMessage::decode(&cut).is_err());
        prop_assert!(GatewayMessage::decode(&cut).is_err());
    }
}
