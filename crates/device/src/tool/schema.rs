//! The parameter schema: compiled, and used to validate arguments.

use std::borrow::Cow;

use jsonschema::PatternOptions;
use serde_json::Value;
use toolway_types::pattern::{BACKTRACK_LIMIT, ENGINE_CACHE_LIMIT, ENGINE_SIZE_LIMIT, SchemaPatterns};
use toolway_types::text::{shorten_error, truncate};
use toolway_types::{Code, JsonObject, RawJson, ToolError};

/// Maximum number of violations listed in an error.
const MAX_VIOLATIONS: usize = 50;
/// Maximum length of one violation's text, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;

/// Maximum size of compiled patterns that are kept between calls, in bytes. A device may have thousands of
/// tools, and apps write the schemas of an app provider's tools.
const MAX_KEPT_PATTERN_BYTES: u64 = 1 << 20;

/// A compiled schema, or the compile error.
pub(crate) struct ArgumentValidator(Result<CompiledSchema, String>);

enum CompiledSchema {
    Kept(jsonschema::Validator),
    /// A schema with large patterns. It compiles, but is compiled again for each call.
    PerCall(Value),
}

impl CompiledSchema {
    fn validator(&self) -> Result<Cow<'_, jsonschema::Validator>, String> {
        match self {
            Self::Kept(validator) => Ok(Cow::Borrowed(validator)),
            Self::PerCall(schema) => build(schema).map(Cow::Owned),
        }
    }
}

impl ArgumentValidator {
    /// Compiles a schema. Absent, null, `{}` and `[]` mean no parameters. Never fetches references.
    pub(crate) fn compile(parameters: Option<&RawJson>) -> Self {
        let schema = match parameters.map_or(Value::Null, RawJson::to_value) {
            Value::Object(fields) if !fields.is_empty() => Value::Object(fields),
            Value::Null | Value::Object(_) => object(),
            Value::Array(items) if items.is_empty() => object(),
            _ => return Self(Err("the schema is not an object".to_owned())),
        };
        Self(compile(schema))
    }

    /// The compile error, if any.
    pub(crate) fn error(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// Validates the arguments and returns them as an object.
    pub(crate) fn check(&self, args: &RawJson) -> Result<JsonObject, ToolError> {
        let value: Value = args.to().map_err(|error| {
            invalid(&format!("the arguments are not valid JSON: {}", shorten_error(&error)))
        })?;
        let value = if value.is_null() { Value::Object(JsonObject::new()) } else { value };
        let schema = self.0.as_ref().map_err(|error| invalid(error))?;
        let validator = schema.validator().map_err(|error| invalid(&error))?;
        if !validator.is_valid(&value) {
            return Err(invalid(&violations(&validator, &value)));
        }
        match value {
            Value::Object(fields) => Ok(fields),
            _ => Err(invalid("the arguments must be a JSON object")),
        }
    }
}

fn compile(schema: Value) -> Result<CompiledSchema, String> {
    let patterns = SchemaPatterns::of(&schema).map_err(|problem| format!("the schema {problem}"))?;
    let validator = build(&schema)?;
    Ok(match patterns.bytes > MAX_KEPT_PATTERN_BYTES {
        true => CompiledSchema::PerCall(schema),
        false => CompiledSchema::Kept(validator),
    })
}

/// Builds the validator. Its patterns have the same limits as in the gateway.
fn build(schema: &Value) -> Result<jsonschema::Validator, String> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(ENGINE_SIZE_LIMIT)
        .dfa_size_limit(ENGINE_CACHE_LIMIT);
    let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
    built.map_err(|error| truncate(&error.to_string(), MAX_VIOLATION_TEXT))
}

fn object() -> Value {
    serde_json::json!({ "type": "object" })
}

/// Lists the violations with their JSON pointers.
fn violations(validator: &jsonschema::Validator, value: &Value) -> String {
    let mut listed: Vec<String> = Vec::new();
    let mut omitted = 0usize;
    for error in validator.iter_errors(value) {
        if listed.len() == MAX_VIOLATIONS {
            omitted += 1;
            continue;
        }
        let pointer = error.instance_path().to_string();
        let place = if pointer.is_empty() { "(the arguments)" } else { pointer.as_str() };
        let place = truncate(place, MAX_VIOLATION_TEXT);
        listed.push(format!("{place}: {}", truncate(&error.to_string(), MAX_VIOLATION_TEXT)));
    }
    if omitted > 0 {
        listed.push(format!("and {omitted} more"));
    }
    listed.join("; ")
}

fn invalid(what: &str) -> ToolError {
    ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {what}"))
}
