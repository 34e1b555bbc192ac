//! The parameters' schema: made from a type, compiled, and held against the arguments.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use toolway_types::{Code, JsonObject, RawJson, ToolError};

/// How many violations are told one by one.
const MAX_VIOLATIONS: usize = 50;
/// How long one violation's text may be, in bytes.
const MAX_VIOLATION_TEXT: usize = 300;

/// The schema of a type (draft 2020-12), without references, which not every model understands.
pub(crate) fn schema_of_type<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // They name and describe the type; the tool has a name and a description of its own.
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// A compiled schema, or why it does not compile.
pub(crate) struct ArgumentValidator(Result<jsonschema::Validator, String>);

impl ArgumentValidator {
    /// Compiles it. Absent, null, `{}` and `[]` mean no parameters. Nothing is ever fetched.
    pub(crate) fn compile(parameters: Option<&RawJson>) -> Self {
        let schema = match parameters.map_or(Value::Null, RawJson::to_value) {
            Value::Object(fields) if !fields.is_empty() => Value::Object(fields),
            Value::Null | Value::Object(_) => object(),
            Value::Array(items) if items.is_empty() => object(),
            _ => return Self(Err("the schema is not an object".to_owned())),
        };
        let compiled = jsonschema::options().offline().build(&schema);
        Self(compiled.map_err(|error| cut(&error.to_string())))
    }

    /// Why it does not compile, where it does not.
    pub(crate) fn error(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// The arguments as an object, if they fit.
    pub(crate) fn check(&self, args: &RawJson) -> Result<JsonObject, ToolError> {
        let value: Value =
            args.to().map_err(|error| invalid(&format!("the arguments are not usable JSON: {error}")))?;
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

/// Every violation with its JSON pointer.
fn violations(validator: &jsonschema::Validator, value: &Value) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut untold = 0usize;
    for error in validator.iter_errors(value) {
        if told.len() == MAX_VIOLATIONS {
            untold += 1;
            continue;
        }
        let pointer = error.instance_path().to_string();
        let place = if pointer.is_empty() { "(the arguments)" } else { pointer.as_str() };
        told.push(format!("{place}: {}", cut(&error.to_string())));
    }
    if untold > 0 {
        told.push(format!("and {untold} more"));
    }
    told.join("; ")
}

fn invalid(what: &str) -> ToolError {
    ToolError::new(Code::InvalidArguments, format!("Invalid arguments: {what}"))
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_VIOLATION_TEXT {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(MAX_VIOLATION_TEXT)).unwrap_or_default())
}
