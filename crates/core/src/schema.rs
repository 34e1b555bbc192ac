//! A JSON Schema: the source's own bytes beside the compiled validator.

use std::fmt;

use jsonschema::Validator;
use serde_json::Value;
use toolway_types::RawJson;

/// How many violations are reported one by one.
const MAX_VIOLATIONS: usize = 50;
/// How long one violation's text may be, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;

/// Why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Neither an object nor empty.
    #[error("the schema is {0}, not an object")]
    NotAnObject(&'static str),
    /// A schema of something other than an object.
    #[error("the schema's type is {0}, but arguments are always an object")]
    NotOfObjects(String),
    /// It does not compile, or refers to something outside itself.
    #[error("the schema does not compile: {0}")]
    DoesNotCompile(String),
}

/// A compiled JSON Schema (draft 2020-12, or the draft that its `$schema` names). Nothing is ever fetched.
pub struct Schema {
    raw: Option<RawJson>,
    validator: Validator,
    redacts: bool,
}

impl Schema {
    /// Compiles a tool's parameters. Null, absent, `{}` and `[]` mean that there are none; then any object
    /// is accepted.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn of_parameters(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        let value = raw.map_or(Ok(Value::Null), parsed)?;
        match &value {
            Value::Null => return Self::compile(None, &object_schema()),
            Value::Array(items) if items.is_empty() => return Self::compile(None, &object_schema()),
            Value::Object(fields) if fields.is_empty() => {
                return Self::compile(raw.cloned(), &object_schema());
            }
            Value::Object(fields) => match fields.get("type") {
                None => {}
                Some(Value::String(kind)) if kind == "object" => {}
                Some(other) => return Err(SchemaError::NotOfObjects(cut(&other.to_string()))),
            },
            Value::Array(_) => return Err(SchemaError::NotAnObject("an array")),
            Value::String(_) => return Err(SchemaError::NotAnObject("a string")),
            Value::Number(_) => return Err(SchemaError::NotAnObject("a number")),
            Value::Bool(_) => return Err(SchemaError::NotAnObject("a boolean")),
        }
        Self::compile(raw.cloned(), &value)
    }

    /// Compiles the schema of a structured result.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn of_output(raw: &RawJson) -> Result<Self, SchemaError> {
        let value = parsed(raw)?;
        if !value.is_object() {
            return Err(SchemaError::NotAnObject("not an object"));
        }
        Self::compile(Some(raw.clone()), &value)
    }

    fn compile(raw: Option<RawJson>, value: &Value) -> Result<Self, SchemaError> {
        let validator = jsonschema::options()
            .offline()
            .build(value)
            .map_err(|error| SchemaError::DoesNotCompile(cut(&error.to_string())))?;
        Ok(Self { raw, validator, redacts: mentions_write_only(value) })
    }

    /// The source's own bytes; none where it gave no schema.
    #[must_use]
    pub fn raw(&self) -> Option<&RawJson> {
        self.raw.as_ref()
    }

    /// Whether some property is marked `writeOnly`, so that its values do not belong into records.
    #[must_use]
    pub fn has_write_only(&self) -> bool {
        self.redacts
    }

    /// Every violation, each with the JSON pointer of the offending value; empty where the value fits.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut more = 0usize;
        for error in self.validator.iter_errors(value) {
            if found.len() == MAX_VIOLATIONS {
                more += 1;
                continue;
            }
            let pointer = error.instance_path().to_string();
            let place = if pointer.is_empty() { "(the arguments)".to_owned() } else { pointer };
            let text = if self.redacts { error.masked().to_string() } else { error.to_string() };
            found.push(format!("{place}: {}", cut(&text)));
        }
        if more > 0 {
            found.push(format!("and {more} more"));
        }
        found
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// Text can be JSON by its grammar and still hold what no value can: half of a surrogate pair, a number beyond
/// all bounds, too deep a nest.
fn parsed(raw: &RawJson) -> Result<Value, SchemaError> {
    raw.to().map_err(|error| SchemaError::DoesNotCompile(cut(&error.to_string())))
}

fn object_schema() -> Value {
    serde_json::json!({ "type": "object" })
}

fn mentions_write_only(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("writeOnly") == Some(&Value::Bool(true)) || fields.values().any(mentions_write_only)
        }
        Value::Array(items) => items.iter().any(mentions_write_only),
        _ => false,
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_VIOLATION_TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_VIOLATION_TEXT);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
