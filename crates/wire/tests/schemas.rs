//! The schemas in `docs/schemas` are those that the code makes, and tell the truth about frames.
//! `UPDATE_SCHEMAS=1 cargo test -p toolway-wire --features schema --test schemas` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolway_wire::schema::schema_documents;
use toolway_wire::{ClientMessage, GatewayMessage};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas"))
}

/// The same text whatever order the maps of this build keep.
fn text(schema: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> =
                    fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(fields.into_iter().collect())
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    format!("{:#}\n", sorted(schema))
}

#[test]
fn published_schemas_are_current() {
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    let made = schema_documents();
    for document in &made {
        let path = folder().join(document.file_name);
        if update {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, text(&document.schema)).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            published,
            text(&document.schema),
            "{} is out of date; write it anew with: \
             UPDATE_SCHEMAS=1 cargo test -p toolway-wire --features schema --test schemas",
            path.display()
        );
    }
    // Nothing stands there that the code no longer makes. What hooks are asked is made by `toolway-tools`.
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_ours = made.iter().any(|document| name == document.file_name);
        assert!(is_ours || name.starts_with("hook-"), "{name:?} is made by nothing");
    }
}

#[track_caller]
fn schema(file_name: &str) -> jsonschema::Validator {
    let document = schema_documents().into_iter().find(|document| document.file_name == file_name).unwrap();
    jsonschema::draft202012::meta::validate(&document.schema).unwrap();
    jsonschema::draft202012::new(&document.schema).unwrap()
}

#[test]
fn golden_frames_fit_the_schemas() {
    for (file_name, frames) in [
        ("client.json", include_str!("../testdata/from_client.jsonl")),
        ("gateway.json", include_str!("../testdata/from_gateway.jsonl")),
    ] {
        let schema = schema(file_name);
        for frame in frames.lines() {
            let frame: Value = serde_json::from_str(frame).unwrap();
            let errors: Vec<_> = schema.iter_errors(&frame).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{file_name}: {frame}: {errors:?}");
        }
    }
}

/// What the schema refuses, the code refuses, and the other way round.
#[test]
fn frames_that_the_code_refuses_do_not_fit() {
    let client = schema("client.json");
    for frame in [
        json!({}),
        json!([]),
        json!({"type": "shout"}),
        json!({"type": "connected", "v": 1, "message": ""}),
        json!({"type": "connect", "v": "2"}),
        json!({"type": "connect", "v": -1}),
        json!({"type": "call_tool", "id": "1"}),
        json!({"type": "call_tool", "id": 1, "name": "a"}),
        json!({"type": "tool_result", "id": "1", "output": 5}),
        json!({"type": "tool_result", "id": null}),
        json!({"type": "permission_answer", "id": "1", "decision": "maybe"}),
        json!({"type": "unregister_tools"}),
        json!({"type": "register_tools"}),
        json!({"type": "register_tools", "tools": null}),
        json!({"type": "app_providers"}),
        json!({"type": "app_providers", "providers": null}),
        json!({"type": "app_providers", "providers": [{"authority": "a", "package": "b", "label": "c"}]}),
    ] {
        assert!(!client.is_valid(&frame), "{frame}");
        assert!(ClientMessage::decode(&frame.to_string()).is_err(), "{frame}");
    }
    for frame in [
        json!({"type": "tool_result", "id": "1", "output": null, "content": null}),
        json!({"type": "connect", "v": null, "capabilities": null}),
        json!({"type": "register_tools", "tools": [{"name": "a", "permissions": null, "sequential": null}]}),
    ] {
        assert!(client.is_valid(&frame), "{frame}");
        assert!(ClientMessage::decode(&frame.to_string()).is_ok(), "{frame}");
    }
    let gateway = schema("gateway.json");
    for frame in [json!({"type": "chunk"}), json!({"type": "tool_call_request", "id": "1", "name": "a"})] {
        assert!(!gateway.is_valid(&frame), "{frame}");
        assert!(GatewayMessage::decode(&frame.to_string()).is_err(), "{frame}");
    }
}

/// Version 1 clients read null as the text "null".
#[test]
fn the_gateway_promises_no_null_where_a_field_can_be_left_out() {
    let gateway = schema("gateway.json");
    assert!(!gateway.is_valid(&json!({"type": "error", "message": "no", "code": null})));
    assert!(gateway.is_valid(&json!({"type": "error", "message": "no"})));
}

#[test]
fn every_type_is_described_and_no_trace_of_rust_is_left() {
    for document in schema_documents() {
        let text = document.schema.to_string();
        assert!(!text.contains("::") && !text.contains("[`"), "{}", document.file_name);
        assert_eq!(document.schema["x-protocol-version"], 2);
        assert_eq!(document.schema["x-spec-version"], 1);
    }
    for (file_name, types) in [("client.json", ClientMessage::TYPES), ("gateway.json", GatewayMessage::TYPES)]
    {
        let document = schema_documents().into_iter().find(|it| it.file_name == file_name).unwrap();
        let listed: Vec<_> = document.schema["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|branch| branch["properties"]["type"]["const"].as_str().unwrap())
            .collect();
        assert_eq!(listed, types);
    }
}
