//! JSON-RPC messages, seen from outside: what kind each is, and how it is put together anew under another id. What
//! stands in them is passed on as it was written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::CliError;

/// Something failed on this side of the server (the range that JSON-RPC leaves to servers).
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

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonRpcKind {
    Request,
    Notification,
    Response,
    /// None of them. Whoever reads it says what is wrong with it.
    Invalid,
}

/// An id by which requests are told apart: one that is written in two ways is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct JsonRpcId(String);

impl JsonRpcId {
    /// The id that is written so.
    pub(super) fn from_raw(raw: &RawValue) -> Self {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        Self::from_value(&value)
    }

    pub(super) fn from_value(value: &Value) -> Self {
        match value.as_f64() {
            // 1.0 is the number 1.
            Some(number) if value.is_f64() && number.fract() == 0.0 => Self(format!("{number:.0}")),
            _ => Self(value.to_string()),
        }
    }

    /// A text as an id.
    pub(super) fn from_text(text: &str) -> Self {
        Self(Value::from(text).to_string())
    }

    /// As JSON.
    pub(super) fn as_json(&self) -> &str {
        &self.0
    }
}

impl<'a> MessageOutline<'a> {
    /// The parts of a text; none where it is no JSON object.
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

    /// What stands at a place in the parameters, as `/_meta/x`.
    pub(super) fn param(&self, pointer: &str) -> Option<Value> {
        value_at(self.params, pointer)
    }

    /// What stands at a place in the result.
    pub(super) fn result(&self, pointer: &str) -> Option<Value> {
        value_at(self.result, pointer)
    }

    /// The same message under another id.
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
    let value: Value = serde_json::from_str(part?.get()).ok()?;
    value.pointer(pointer).cloned()
}

/// The messages of a text: several where it is a batch.
pub(super) fn split_batch(text: &str) -> Vec<&str> {
    if text.trim_start().starts_with('[') {
        let parts: Option<Vec<&RawValue>> = serde_json::from_str(text).ok();
        return parts.map_or_else(|| vec![text], |parts| parts.into_iter().map(RawValue::get).collect());
    }
    vec![text]
}

/// A notification.
pub(super) fn notification(method: &str, params: Option<Value>) -> String {
    let message = match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}),
        None => json!({"jsonrpc": "2.0", "method": method}),
    };
    message.to_string()
}

/// The answer that a request was in vain. The hint stands in the message, since that is what programs show.
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

/// The answer to what can't be read at all.
pub(super) fn parse_error_response(message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": message}}).to_string()
}

/// The answers to all that is asked in a text, in vain; none where nothing is.
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
