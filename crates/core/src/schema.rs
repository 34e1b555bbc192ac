//! A JSON Schema: the source's own bytes beside the compiled validator.

mod complexity;
mod cost;
mod secrets;
mod subschemas;

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use toolway_types::RawJson;

use complexity::SchemaComplexity;
use cost::CostWalk;
pub(crate) use secrets::SecretProperties;

/// How many violations are reported one by one.
const MAX_VIOLATIONS: usize = 50;
/// How long one violation's text, and its pointer, may be, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;
/// Where listing what is wrong takes more steps than this, only the first violation is looked for, or none where
/// even that could take as long: every part of a value can violate, each for as many reasons as there are choices,
/// and the validator keeps them all before it gives the first.
const MAX_LISTING_STEPS: u64 = 20_000;
/// Where saying yes or no takes more steps than this, the answer is no.
const MAX_VALIDATION_STEPS: u64 = 50_000_000;
/// How often a pattern that looks around or back may try again on one text.
const BACKTRACK_LIMIT: usize = 10_000;

/// Longest arguments, in bytes, that are checked on the spot.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// Largest weight of a schema that is checked on the spot.
const MAX_INLINE_WEIGHT: u32 = 5_000;
/// What the two may come to together: some milliseconds at the very worst.
const MAX_INLINE_STEPS: u64 = 1 << 20;

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
    NotObjectType(String),
    /// It does not compile, or refers to something outside itself.
    #[error("the schema does not compile: {0}")]
    DoesNotCompile(String),
    /// Checking values against it would take more than may be asked, or never end.
    #[error("the schema {0}")]
    TooComplex(String),
}

/// A JSON Schema that compiles (draft 2020-12, or the draft that its `$schema` names). Nothing is ever fetched.
///
/// It is compiled when it is made, to know that it can be, and again when it is first used: a compiled schema
/// takes ten times the memory of its text, and most tools that are offered are never called.
pub struct Schema {
    raw: Option<RawJson>,
    validator: OnceLock<Option<Validator>>,
    /// Which values do not belong into records; none where nothing is marked.
    secrets: Option<Box<SecretProperties>>,
    complexity: SchemaComplexity,
}

impl Schema {
    /// Takes a tool's parameters. Null, absent, `{}` and `[]` mean that there are none; then any object is
    /// accepted.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn from_parameters(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        Self::from_object_schema(raw, true)
    }

    /// Takes the parameters of a tool that is part of the program, which are known to compile: they are compiled
    /// when the tool is first called. The first schema that is compiled brings megabytes with it, which a gateway
    /// whose tools nobody calls need not spend.
    ///
    /// # Errors
    /// [`SchemaError`] where they are not of an object.
    pub(crate) fn from_program(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        Self::from_object_schema(raw, false)
    }

    fn from_object_schema(raw: Option<&RawJson>, is_tried: bool) -> Result<Self, SchemaError> {
        let value = raw.map_or(Ok(Value::Null), parse_schema)?;
        let (raw, value) = match &value {
            Value::Null => (None, &*ANY_OBJECT),
            Value::Array(items) if items.is_empty() => (None, &*ANY_OBJECT),
            Value::Object(fields) => match fields.get("type") {
                None => (raw, &value),
                Some(Value::String(kind)) if kind == "object" => (raw, &value),
                Some(other) => return Err(SchemaError::NotObjectType(truncate(&other.to_string()))),
            },
            other => return Err(SchemaError::NotAnObject(json_type_name(other))),
        };
        match is_tried {
            true => Self::compile(raw.cloned(), value),
            false => Self::without_compiling(raw.cloned(), value),
        }
    }

    /// Takes the schema of a structured result.
    ///
    /// # Errors
    /// [`SchemaError`] says what is wrong with it.
    pub fn from_output(raw: &RawJson) -> Result<Self, SchemaError> {
        let value = parse_schema(raw)?;
        if !value.is_object() {
            return Err(SchemaError::NotAnObject(json_type_name(&value)));
        }
        Self::compile(Some(raw.clone()), &value)
    }

    fn compile(raw: Option<RawJson>, value: &Value) -> Result<Self, SchemaError> {
        let schema = Self::without_compiling(raw, value)?;
        build_validator(value).map_err(|error| SchemaError::DoesNotCompile(truncate(&error.to_string())))?;
        Ok(schema)
    }

    fn without_compiling(raw: Option<RawJson>, value: &Value) -> Result<Self, SchemaError> {
        let shape = SchemaComplexity::measure(value).map_err(SchemaError::TooComplex)?;
        Ok(Self {
            raw,
            validator: OnceLock::new(),
            secrets: SecretProperties::of(value).map(Box::new),
            complexity: shape,
        })
    }

    /// None only where what compiled once does not any more, or never did.
    fn validator(&self) -> Option<&Validator> {
        let compile = || match &self.raw {
            None => build_validator(&ANY_OBJECT).ok(),
            Some(raw) => build_validator(&raw.to_value()).ok(),
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

    pub(crate) fn secrets(&self) -> Option<&SecretProperties> {
        self.secrets.as_deref()
    }

    /// Whether checking arguments of so many bytes is more than belongs into a task that others wait for.
    pub(crate) fn is_heavy_for(&self, bytes: usize) -> bool {
        bytes > MAX_INLINE_BYTES
            || self.complexity.weight > MAX_INLINE_WEIGHT
            || u64::from(self.complexity.weight).saturating_mul(bytes as u64) > MAX_INLINE_STEPS
    }

    /// Whether a value fits.
    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.validator().is_some_and(|validator| validator.is_valid(value))
    }

    /// Whether saying if a value fits takes no longer than may be asked. Worth asking only where it is heavy.
    pub(crate) fn can_validate(&self, value: &Value) -> bool {
        let Some(raw) = &self.raw else { return true };
        let most =
            u64::from(self.complexity.weight).saturating_mul(count_values(value, MAX_VALUE_PARTS) as u64);
        if self.complexity.has_unresolved_references
            || (most <= MAX_VALIDATION_STEPS && !self.complexity.has_patterns)
        {
            return most <= MAX_VALIDATION_STEPS;
        }
        CostWalk::can_validate(&raw.to_value(), value, MAX_VALIDATION_STEPS)
    }

    /// Every violation, each with the JSON pointer of the offending value; empty where the value fits. The
    /// values themselves are left out where the schema marks something `writeOnly`.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        if self.is_valid(value) {
            return Vec::new();
        }
        self.list_violations(value, self.has_write_only())
    }

    /// Every violation of a value that is not accepted, without the offending values where `masked`.
    pub(crate) fn list_violations(&self, value: &Value, masked: bool) -> Vec<String> {
        let say = |error: &ValidationError<'_>| {
            let pointer = error.instance_path().to_string();
            let place = if pointer.is_empty() { "(the arguments)".to_owned() } else { truncate(&pointer) };
            let text = if masked { error.masked().to_string() } else { error.to_string() };
            format!("{place}: {}", truncate(&text))
        };
        let Some(validator) = self.validator() else { return vec!["the schema does not compile".to_owned()] };
        if !self.can_list(value) {
            if self.complexity.has_unresolved_references
                || self.complexity.is_recursive
                || self.complexity.has_choices
            {
                return vec!["(the arguments): too much may be wrong with them to list it".to_owned()];
            }
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

    fn can_list(&self, value: &Value) -> bool {
        let Some(raw) = &self.raw else { return true };
        let SchemaComplexity { weight, is_recursive, has_unresolved_references: is_unclear, .. } =
            self.complexity;
        if is_unclear {
            return false;
        }
        let most = u64::from(weight).saturating_mul(count_values(value, MAX_VALUE_PARTS) as u64);
        (most <= MAX_LISTING_STEPS && !is_recursive)
            || CostWalk::can_list(&raw.to_value(), value, MAX_LISTING_STEPS)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// Text can be JSON by its grammar and still hold what no value can: half of a surrogate pair, a number beyond
/// all bounds, too deep a nest.
fn parse_schema(raw: &RawJson) -> Result<Value, SchemaError> {
    raw.to().map_err(|error| SchemaError::DoesNotCompile(truncate(&error.to_string())))
}

/// Formats are annotations in every draft. Patterns are matched in linear time, but for those that look around or
/// back: they are matched by trying, for as long as that may take.
fn build_validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(schema)
}

fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// As far as the parts of a value are counted: JSON of 16 MiB has no more.
const MAX_VALUE_PARTS: usize = 16 << 20;

/// How many values a value is made of, counted as far as `enough`.
fn count_values(value: &Value, enough: usize) -> usize {
    let mut count = 1;
    let mut add = |inner: &Value| {
        count += if count > enough { 0 } else { count_values(inner, enough - count + 1) };
    };
    match value {
        Value::Array(items) => items.iter().for_each(&mut add),
        Value::Object(fields) => fields.values().for_each(&mut add),
        _ => {}
    }
    count
}

fn truncate(text: &str) -> String {
    if text.len() <= MAX_VIOLATION_TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_VIOLATION_TEXT);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
