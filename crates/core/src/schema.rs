//! A JSON Schema: the source's own bytes and the compiled validator.

mod compile_budget;
mod compiled_schemas;
mod complexity;
mod cost;
mod null_properties;
mod secrets;
mod subschemas;
mod unknown_property;

use std::fmt;
use std::sync::{Arc, LazyLock};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;
use toolway_types::RawJson;
use toolway_types::pattern::{BACKTRACK_LIMIT, ENGINE_CACHE_LIMIT, ENGINE_SIZE_LIMIT, SchemaPatterns};
use toolway_types::text::{shorten_error, truncate};

pub use compile_budget::CompileBudget;
pub(crate) use compiled_schemas::CompiledSchemas;
use compiled_schemas::ValidatorSlot;

use complexity::SchemaComplexity;
use cost::CostWalk;
pub(crate) use secrets::SecretProperties;
use unknown_property::UnknownPropertyText;

/// Maximum number of violations that are listed.
const MAX_VIOLATIONS: usize = 50;
/// Maximum length of a violation's text, and of its pointer, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;
/// Maximum length of a text about unknown properties, in bytes. It also lists the known ones.
const MAX_UNKNOWN_PROPERTY_TEXT: usize = 600;
/// Maximum number of steps to list all violations. Above it, only the first violation is searched for, or
/// none if even that may take as long. Every part of a value can violate the schema, each for as many reasons
/// as there are alternatives, and the validator collects them all before it returns the first.
const MAX_LISTING_STEPS: u64 = 20_000;
/// Maximum number of steps to validate a value. Above it, the value is refused.
const MAX_VALIDATION_STEPS: u64 = 50_000_000;
/// Size of a compiled schema as a multiple of its text.
const COMPILED_SIZE_FACTOR: u64 = 10;

/// Maximum length of arguments that are validated inline, in bytes.
const MAX_INLINE_BYTES: usize = 64 << 10;
/// Maximum weight of a schema that validates inline.
const MAX_INLINE_WEIGHT: u32 = 5_000;
/// Maximum product of the two: some milliseconds in the worst case.
const MAX_INLINE_STEPS: u64 = 1 << 20;
/// Maximum size of a schema's compiled patterns that are compiled inline, in bytes: about a millisecond.
const MAX_INLINE_PATTERN_BYTES: u64 = 128 << 10;

/// Schema used in place of a missing one: an object with any content.
static ANY_OBJECT: LazyLock<Value> = LazyLock::new(|| serde_json::json!({ "type": "object" }));

/// Reason why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema is neither an object nor empty.
    #[error("the schema is {0}, not an object")]
    NotAnObject(&'static str),
    /// The schema describes something other than an object.
    #[error("the schema's type is {0}, but arguments are always an object")]
    NotObjectType(String),
    /// The schema does not compile, or refers to something outside itself.
    #[error("the schema does not compile: {0}")]
    DoesNotCompile(String),
    /// Validation against the schema would be too expensive, or never end.
    #[error("the schema {0}")]
    TooComplex(String),
    /// The source has used up what it may compile.
    #[error("{0}")]
    OverBudget(String),
}

/// A valid JSON Schema (draft 2020-12, or the draft in its `$schema`). Nothing is ever fetched.
///
/// It is compiled once when it is created, as a check, and again on first use: a compiled schema takes ten
/// times the memory of its text, and most offered tools are never called. Of the schemas of a cache, those
/// that were not used for the longest time lose their compiled form when all take too much memory.
pub struct Schema {
    raw: Option<RawJson>,
    validator: Arc<ValidatorSlot>,
    patterns: SchemaPatterns,
    /// Names of secret values that must not be recorded; None if nothing is marked.
    secrets: Option<Box<SecretProperties>>,
    complexity: SchemaComplexity,
}

impl Schema {
    /// Creates the schema of a tool's parameters. Null, absent, `{}` and `[]` mean no parameters; then any
    /// object is accepted.
    ///
    /// # Errors
    /// [`SchemaError`] describes the problem.
    pub fn from_parameters(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        Self::from_parameters_within(raw, &mut CompileBudget::of_one_schema())
    }

    /// Like [`Schema::from_parameters`], as part of a source with a budget.
    pub(crate) fn from_parameters_within(
        raw: Option<&RawJson>,
        budget: &mut CompileBudget,
    ) -> Result<Self, SchemaError> {
        Self::from_object_schema(raw, Some(budget))
    }

    /// Creates the schema of a tool that is part of the program and known to be valid. It is only compiled at
    /// the first call, because the first compiled schema of a process takes megabytes, which a gateway
    /// without such calls need not spend.
    ///
    /// # Errors
    /// [`SchemaError`] if it does not describe an object.
    pub(crate) fn from_program(raw: Option<&RawJson>) -> Result<Self, SchemaError> {
        Self::from_object_schema(raw, None)
    }

    /// Creates a schema, and tries to compile it if there is a budget for it.
    fn from_object_schema(
        raw: Option<&RawJson>,
        budget: Option<&mut CompileBudget>,
    ) -> Result<Self, SchemaError> {
        let value = raw.map_or(Ok(Value::Null), parse_schema)?;
        let (raw, value) = match &value {
            Value::Null => (None, &*ANY_OBJECT),
            Value::Array(items) if items.is_empty() => (None, &*ANY_OBJECT),
            Value::Object(fields) => match fields.get("type") {
                None => (raw, &value),
                Some(Value::String(kind)) if kind == "object" => (raw, &value),
                Some(other) => {
                    return Err(SchemaError::NotObjectType(truncate(&other.to_string(), MAX_VIOLATION_TEXT)));
                }
            },
            other => return Err(SchemaError::NotAnObject(json_type_name(other))),
        };
        match budget {
            Some(budget) => Self::compile(raw.cloned(), value, budget),
            None => Self::without_compiling(raw.cloned(), value),
        }
    }

    /// Creates the schema of a structured result.
    ///
    /// # Errors
    /// [`SchemaError`] describes the problem.
    pub fn from_output(raw: &RawJson) -> Result<Self, SchemaError> {
        Self::from_output_within(raw, &mut CompileBudget::of_one_schema())
    }

    /// Like [`Schema::from_output`], as part of a source with a budget.
    pub(crate) fn from_output_within(raw: &RawJson, budget: &mut CompileBudget) -> Result<Self, SchemaError> {
        let value = parse_schema(raw)?;
        if !value.is_object() {
            return Err(SchemaError::NotAnObject(json_type_name(&value)));
        }
        Self::compile(Some(raw.clone()), &value, budget)
    }

    fn compile(raw: Option<RawJson>, value: &Value, budget: &mut CompileBudget) -> Result<Self, SchemaError> {
        let schema = Self::without_compiling(raw, value)?;
        budget.spend(schema.patterns)?;
        build_validator(value).map_err(|error| SchemaError::DoesNotCompile(shorten_error(&error)))?;
        Ok(schema)
    }

    fn without_compiling(raw: Option<RawJson>, value: &Value) -> Result<Self, SchemaError> {
        let shape = SchemaComplexity::measure(value).map_err(SchemaError::TooComplex)?;
        let patterns = SchemaPatterns::of(value).map_err(SchemaError::TooComplex)?;
        let text = raw.as_ref().map_or(0, |raw| raw.get().len() as u64);
        let bytes = text.saturating_mul(COMPILED_SIZE_FACTOR).saturating_add(patterns.bytes_in_use());
        Ok(Self {
            raw,
            validator: Arc::new(ValidatorSlot::new(bytes, None)),
            patterns,
            secrets: SecretProperties::of(value).map(Box::new),
            complexity: shape,
        })
    }

    /// Counts the compiled form in the memory of a cache, which may drop it again.
    #[must_use]
    pub(crate) fn counted_in(mut self, compiled: &Arc<CompiledSchemas>) -> Self {
        self.validator = Arc::new(ValidatorSlot::new(self.validator.bytes(), Some(Arc::clone(compiled))));
        self
    }

    /// Validator of the schema. None only if a schema that compiled before no longer does, or never did.
    fn validator(&self) -> Arc<Option<Validator>> {
        self.validator.get_or_compile(|| match &self.raw {
            None => build_validator(&ANY_OBJECT).ok(),
            Some(raw) => build_validator(&raw.to_value()).ok(),
        })
    }

    /// Patterns of the schema.
    pub(crate) fn patterns(&self) -> SchemaPatterns {
        self.patterns
    }

    /// The source's own bytes; None if there was no schema.
    #[must_use]
    pub fn raw(&self) -> Option<&RawJson> {
        self.raw.as_ref()
    }

    /// True if a part is marked `writeOnly`, so that its values must not be recorded.
    #[must_use]
    pub fn has_write_only(&self) -> bool {
        self.secrets.is_some()
    }

    pub(crate) fn secrets(&self) -> Option<&SecretProperties> {
        self.secrets.as_deref()
    }

    /// True if validating arguments of this length is too expensive for a task that others wait for.
    pub(crate) fn is_heavy_for(&self, bytes: usize) -> bool {
        let compiles_long = self.patterns.bytes > MAX_INLINE_PATTERN_BYTES && !self.validator.is_compiled();
        bytes > MAX_INLINE_BYTES
            || compiles_long
            || self.complexity.weight > MAX_INLINE_WEIGHT
            || u64::from(self.complexity.weight).saturating_mul(bytes as u64) > MAX_INLINE_STEPS
    }

    /// True if the value is valid.
    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.validator().as_ref().as_ref().is_some_and(|validator| validator.is_valid(value))
    }

    /// True if validating the value takes few enough steps. Only useful for heavy validations.
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

    /// Lists all violations with the JSON pointer of each offending value; empty if the value is valid. The
    /// values are omitted if the schema marks something `writeOnly`.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        if self.is_valid(value) {
            return Vec::new();
        }
        self.list_violations(value, self.has_write_only())
    }

    /// Lists all violations of a value, without the offending values if `masked`.
    pub(crate) fn list_violations(&self, value: &Value, masked: bool) -> Vec<String> {
        let unknown = UnknownPropertyText::new(self.raw.as_ref(), value);
        let say = |error: &ValidationError<'_>| {
            let described = unknown.describe(error);
            if let Some((pointer, text)) = described {
                let text = truncate(&text, MAX_UNKNOWN_PROPERTY_TEXT);
                return match pointer.as_str() {
                    "" => text,
                    pointer => format!("{}: {text}", truncate(pointer, MAX_VIOLATION_TEXT)),
                };
            }
            let pointer = error.instance_path().to_string();
            let place = if pointer.is_empty() {
                "(the arguments)".to_owned()
            } else {
                truncate(&pointer, MAX_VIOLATION_TEXT)
            };
            let text = if masked { error.masked().to_string() } else { error.to_string() };
            format!("{place}: {}", truncate(&text, MAX_VIOLATION_TEXT))
        };
        let validator = self.validator();
        let Some(validator) = validator.as_ref() else {
            return vec!["the schema does not compile".to_owned()];
        };
        if !self.can_list(value) {
            if self.complexity.has_unresolved_references
                || self.complexity.is_recursive
                || self.complexity.has_choices
            {
                return vec!["(the arguments): not valid; there may be too many problems to list".to_owned()];
            }
            let mut found: Vec<_> = validator.validate(value).err().iter().map(say).collect();
            found.push("the arguments are too large to list further problems".to_owned());
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

/// Parses a schema. Text can match the JSON grammar and still not be a value: half of a surrogate pair, a
/// number out of range, too deep nesting.
fn parse_schema(raw: &RawJson) -> Result<Value, SchemaError> {
    raw.to().map_err(|error| SchemaError::DoesNotCompile(shorten_error(&error)))
}

/// Builds the validator. Formats are annotations in every draft. Patterns match in linear time, except those
/// with look-around or back-references, which use limited backtracking. Their size was estimated before; the
/// engine's own limits hold even where the estimate is wrong.
fn build_validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(ENGINE_SIZE_LIMIT)
        .dfa_size_limit(ENGINE_CACHE_LIMIT);
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

/// Maximum number of parts that are counted; JSON of 16 MiB has no more.
const MAX_VALUE_PARTS: usize = 16 << 20;

/// Counts the values within a value, up to `enough`.
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

#[cfg(test)]
mod tests;
