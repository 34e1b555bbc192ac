//! Parses JSON, and refuses an object with a duplicate name. The parsed value is validated and recorded, but
//! the tool receives the text: another parser could read a duplicate name differently.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use toolway_types::{RawJson, foreign_json};

pub(super) fn parse_value(raw: &RawJson) -> Result<Value, serde_json::Error> {
    let error = match parse_text(raw.get()) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match foreign_json::replace_lone_surrogates(raw.get()) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => parse_text(&repaired),
    }
}

fn parse_text(text: &str) -> Result<Value, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = UniqueKeysVisitor.deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

struct UniqueKeysVisitor;

impl<'de> DeserializeSeed<'de> for UniqueKeysVisitor {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                let shown: String = name.chars().take(MAX_NAME_SHOWN).collect();
                return Err(A::Error::custom(format!("duplicate name {shown:?} in an object")));
            }
            let value = fields.next_value_seed(Self)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// Maximum length of a name in an error message, in characters.
const MAX_NAME_SHOWN: usize = 100;
