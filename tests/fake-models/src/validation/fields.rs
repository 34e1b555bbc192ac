//! Small looks into a body.

use serde_json::{Map, Value};

/// The elements of a field that is a list; none where it is not.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The text of a field; empty where it has none.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The fields of an object; none where it is none.
pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The first field whose name is none of these.
pub(super) fn unknown<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    fields(value).map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
}

/// Whether a name has only these characters: letters, digits and what else is given.
pub(super) fn is_name(name: &str, more: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || more.contains(char))
}

/// The words of a list that is written as one text.
pub(super) fn words(list: &str) -> Vec<&str> {
    list.split_whitespace().collect()
}
