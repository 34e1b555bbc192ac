//! The canonical form of a spec, independent of field order and spacing, for comparisons and display.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use toolway_core::ToolSpec;
use toolway_store::SpecFingerprint;

/// Returns the SHA-256 of a spec.
pub(super) fn fingerprint(spec: &ToolSpec) -> SpecFingerprint {
    Sha256::digest(sorted(spec).to_string().as_bytes()).into()
}

/// Formats a spec for people.
pub(super) fn pretty(spec: &ToolSpec) -> String {
    let sorted = sorted(spec);
    format!("{sorted:#}\n")
}

fn sorted(spec: &ToolSpec) -> Value {
    let document = serde_json::to_value(spec.document().as_ref()).unwrap_or_default();
    sort(document)
}

/// Sorts the fields of every object by name.
fn sort(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, sort(value))).collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sort).collect()),
        other => other,
    }
}
