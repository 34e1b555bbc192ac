//! JSON-RPC messages to a client, written as text. Results and ids are JSON already and are placed unchanged.

use rmcp::ErrorData;
use rmcp::model::InputRequest;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The response to a request, with this result.
pub(crate) fn result_message(id: &RawValue, result: &str) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, id.get(), r#","result":"#, result, "}"].concat()
}

/// The error response to a request, or to a message without a readable id.
pub(crate) fn error_message(id: Option<&RawValue>, error: &ErrorData) -> String {
    [r#"{"jsonrpc":"2.0","id":"#, id.map_or("null", RawValue::get), r#","error":"#, &to_json(error), "}"]
        .concat()
}

/// The response to a request.
pub(crate) fn response_message(id: &RawValue, answer: &Result<String, ErrorData>) -> String {
    match answer {
        Ok(result) => result_message(id, result),
        Err(error) => error_message(Some(id), error),
    }
}

/// A notification with parameters.
pub(crate) fn notification<P: Serialize>(method: &str, params: &P) -> String {
    [r#"{"jsonrpc":"2.0","method":""#, method, r#"","params":"#, &to_json(params), "}"].concat()
}

/// A notification without parameters.
pub(crate) fn bare_notification(method: &str) -> String {
    [r#"{"jsonrpc":"2.0","method":""#, method, r#""}"#].concat()
}

/// A request of the server. The client may report its progress, as to a server of the official SDK.
pub(crate) fn request(id: u64, request: &InputRequest) -> String {
    let mut message = serde_json::to_value(request).unwrap_or_default();
    if let Value::Object(message) = &mut message {
        message.insert("jsonrpc".to_owned(), "2.0".into());
        message.insert("id".to_owned(), id.into());
        let params = message.entry("params").or_insert_with(|| json!({}));
        if let Some(params) = params.as_object_mut() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert("progressToken".to_owned(), id.into());
            }
        }
    }
    message.to_string()
}

/// Serializes a value. The values here always have a JSON form.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

#[cfg(test)]
mod tests;
