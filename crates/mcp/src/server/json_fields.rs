//! The top-level fields of a JSON object, each value as raw text: changed fields are replaced, the others keep their
//! bytes and order.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// Names and values, in order.
#[derive(Debug, Default)]
pub(crate) struct JsonFields<'a>(pub(crate) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> JsonFields<'a> {
    /// Parses the fields of an object; `None` if the text is not an object.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        struct JsonFieldsVisitor;
        impl<'de> Visitor<'de> for JsonFieldsVisitor {
            type Value = JsonFields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonFields<'de>, A::Error> {
                let mut fields = JsonFields::default();
                while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    fields.0.push((key, value.get().into()));
                }
                Ok(fields)
            }
        }
        serde_json::Deserializer::from_str(text).deserialize_map(JsonFieldsVisitor).ok()
    }

    /// The raw value of a field.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_ref())
    }

    /// Adds a field with a JSON value.
    pub(crate) fn push(&mut self, key: &'static str, value: String) {
        self.0.push((key.into(), value.into()));
    }

    /// Serializes the object.
    pub(crate) fn to_json(&self) -> String {
        let length = self.0.iter().map(|(key, value)| key.len() + value.len() + 4).sum::<usize>();
        let mut text = String::with_capacity(length + 2);
        text.push('{');
        for (at, (key, value)) in self.0.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            push_key(&mut text, key);
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

/// Writes a key as a JSON string.
fn push_key(text: &mut String, key: &str) {
    // Almost every key is plain, and the serializer needs two more copies of it.
    if key.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        text.push('"');
        text.push_str(key);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(key).to_string());
    }
}
