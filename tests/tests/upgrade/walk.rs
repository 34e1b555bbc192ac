//! Fields of JSON values by their place in them.

use serde_json::{Map, Value};

/// Calls `found` with every object that has the field at `place`, and the field's name. A place consists of names with
/// dots between them; `[]` after a name stands for every element, `[0]` for the first one, and `*` for every field.
pub(crate) fn each_field(
    value: &mut Value,
    place: &str,
    found: &mut dyn FnMut(&mut Map<String, Value>, &str),
) {
    let (first, rest) = place.split_once('.').map_or((place, None), |(first, rest)| (first, Some(rest)));
    let Some(rest) = rest else {
        if let Some(fields) = value.as_object_mut().filter(|fields| fields.contains_key(first)) {
            found(fields, first);
        }
        return;
    };
    if first == "*" {
        for (_, value) in value.as_object_mut().into_iter().flatten() {
            each_field(value, rest, found);
        }
        return;
    }
    let (name, element) =
        first.split_once('[').map_or((first, None), |(name, element)| (name, Some(element)));
    let Some(value) = value.get_mut(name) else { return };
    match element {
        None => each_field(value, rest, found),
        Some(element) => {
            let limit = if element == "]" { usize::MAX } else { 1 };
            for value in value.as_array_mut().into_iter().flatten().take(limit) {
                each_field(value, rest, found);
            }
        }
    }
}

/// Lists the differences of two values, each with its place.
pub(crate) fn differences(place: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, value) in expected {
                match actual.get(name) {
                    Some(other) => differences(&format!("{place}.{name}"), value, other, found),
                    None => found.push(format!("{place}.{name} is missing; it was {value}")),
                }
            }
            for (name, value) in actual.iter().filter(|(name, _)| !expected.contains_key(*name)) {
                found.push(format!("{place}.{name} is new: {value}"));
            }
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (at, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                differences(&format!("{place}[{at}]"), expected, actual, found);
            }
        }
        _ if expected == actual => {}
        _ => found.push(format!("{place}: expected {expected}, got {actual}")),
    }
}
