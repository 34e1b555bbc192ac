//! A JSON Schema: the source's own bytes beside the compiled validator.

mod secrets;

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use jsonschema::{ValidationError, Validator};
use serde_json::Value;
use toolway_types::RawJson;

pub(crate) use secrets::Secrets;

/// How many violations are reported one by one.
const MAX_VIOLATIONS: usize = 50;
/// How long one violation's text, and its pointer, may be, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;
/// Of a value with more parts than this only the first violation is looked for: every part can violate, and
/// the validator keeps them all before it gives the first.
const MAX_PARTS: usize = 10_000;

/// What stands for no schema: arguments are an object, whatever is in it.
static ANY_OBJECT: LazyLock<Value> = LazyLock::new(|| serde_json::json!({ "type": "object" }));

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

/// A JSON Schema that compiles (draft 2020-12, or the draft that its `$schema` names). Nothing is ever fetched.
///
/// It is compiled when it is made, to know that it can be, and again when it is first used: a compiled schema
/// takes ten times the memory of its text, and most tools that are offered are never called.
pub struct Schema {
    raw: Option<RawJson>,
    validator: OnceLock<Option<Validator>>,
    /// Which values do not belong into records; none where nothing is marked.
    secrets: Option<Box<Secrets>>,
}

impl Schema {
    /// Takes a tool's parameters. Null, absent, `{}` and `[]` mean that there are none; then any object is
    /// accepted.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn of_parameters(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        let value = raw.map_or(Ok(Value::Null), parsed)?;
        match &value {
            Value::Null => return Self::compile(None, &ANY_OBJECT),
            Value::Array(items) if items.is_empty() => return Self::compile(None, &ANY_OBJECT),
            Value::Object(fields) => match fields.get("type") {
                None => {}
                Some(Value::String(kind)) if kind == "object" => {}
                Some(other) => return Err(SchemaError::NotOfObjects(cut(&other.to_string()))),
            },
            other => return Err(SchemaError::NotAnObject(kind(other))),
        }
        Self::compile(raw.cloned(), &value)
    }

    /// Takes the schema of a structured result.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn of_output(raw: &RawJson) -> Result<Self, SchemaError> {
        let value = parsed(raw)?;
        if !value.is_object() {
            return Err(SchemaError::NotAnObject(kind(&value)));
        }
        Self::compile(Some(raw.clone()), &value)
    }

    fn compile(raw: Option<RawJson>, value: &Value) -> Result<Self, SchemaError> {
        build(value).map_err(|error| SchemaError::DoesNotCompile(cut(&error.to_string())))?;
        Ok(Self { raw, validator: OnceLock::new(), secrets: Secrets::of(value).map(Box::new) })
    }

    /// None only where what compiled once does not any more.
    fn validator(&self) -> Option<&Validator> {
        let compile = || match &self.raw {
            None => build(&ANY_OBJECT).ok(),
            Some(raw) => build(&raw.to_value()).ok(),
        };
        self.validator.get_or_init(compile).as_ref()
    }

    /// The source's own bytes; none where it gave no schema.
    #[must_use]
    pub fn raw(&self) -> Option<&RawJson> {
        self.raw.as_ref()
    }

    /// Whether something in it is marked `writeOnly`, so that its values do not belong into records.
    #[must_use]
    pub fn has_write_only(&self) -> bool {
        self.secrets.is_some()
    }

    pub(crate) fn secrets(&self) -> Option<&Secrets> {
        self.secrets.as_deref()
    }

    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.validator().is_some_and(|validator| validator.is_valid(value))
    }

    /// Every violation, each with the JSON pointer of the offending value; empty where the value fits. The
    /// values themselves are left out where the schema marks something `writeOnly`.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        if self.accepts(value) {
            return Vec::new();
        }
        self.list_violations(value, self.has_write_only())
    }

    /// Every violation of a value that is not accepted, without the offending values where `masked`.
    pub(crate) fn list_violations(&self, value: &Value, masked: bool) -> Vec<String> {
        let say = |error: &ValidationError<'_>| {
            let pointer = error.instance_path().to_string();
            let place = if pointer.is_empty() { "(the arguments)".to_owned() } else { cut(&pointer) };
            let text = if masked { error.masked().to_string() } else { error.to_string() };
            format!("{place}: {}", cut(&text))
        };
        let Some(validator) = self.validator() else { return vec!["the schema does not compile".to_owned()] };
        if parts(value, MAX_PARTS) > MAX_PARTS {
            let mut found: Vec<_> = validator.validate(value).err().iter().map(say).collect();
            found.push("the arguments are too large to list what else is wrong with them".to_owned());
            return found;
        }
        let mut errors = validator.iter_errors(value);
        let mut found: Vec<_> = errors.by_ref().take(MAX_VIOLATIONS).map(|error| say(&error)).collect();
        let more = errors.count();
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

fn build(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().offline().build(schema)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// How many values a value is made of, counted as far as `enough`.
fn parts(value: &Value, enough: usize) -> usize {
    let mut count = 1;
    let mut add = |inner: &Value| {
        count += if count > enough { 0 } else { parts(inner, enough - count + 1) };
    };
    match value {
        Value::Array(items) => items.iter().for_each(&mut add),
        Value::Object(fields) => fields.values().for_each(&mut add),
        _ => {}
    }
    count
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
