//! Failures reported in a program's output (pitfall E4). By convention of scripts, this is an object with a
//! member `error`.

use serde_json::Value;
use toolway_types::text::truncate;
use toolway_types::{Code, ToolError};

/// Maximum length of the reported message, in bytes.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// Finds the failure that an output reports.
pub(crate) fn find_reported_failure(name: &str, output: &Value) -> Option<ToolError> {
    let error = output.as_object()?.get("error").filter(|error| is_meaningful(error))?;
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = match error {
        Value::String(message) => message.clone(),
        other => text("message").map_or_else(|| other.to_string(), str::to_owned),
    };
    let code = Code::from_device_code(text("code"));
    let mut failure = ToolError::new(code, format!("{name}: {}", truncate(message.trim(), MAX_TEXT_BYTES)));
    failure.hint = text("hint").map(|hint| truncate(hint, MAX_TEXT_BYTES));
    Some(failure)
}

/// True if the member reports an error, and is not just an empty placeholder.
fn is_meaningful(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}
