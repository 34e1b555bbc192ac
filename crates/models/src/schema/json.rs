//! JSON values whose objects keep their order, for the conversion of schemas. Models read properties in the author's
//! order, and the same schema must always give the same bytes.

use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OrderedJson {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<OrderedJson>),
    Object(OrderedFields),
}

/// The fields of an object, in order. Names are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OrderedFields(Vec<(String, OrderedJson)>);

impl Default for OrderedJson {
    /// Returns `{}`, the schema that accepts any value.
    fn default() -> Self {
        Self::Object(OrderedFields::default())
    }
}

impl OrderedJson {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[OrderedJson]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&OrderedFields> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns the name of the value's type in JSON Schema.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(number) if is_whole(number) => "integer",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Returns the number of values.
    pub(crate) fn value_count(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::value_count).sum::<usize>(),
            Self::Object(fields) => 1 + fields.iter().map(|(_, value)| value.value_count()).sum::<usize>(),
            _ => 1,
        }
    }

    /// Returns the approximate size as JSON text, in bytes.
    pub(crate) fn byte_size(&self) -> usize {
        const OTHER: usize = 4;
        match self {
            Self::Text(text) => OTHER + text.len(),
            Self::List(items) => OTHER + items.iter().map(Self::byte_size).sum::<usize>(),
            Self::Object(fields) => {
                OTHER
                    + fields.iter().map(|(name, value)| OTHER + name.len() + value.byte_size()).sum::<usize>()
            }
            _ => OTHER,
        }
    }

    /// Converts the value to JSON text.
    pub(crate) fn to_json_string(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns whether a number is an integer. In JSON Schema, 1.0 is an integer too.
pub(crate) fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

impl OrderedFields {
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &OrderedJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut OrderedJson)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OrderedJson> {
        self.0.iter().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut OrderedJson> {
        self.0.iter_mut().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the field of this name, or appends it.
    pub(crate) fn put(&mut self, name: &str, value: OrderedJson) {
        match self.get_mut(name) {
            Some(place) => *place = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Appends a field. The caller ensures that the name is new.
    pub(crate) fn push(&mut self, name: impl Into<String>, value: OrderedJson) {
        self.0.push((name.into(), value));
    }

    /// Inserts a field before all others.
    pub(crate) fn put_first(&mut self, name: &str, value: OrderedJson) {
        self.take(name);
        self.0.insert(0, (name.to_owned(), value));
    }

    /// Puts all fields of another object, each with [`OrderedFields::put`].
    pub(crate) fn extend(&mut self, other: OrderedFields) {
        for (name, value) in other {
            self.put(&name, value);
        }
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<OrderedJson> {
        let at = self.0.iter().position(|(of, _)| of == name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &OrderedJson) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }

    /// Creates an index of the fields by name, for objects that are too large for repeated searches.
    pub(crate) fn index(&self) -> HashMap<&str, &OrderedJson> {
        self.iter().collect()
    }
}

impl IntoIterator for OrderedFields {
    type Item = (String, OrderedJson);
    type IntoIter = std::vec::IntoIter<(String, OrderedJson)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, OrderedJson)> for OrderedFields {
    /// If a name occurs twice, the last value is used, at the position of the first, like in most parsers.
    fn from_iter<I: IntoIterator<Item = (String, OrderedJson)>>(fields: I) -> Self {
        let mut kept: Vec<(String, OrderedJson)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (name, value) in fields {
            match places.get(&name).and_then(|at| kept.get_mut(*at)) {
                Some(place) => place.1 = value,
                None => {
                    places.insert(name.clone(), kept.len());
                    kept.push((name, value));
                }
            }
        }
        Self(kept)
    }
}

impl Serialize for OrderedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Object(fields) => fields.serialize(serializer),
        }
    }
}

impl Serialize for OrderedFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for OrderedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedJsonVisitor)
    }
}

struct OrderedJsonVisitor;

impl<'de> Visitor<'de> for OrderedJsonVisitor {
    type Value = OrderedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<OrderedJson, E> {
        Ok(Number::from_f64(value).map_or(OrderedJson::Null, OrderedJson::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<OrderedJson, E> {
        Ok(OrderedJson::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OrderedJson, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(OrderedJson::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedJson, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(OrderedJson::Object(fields.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests;
