//! JSON objects whose members keep their order and bytes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in the order of the text. Duplicate keys are kept.
#[derive(Debug)]
pub(crate) struct ObjectMembers<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> ObjectMembers<'a> {
    /// Parses an object; `None` if the text is not an object.
    pub(crate) fn of(text: &'a RawValue) -> Option<Self> {
        text.get().trim_start().starts_with('{').then(|| serde_json::from_str(text.get()).ok())?
    }

    /// Returns the last member with this key, like JSON parsers.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(ObjectVisitor).map(ObjectMembers)
    }
}

/// Writes an object of keys and JSON texts, in this order.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut text = String::from("{");
    for (at, (key, value)) in members.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(key).to_string());
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    text
}
