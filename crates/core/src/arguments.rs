//! Arguments of a call: the caller's own bytes and the parsed object.

mod member_removal;
mod unique_keys;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use toolway_types::json::{MAX_VALUES, has_more_values_than};
use toolway_types::text::shorten_error;
use toolway_types::{JsonObject, RawJson};

/// Length of arguments above which the parsed object is dropped on a blocking thread, in bytes. Dropping it
/// takes nearly as long as parsing.
const LARGE_BYTES: usize = 64 << 10;

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

/// Parsed arguments. They keep the caller's bytes, including key order and number forms. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Arguments {
    raw: RawJson,
    value: Arc<Value>,
    /// The form for the record, if it was made in advance.
    recorded: Option<RawJson>,
    /// The arguments as the caller gave them, if members were removed.
    given: Option<Arc<Arguments>>,
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
        match parse_value(&raw)? {
            Value::Null => Ok(Self::empty()),
            Value::String(text) => Self::parse_text(&text),
            value => Self::from_parts(raw, value),
        }
    }

    fn parse_text(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::empty());
        }
        let raw = RawJson::parse(text.trim()).map_err(|error| {
            let problem = shorten_error(&error);
            format!("the arguments are not well-formed JSON: {problem}")
        })?;
        let value = parse_value(&raw)?;
        Self::from_parts(raw, value)
    }

    fn from_parts(raw: RawJson, value: Value) -> Result<Self, String> {
        let kind = match &value {
            Value::Object(_) => return Ok(Self { raw, value: Arc::new(value), recorded: None, given: None }),
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
        let value = Arc::new(Value::Object(JsonObject::new()));
        Self { raw: RawJson::empty_object(), value, recorded: None, given: None }
    }

    /// Removes the members at these JSON pointers; `None` if one of them does not exist.
    pub(crate) fn without_members(&self, pointers: &BTreeSet<String>) -> Option<Self> {
        let raw = member_removal::remove_members(&self.raw, pointers.iter().map(String::as_str))?;
        let value = parse_value(&raw).ok()?;
        let mut without = Self::from_parts(raw, value).ok()?;
        without.given = Some(Arc::new(self.clone()));
        Some(without)
    }

    /// The arguments as the caller gave them, before optional nulls were removed.
    #[must_use]
    pub fn given(&self) -> &Self {
        self.given.as_deref().unwrap_or(self)
    }

    /// True if these are not the arguments that the caller gave, because optional nulls were removed.
    #[must_use]
    pub fn has_removed_nulls(&self) -> bool {
        self.given.is_some()
    }

    /// The bytes of the object: the caller's own, without removed members.
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
    pub fn into_object(mut self) -> JsonObject {
        match Arc::unwrap_or_clone(std::mem::take(&mut self.value)) {
            Value::Object(object) => object,
            _ => JsonObject::new(),
        }
    }

    /// Length of the caller's bytes.
    pub(crate) fn len(&self) -> usize {
        self.raw.get().len()
    }

    /// Stores the form for the record.
    pub(crate) fn set_recorded(&mut self, recorded: RawJson) {
        self.recorded = Some(recorded);
    }

    /// The form for the record, if it was stored.
    pub(crate) fn recorded(&self) -> Option<&RawJson> {
        self.recorded.as_ref()
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        if self.len() <= LARGE_BYTES || self.value.is_null() || Arc::strong_count(&self.value) > 1 {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let value = std::mem::take(&mut self.value);
            runtime.spawn_blocking(move || drop(value));
        }
    }
}

fn parse_value(raw: &RawJson) -> Result<Value, String> {
    if has_more_values_than(raw.get().as_bytes(), MAX_VALUES) {
        return Err(format!("the arguments have more than {MAX_VALUES} values"));
    }
    unique_keys::parse_value(raw)
        .map_err(|error| format!("the arguments are not usable JSON: {}", shorten_error(&error)))
}

#[cfg(test)]
mod tests;
