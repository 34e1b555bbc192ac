//! JSON Schemas (draft 2020-12) of tools' arguments and results, generated from their Rust types.
//!
//! The built-in tools, the device SDK and the tools of the local computer all use these functions, so a model
//! sees the same kind of schema from each.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::value::Error as FieldsError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::{Serialize, Serializer, forward_to_deserialize_any};
use serde_json::Value;

use crate::json::{JsonObject, RawJson};

/// Form of an optional argument (`Option<T>`) in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionalArgument {
    /// It may be absent or null.
    AbsentOrNull,
    /// It may be absent, and is never null.
    Absent,
}

/// Schema of a tool's arguments. The properties are in the order of the type's fields. Doc comments become
/// descriptions.
#[must_use]
pub fn schema_of_arguments<A: JsonSchema + DeserializeOwned>(optional: OptionalArgument) -> RawJson {
    let Value::Object(mut schema) = schema_of_type::<A>() else { return RawJson::empty_object() };
    if optional == OptionalArgument::Absent {
        remove_null_of_optional(&mut schema);
    }
    let fields = field_names::<A>();
    RawJson::from_value(&SchemaInFieldOrder { schema: &schema, fields }).unwrap_or_default()
}

/// Schema of a type, without references, because not every model supports them.
#[must_use]
pub fn schema_of_type<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // These name and describe the type; the tool has its own name and description.
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    tidy(&mut schema);
    schema
}

/// Removes keywords that only matter in Rust, and line breaks that a doc comment has for its width.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            remove_rust_format(fields);
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = join_lines(description);
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn join_lines(text: &str) -> String {
    let paragraphs =
        text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Removes a `format` that names a number type of Rust, such as `uint64`. Models and validators do not know it.
pub fn remove_rust_format(schema: &mut JsonObject) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let bits = format.trim_start_matches('u').strip_prefix("int");
    if format == "double"
        || format == "float"
        || bits.is_some_and(|bits| bits.bytes().all(|b| b.is_ascii_digit()))
    {
        schema.remove("format");
    }
}

/// Removes null from the types of an object's optional properties: `["string","null"]` becomes `"string"`, and
/// `anyOf` with a null branch becomes the other branch. Null is no `default` and no `enum` value either.
pub fn remove_null_of_optional(schema: &mut JsonObject) {
    let required: Vec<Value> = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if let Value::Object(property) = property
            && !required.contains(&Value::from(name.as_str()))
        {
            remove_null(property);
        }
    }
}

fn remove_null(property: &mut JsonObject) {
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(branches)) = property.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}

/// Writes a schema with the properties in the order of the fields. `schemars` sorts them by name, and a model
/// tends to fill in the arguments in the schema's order.
struct SchemaInFieldOrder<'a> {
    schema: &'a JsonObject,
    fields: &'static [&'static str],
}

impl Serialize for SchemaInFieldOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(Value::Object(properties)) = self.schema.get("properties") else {
            return self.schema.serialize(serializer);
        };
        let mut ordered: Vec<(&String, &Value)> = properties.iter().collect();
        // The sort is stable: names that serde does not list stay sorted, at the end.
        ordered.sort_by_key(|(name, _)| {
            self.fields.iter().position(|field| field == name).unwrap_or(usize::MAX)
        });
        let ordered = RawJson::from_value(&InOrder(ordered)).map_err(serde::ser::Error::custom)?;
        serializer.collect_map(self.schema.iter().map(|(key, value)| {
            let value = if key == "properties" { ordered.clone() } else { RawJson::from(value) };
            (key, value)
        }))
    }
}

struct InOrder<'a>(Vec<(&'a String, &'a Value)>);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Names of a struct's fields in JSON, in their order. Empty for other types and for structs with flattened
/// fields.
fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut recorder = FieldRecorder(&[]);
    // It always fails; serde names the fields before it reads any.
    let _ = T::deserialize(&mut recorder);
    recorder.0
}

/// A deserializer without data that records the field names a type asks for.
struct FieldRecorder(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut FieldRecorder {
    type Error = FieldsError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, FieldsError> {
        self.0 = fields;
        Err(FieldsError::custom("no data"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, FieldsError> {
        Err(FieldsError::custom("no data"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
