//! The schema of a tool's arguments.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::DefinitionProblem;

/// A JSON Schema, as a table or as JSON text.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "parameters are a table, or JSON in a string")]
pub enum ParameterSchema {
    /// JSON text.
    Text(String),
    /// TOML table.
    Table(toml::Table),
}

/// Converts the schema to JSON. Arguments that it does not name are rejected, unless it says otherwise.
pub(crate) fn build_schema(given: Option<ParameterSchema>) -> Result<Value, DefinitionProblem> {
    let schema = match given {
        None => json!({ "type": "object" }),
        Some(ParameterSchema::Text(text)) => serde_json::from_str(&text)
            .map_err(|error| DefinitionProblem(format!("parameters must be JSON: {error}")))?,
        Some(ParameterSchema::Table(table)) => serde_json::to_value(table)
            .map_err(|error| DefinitionProblem(format!("parameters cannot be converted to JSON: {error}")))?,
    };
    let Value::Object(mut schema) = schema else {
        return Err(DefinitionProblem("parameters must be a JSON Schema of an object".to_owned()));
    };
    schema.entry("type").or_insert_with(|| json!("object"));
    let open = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    if !open.iter().any(|word| schema.contains_key(*word)) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(Value::Object(schema))
}
