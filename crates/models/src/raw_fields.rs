//! The fields of JSON objects in their order, with values kept byte for byte.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use toolway_types::RawJson;

/// Renames fields of a JSON object; `None` if it is not an object or no name changes. Values keep their bytes. A field
/// is not renamed to a name that is already in use.
pub(crate) fn rename_fields(object: &str, other_name: impl Fn(&str) -> Option<String>) -> Option<String> {
    let RawFields(mut fields) = serde_json::from_str(object).ok()?;
    let mut changed = false;
    for at in 0..fields.len() {
        let Some(other) = fields.get(at).and_then(|(name, _)| other_name(name)) else { continue };
        if fields.iter().any(|(name, _)| *name == other) {
            continue;
        }
        if let Some((name, _)) = fields.get_mut(at) {
            *name = Cow::Owned(other);
            changed = true;
        }
    }
    if changed { serde_json::to_string(&RawFields(fields)).ok() } else { None }
}

/// The fields of a JSON object in order, with values as they are written.
pub(crate) struct RawFields<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

struct RawFieldsVisitor;

impl<'de> Visitor<'de> for RawFieldsVisitor {
    type Value = RawFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<BorrowedName<'de>, &'de RawValue>()? {
            fields.push((name.0, value));
        }
        Ok(RawFields(fields))
    }
}

/// A field name, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);

impl Serialize for RawFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Adds a field at the end of a JSON object. Any other text stays the same.
pub(crate) fn append_field(object: &RawJson, name: &str, value: &RawJson) -> RawJson {
    let Some(fields) = object.get().trim_end().strip_suffix('}') else { return object.clone() };
    let comma = if fields.trim_end().ends_with('{') { "" } else { "," };
    let text = format!("{fields}{comma}{}:{}}}", serde_json::Value::from(name), value.get());
    RawValue::from_string(text).map_or_else(|_| object.clone(), RawJson::from)
}

#[cfg(test)]
mod tests;
