//! The parameter schema: compiled, and used to validate arguments.

use serde_json::Value;
use toolway_types::text::truncate;
use toolway_types::{Code, JsonObject, RawJson, ToolError};

/// Maximum number of violations listed in an error.
const MAX_VIOLATIONS: usize = 50;
/// Maximum length of one violation's text, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;

/// A compiled schema, or the compile error.
pub(crate) struct ArgumentValidator(Result<jsonschema::Validator, String>);

impl ArgumentValidator {
    /// Compiles a schema. Absent, null, `{}` and `[]` mean no parameters. Never fetches references.
    pub(crate) fn compile(parameters: Option<&RawJson>) -> Self {
        let schema = match parameters.map_or(Value::Null, RawJson::to_value) {
            Value::Object(fields) if !fields.is_empty() => Value::Object(fields),
            Value::Null | Value::Object(_) => object(),
            Value::Array(items) if items.is_empty() => object(),
            _ => return Self(Err("the schema is not an object".to_owned())),
        };
        let compiled = jsonschema::options().offline().build(&schema);
        Self(compiled.map_err(|error| truncate(&error.to_string(), MAX_VIOLATION_TEXT)))
    }

    /// The compile error, if any.
    pub(crate) fn error(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// Validates the arguments and returns them as an object.
    pub(crate) fn check(&self, args: &RawJson) -> Result<JsonObject, ToolError> {
        let value: Value =
            args.to().map_err(|error| invalid(&format!("the arguments are not valid JSON: {error}")))?;
        let value = if value.is_null() { Value::Object(JsonObject::new()) } else { value };
        let validator = self.0.as_ref().map_err(|error| invalid(error))?;
        if !validator.is_valid(&value) {
            return Err(invalid(&violations(validator, &value)));
        }
        match value {
            Value::Object(fields) => Ok(fields),
            _ => Err(invalid("the arguments must be a JSON object")),
        }
    }
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
