//! Parser for the error bodies of all providers.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use toolway_types::foreign_json;
use toolway_types::json::{MAX_VALUES, has_more_values_than};

/// Parses JSON, unless it is too large to be an error.
fn parse_value(text: &str) -> Option<Value> {
    if has_more_values_than(text.as_bytes(), MAX_VALUES) {
        return None;
    }
    foreign_json::from_str(text).ok()
}

/// A provider's error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderErrorBody {
    /// Message text.
    pub(crate) message: String,
    /// All codes, types and status names, in lower case.
    pub(crate) codes: Vec<String>,
    /// Numeric code, if there is one.
    status_code: Option<u16>,
    /// Delay before a retry (Google's `RetryInfo`).
    pub(crate) retry_after: Option<Duration>,
}

impl ProviderErrorBody {
    /// Parses the body of an error response.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim();
        match parse_value(text) {
            Some(value) => Self::from_value(&value),
            None if text.starts_with('<') => Self { message: html_title(text), ..Self::default() },
            None => Self { message: text.to_owned(), ..Self::default() },
        }
    }

    /// Parses an event of a stream, or a body that should be a response; `None` if it is not an error.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let value = parse_value(text)?;
        is_error(&value).then(|| Self::from_value(&value))
    }

    /// Parses an error object.
    pub(crate) fn from_value(value: &Value) -> Self {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let mut said = Self::default();
        match value.get("error") {
            Some(Value::String(text)) => said.message.clone_from(text),
            Some(error @ Value::Object(_)) => said.merge_error(error),
            _ => {}
        }
        said.merge_error(value);
        said
    }

    /// Creates an error from a code and a message.
    pub(crate) fn new(code: &str, message: &str) -> Self {
        let mut said = Self { message: message.to_owned(), ..Self::default() };
        said.add_code(code);
        said
    }

    /// Returns the HTTP status in the error, if it is an error status.
    pub(super) fn status(&self) -> Option<StatusCode> {
        let status = StatusCode::from_u16(self.status_code?).ok()?;
        (status.is_client_error() || status.is_server_error()).then_some(status)
    }

    /// Returns whether it has a code.
    pub(super) fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|known| known == code)
    }

    fn merge_error(&mut self, error: &Value) {
        if self.message.is_empty() {
            let message = ["message", "detail", "msg"].iter().find_map(|field| error.get(field));
            self.message = message.map(message_text).unwrap_or_default();
        }
        for field in ["code", "type", "status", "reason"] {
            match error.get(field) {
                Some(Value::String(code)) => self.add_code(code),
                Some(Value::Number(number)) if self.status_code.is_none() => {
                    self.status_code = number.as_u64().and_then(|number| number.try_into().ok());
                }
                _ => {}
            }
        }
        // A router's word for what the provider behind it said.
        if let Some(raw) = error.pointer("/metadata/raw") {
            let raw = message_text(raw);
            self.message = format!("{} ({raw})", self.message);
        }
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            if let Some(Value::String(reason)) = detail.get("reason") {
                self.add_code(reason);
            }
            if let Some(Value::String(delay)) = detail.get("retryDelay") {
                let seconds = delay.strip_suffix('s').and_then(|number| number.parse::<f64>().ok());
                let wait = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                self.retry_after = wait.or(self.retry_after);
            }
        }
    }

    fn add_code(&mut self, code: &str) {
        if let Ok(number) = code.parse::<u16>() {
            self.status_code = self.status_code.or(Some(number));
        } else if !code.is_empty() && !matches!(code, "error" | "response.failed") {
            self.codes.push(code.to_ascii_lowercase());
        }
    }
}

/// Returns whether a value in place of a response is an error.
fn is_error(value: &Value) -> bool {
    let value = match value {
        Value::Array(items) => items.first().unwrap_or(&Value::Null),
        other => other,
    };
    let is = |field: &str, what: &str| value.get(field).and_then(Value::as_str) == Some(what);
    value.get("error").is_some_and(|error| !error.is_null())
        || is("object", "error")
        || is("type", "error")
        || (value.get("detail").is_some() && value.get("choices").is_none())
}

/// Returns the text of a message. Some providers send it as an object or a list.
fn message_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(fields) => match fields.get("message").or_else(|| fields.get("detail")) {
            Some(inner) => message_text(inner),
            None => value.to_string(),
        },
        Value::Array(items) => {
            // A list of violations, as FastAPI gives it.
            let each = items.iter().map(|item| match (item.get("msg"), item.get("loc")) {
                (Some(Value::String(message)), Some(place)) => format!("{message} at {place}"),
                _ => message_text(item),
            });
            each.collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// The title of an HTML page.
fn html_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let inside = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let length = lower.get(start..)?.find('<')?;
        page.get(start..start + length)
    });
    match inside {
        Some(title) => format!("a web page, {:?}", title.trim()),
        None => "a web page".to_owned(),
    }
}
