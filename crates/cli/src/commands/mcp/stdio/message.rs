//! Classifies JSON-RPC messages and rewrites their ids. All other content stays unchanged.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolway_types::foreign_json;

use crate::error::CliError;

/// Error code for failures of the bridge (the range that JSON-RPC reserves for servers).
const SERVER_ERROR: i64 = -32000;

/// The parts of one message.
#[derive(Debug, Deserialize)]
pub(super) struct MessageOutline<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonRpcKind {
    Request,
    Notification,
    Response,
    /// None of these. The receiver reports the error.
    Invalid,
}

/// Normalized request id: ids that are equal as JSON values compare equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct JsonRpcId(String);

impl JsonRpcId {
    /// Parses an id.
    pub(super) fn from_raw(raw: &RawValue) -> Self {
        let value: Value = foreign_json::from_str(raw.get()).unwrap_or_default();
        Self::from_value(&value)
    }

    pub(super) fn from_value(value: &Value) -> Self {
        match value.as_f64() {
            // 1.0 and 1 are the same id.
            Some(number) if value.is_f64() && number.fract() == 0.0 => Self(format!("{number:.0}")),
            _ => Self(value.to_string()),
        }
    }

    /// Creates an id from a string.
    pub(super) fn from_text(text: &str) -> Self {
        Self(Value::from(text).to_string())
    }

    /// Returns the id as JSON.
    pub(super) fn as_json(&self) -> &str {
        &self.0
    }
}

impl<'a> MessageOutline<'a> {
    /// Parses a message; `None` if it is not a JSON object.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn kind(&self) -> JsonRpcKind {
        match (&self.method, self.id, self.result.is_some() || self.error.is_some()) {
            (Some(_), Some(_), false) => JsonRpcKind::Request,
            (Some(_), None, false) => JsonRpcKind::Notification,
            (None, Some(_), true) => JsonRpcKind::Response,
            _ => JsonRpcKind::Invalid,
        }
    }

    pub(super) fn id(&self) -> Option<JsonRpcId> {
        self.id.map(JsonRpcId::from_raw)
    }

    pub(super) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }

    /// Returns a value of the parameters at a JSON pointer, for example `/_meta/x`.
    pub(super) fn param(&self, pointer: &str) -> Option<Value> {
        value_at(self.params, pointer)
    }

    /// Returns a value of the result at a JSON pointer.
    pub(super) fn result(&self, pointer: &str) -> Option<Value> {
        value_at(self.result, pointer)
    }

    /// Returns the message with another id.
    pub(super) fn with_id(&self, id: &JsonRpcId) -> String {
        let mut text = format!(r#"{{"jsonrpc":"2.0","id":{}"#, id.as_json());
        if let Some(method) = &self.method {
            text.push_str(&format!(r#","method":{}"#, Value::from(method.as_ref())));
        }
        for (name, part) in [("params", self.params), ("result", self.result), ("error", self.error)] {
            if let Some(part) = part {
                text.push_str(&format!(r#","{name}":{}"#, part.get()));
            }
        }
        text.push('}');
        text
    }
}

fn value_at(part: Option<&RawValue>, pointer: &str) -> Option<Value> {
    let value: Value = foreign_json::from_str(part?.get()).ok()?;
    value.pointer(pointer).cloned()
}

/// Splits a text into its messages: several for a batch.
pub(super) fn split_batch(text: &str) -> Vec<&str> {
    if text.trim_start().starts_with('[') {
        let parts: Option<Vec<&RawValue>> = serde_json::from_str(text).ok();
        return parts.map_or_else(|| vec![text], |parts| parts.into_iter().map(RawValue::get).collect());
    }
    vec![text]
}

/// Creates a notification.
pub(super) fn notification(method: &str, params: Option<Value>) -> String {
    let message = match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}),
        None => json!({"jsonrpc": "2.0", "method": method}),
    };
    message.to_string()
}

/// Creates an error response. The message includes the hint, because clients show only the message.
pub(super) fn error_response(id: Option<&JsonRpcId>, failure: &CliError) -> String {
    let hints = failure.hints();
    let message = match &hints {
        Some(hints) => format!("{}. Hint: {hints}", failure.message()),
        None => failure.message().to_owned(),
    };
    let error = json!({
        "code": SERVER_ERROR,
        "message": message,
        "data": {"code": failure.code(), "hint": hints},
    });
    format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, id.map_or("null", JsonRpcId::as_json))
}

/// Creates the response to a message that cannot be parsed.
pub(super) fn parse_error_response(message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": message}}).to_string()
}

/// Creates error responses to all requests in a text; `None` if there are none.
pub(super) fn error_responses(text: &str, failure: &CliError) -> Option<String> {
    let is_batch = text.trim_start().starts_with('[');
    let answer = |part: &str| {
        let outline = MessageOutline::parse(part)?;
        (outline.kind() == JsonRpcKind::Request).then(|| error_response(outline.id().as_ref(), failure))
    };
    let answers: Vec<String> = split_batch(text).into_iter().filter_map(answer).collect();
    match answers.as_slice() {
        [] => None,
        [one] if !is_batch => Some(one.clone()),
        several => Some(format!("[{}]", several.join(","))),
    }
}

#[cfg(test)]
mod tests;
