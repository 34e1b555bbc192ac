//! Helpers to read fields of a body.

use serde_json::{Map, Value};

/// Returns the elements of a list field; none if it is not a list.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the text of a field; empty if it has none.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the fields of an object; none if it is not an object.
pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Returns the first field whose name is not in `known`.
pub(super) fn unknown<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    fields(value).map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
}

/// Returns true if a name has only letters, digits and the characters in `more`.
pub(super) fn is_name(name: &str, more: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || more.contains(char))
}

/// Splits a list that is written as one text.
pub(super) fn words(list: &str) -> Vec<&str> {
    list.split_whitespace().collect()
}
