//! Tests that valid requests are accepted, and invalid ones refused with the provider's message. Each case is
//! a valid request with one change.

mod anthropic;
mod gemini;
mod openai;
mod responses;

use std::collections::HashMap;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::check;
use crate::api::ApiKind;
use crate::script::FakeModel;

fn model(thinks: bool) -> FakeModel {
    FakeModel { id: "m".to_owned(), context_tokens: 1000, thinks }
}

fn headers() -> HeaderMap {
    HeaderMap::from_iter([("anthropic-version".parse().unwrap(), "2023-06-01".parse().unwrap())])
}

/// Returns the API's error for a body.
fn rejection(api: ApiKind, body: &Value) -> Option<String> {
    rejection_by(api, body, false)
}

fn rejection_by(api: ApiKind, body: &Value, thinks: bool) -> Option<String> {
    check(api, &headers(), body, &model(thinks), &HashMap::new()).err().map(|error| error.message)
}

#[track_caller]
fn assert_accepted(api: ApiKind, body: &Value) {
    assert_eq!(rejection(api, body), None, "{body:#}");
}

#[track_caller]
fn assert_rejected(api: ApiKind, body: &Value, words: &str) {
    match rejection(api, body) {
        Some(said) => assert!(said.contains(words), "it says {said:?}, not {words:?}"),
        None => panic!("it takes what should be {words:?}: {body:#}"),
    }
}

/// Replaces the value at this position of the body; `null` removes it.
fn with_value(body: &Value, pointer: &str, value: Value) -> Value {
    let mut body = body.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
    match (parent, value) {
        (Value::Object(fields), Value::Null) => {
            fields.remove(name);
        }
        (Value::Array(items), Value::Null) => {
            items.remove(name.parse().unwrap());
        }
        (Value::Array(items), value) if name == "-" => items.push(value),
        (Value::Array(items), value) => items[name.parse::<usize>().unwrap()] = value,
        (parent, value) => parent[name] = value,
    }
    body
}

fn lamp_schema() -> Value {
    json!({"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]})
}
