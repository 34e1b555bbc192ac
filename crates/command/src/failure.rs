//! Failures that programs tell of in their output, by the convention that scripts follow (E4): an object with
//! a member `error`.

use serde_json::Value;
use toolway_types::{Code, ToolError};

/// How much of what a program says is told, in bytes.
const TOLD: usize = 2 << 10;

/// The failure that an output tells of; none where it tells of none.
pub(crate) fn told(name: &str, output: &Value) -> Option<ToolError> {
    let error = output.as_object()?.get("error").filter(|error| says_something(error))?;
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = match error {
        Value::String(message) => message.clone(),
        other => text("message").map_or_else(|| other.to_string(), str::to_owned),
    };
    let code = Code::from_device(text("code"));
    let mut failure = ToolError::new(code, format!("{name}: {}", start(message.trim(), TOLD)));
    failure.hint = text("hint").map(|hint| start(hint, TOLD));
    Some(failure)
}

/// Whether the member is more than the place for an error that there was not.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The start of a text.
fn start(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(bytes)).unwrap_or_default())
}
