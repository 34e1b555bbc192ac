//! OpenRouter's `reasoning_details`: a model's thinking with its signatures, which goes back as it came. It comes in
//! pieces, which are put together here.

use serde_json::{Value, json};
use toolway_types::{JsonObject, RawJson};

/// Fields whose pieces follow each other.
const APPENDED_FIELDS: &[&str] = &["text", "summary"];

/// Adds an item, or a piece of the last one.
pub(super) fn add_item(details: &mut Vec<JsonObject>, item: JsonObject) {
    match details.last_mut() {
        Some(last) if is_continuation(last, &item) => append_piece(last, item),
        _ => details.push(item),
    }
}

/// Returns whether an item continues the one before it: it has the same type and index, and more text.
fn is_continuation(last: &JsonObject, item: &JsonObject) -> bool {
    let same = |field: &str| last.get(field) == item.get(field);
    let is_encrypted = item.get("type").and_then(Value::as_str) == Some("reasoning.encrypted");
    // Once it is signed, it is whole.
    let is_signed = last.get("signature").is_some_and(|signature| !signature.is_null());
    !is_encrypted && !is_signed && same("type") && same("index") && item.get("index").is_some()
}

fn append_piece(last: &mut JsonObject, item: JsonObject) {
    for (field, value) in item {
        match (last.get_mut(&field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if APPENDED_FIELDS.contains(&field.as_str()) => {
                text.push_str(&more);
            }
            (_, value) => {
                last.insert(field, value);
            }
        }
    }
}

/// Opaque data of a thinking part, which goes back to the provider.
pub(super) fn opaque_data(details: Vec<JsonObject>) -> RawJson {
    match details.is_empty() {
        true => RawJson::empty_object(),
        false => RawJson::from(&json!({ "reasoning_details": details })),
    }
}

#[cfg(test)]
mod tests;
