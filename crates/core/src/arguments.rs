//! Arguments of a call: the caller's own bytes and the parsed object.

mod unique_keys;

use serde_json::Value;
use toolway_types::{JsonObject, RawJson};

/// Arguments as given by a caller, not yet parsed.
#[derive(Debug, Clone, Default)]
pub enum RawArguments {
    /// No arguments: `{}`.
    #[default]
    None,
    /// JSON: an object, or a string that contains one (as some models send it).
    Json(RawJson),
    /// Text that must be a JSON object; empty text is `{}`.
    Text(String),
}

impl From<JsonObject> for RawArguments {
    fn from(object: JsonObject) -> Self {
        Self::Json(RawJson::from(&Value::Object(object)))
    }
}

/// Parsed arguments. They keep the caller's bytes, including key order and number forms.
#[derive(Debug, Clone)]
pub struct Arguments {
    raw: RawJson,
    value: Value,
}

impl Arguments {
    /// Parses the arguments of a caller (invariant "nothing invalid runs": malformed or truncated JSON never
    /// becomes `{}`).
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(raw: RawArguments) -> Result<Self, String> {
        let raw = match raw {
            RawArguments::None => return Ok(Self::empty()),
            RawArguments::Text(text) => return Self::parse_text(&text),
            RawArguments::Json(raw) => raw,
        };
        match unique_keys::parse_value(&raw) {
            Ok(Value::Null) => Ok(Self::empty()),
            Ok(Value::String(text)) => Self::parse_text(&text),
            Ok(value) => Self::from_parts(raw, value),
            Err(error) => Err(format!("the arguments are not usable JSON: {error}")),
        }
    }

    fn parse_text(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        let raw = RawJson::parse(text.trim())
            .map_err(|error| format!("the arguments are not well-formed JSON: {error}"))?;
        let value = unique_keys::parse_value(&raw)
            .map_err(|error| format!("the arguments are not usable JSON: {error}"))?;
        Self::from_parts(raw, value)
    }

    fn from_parts(raw: RawJson, value: Value) -> Result<Self, String> {
        let kind = match &value {
            Value::Object(_) => return Ok(Self { raw, value }),
            Value::Array(_) => "an array",
            Value::String(_) => "a string",
            Value::Number(_) => "a number",
            Value::Bool(_) => "a boolean",
            Value::Null => "null",
        };
        Err(format!("the arguments are {kind}; they must be a JSON object"))
    }

    /// Returns `{}`.
    #[must_use]
    pub fn empty() -> Self {
        Self { raw: RawJson::empty_object(), value: Value::Object(JsonObject::new()) }
    }

    /// The caller's own bytes.
    #[must_use]
    pub fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// The parsed object.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Takes the parsed object.
    #[must_use]
    pub fn into_object(self) -> JsonObject {
        match self.value {
            Value::Object(object) => object,
            _ => JsonObject::new(),
        }
    }
}

#[cfg(test)]
mod tests;
