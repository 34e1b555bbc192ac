//! Arguments for calls that test how a tool handles them, made from its schema.

use serde_json::{Value, json};
use toolway_types::JsonObject;

/// Creates arguments with other types than the schema declares; `None` if it declares none.
pub(super) fn wrong_arguments(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let wrong: JsonObject = properties
        .iter()
        .filter_map(|(name, property)| {
            let wrong = match property.get("type")?.as_str()? {
                "string" => json!({"not": "a string"}),
                "array" | "object" | "boolean" | "integer" | "number" => {
                    json!("toolway check: not of its type")
                }
                _ => return None,
            };
            Some((name.clone(), wrong))
        })
        .collect();
    (!wrong.is_empty()).then_some(Value::Object(wrong))
}

/// Creates arguments from the values that the schema declares for each required property: `const`, `default`, the
/// first of `examples` or of `enum`. `None` if one of them has none.
pub(super) fn declared_arguments(schema: &Value) -> Option<Value> {
    let required = schema.get("required")?.as_array()?;
    let properties = schema.get("properties")?.as_object()?;
    let declared = required.iter().map(|name| {
        let name = name.as_str()?;
        let property = properties.get(name)?;
        let first = |key: &str| property.get(key).and_then(Value::as_array)?.first();
        let value = property
            .get("const")
            .or_else(|| property.get("default"))
            .or_else(|| first("examples"))
            .or_else(|| first("enum"))?;
        Some((name.to_owned(), value.clone()))
    });
    declared.collect::<Option<JsonObject>>().map(Value::Object)
}
