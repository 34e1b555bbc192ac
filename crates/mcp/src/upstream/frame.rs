//! JSON-RPC messages as text, so that their content stays unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use rmcp::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolway_types::json::{MAX_VALUES, has_more_values_than};
use toolway_types::text::{MAX_QUOTE, shorten_error, truncate};

/// A request.
pub(super) fn request(id: u64, method: &str, params: &str) -> Bytes {
    let mut frame = String::with_capacity(64 + method.len() + params.len());
    let _ = write!(frame, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    frame.into()
}

/// A notification.
pub(super) fn notification(method: &str, params: Option<&str>) -> Bytes {
    let mut frame = format!(r#"{{"jsonrpc":"2.0","method":"{method}""#);
    if let Some(params) = params {
        frame.push_str(r#","params":"#);
        frame.push_str(params);
    }
    frame.push('}');
    frame.into()
}

/// The notification that a request is cancelled.
pub(super) fn cancelled(id: u64) -> Bytes {
    let params = format!(r#"{{"requestId":{id},"reason":"the request was abandoned"}}"#);
    notification("notifications/cancelled", Some(&params))
}

/// The response to a server's request.
pub(super) fn reply<T: Serialize>(id: &RawValue, answer: &Result<T, ErrorData>) -> Bytes {
    #[derive(Serialize)]
    struct JsonRpcReply<'a, T> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a T>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a ErrorData>,
    }
    let reply =
        JsonRpcReply { jsonrpc: "2.0", id, result: answer.as_ref().ok(), error: answer.as_ref().err() };
    serde_json::to_vec(&reply).unwrap_or_default().into()
}

/// A member of an object, as JSON: `"name":value`.
pub(super) fn json_member<T: Serialize + ?Sized>(name: &str, value: &T) -> String {
    let value = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    format!(r#""{name}":{value}"#)
}

/// A message of a server.
#[derive(Debug)]
pub(super) enum IncomingMessage<'a> {
    /// The result of a request.
    Result(u64, &'a RawValue),
    /// An error response; without an id if the server could not read the request.
    Error(Option<u64>, ErrorData),
    /// A request of the server.
    Request(&'a RawValue, Cow<'a, str>, Option<&'a RawValue>),
    /// A notification of the server.
    Notification(Cow<'a, str>, Option<&'a RawValue>),
}

#[derive(Deserialize)]
struct JsonRpcEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ErrorData>,
}

/// Parses one message.
///
/// # Errors
/// A description of the problem.
pub(super) fn parse(text: &[u8]) -> Result<IncomingMessage<'_>, String> {
    let envelope: JsonRpcEnvelope<'_> =
        serde_json::from_slice(text).map_err(|error| shorten_error(&error))?;
    match envelope {
        JsonRpcEnvelope { id: Some(id), method: Some(method), params, .. } => {
            Ok(IncomingMessage::Request(id, method, params))
        }
        JsonRpcEnvelope { method: Some(method), params, .. } => {
            Ok(IncomingMessage::Notification(method, params))
        }
        JsonRpcEnvelope { id, error: Some(error), .. } => {
            Ok(IncomingMessage::Error(id.and_then(parse_id), error))
        }
        JsonRpcEnvelope { id: Some(id), result: Some(result), .. } => match parse_id(id) {
            Some(id) if has_more_values_than(result.get().as_bytes(), MAX_VALUES) => {
                let message = format!("the result has more than {MAX_VALUES} JSON values");
                Ok(IncomingMessage::Error(Some(id), ErrorData::internal_error(message, None)))
            }
            Some(id) => Ok(IncomingMessage::Result(id, result)),
            None => Err(format!("it answers {}, an unknown request", truncate(id.get(), MAX_QUOTE))),
        },
        _ => Err("it is neither a request, a notification nor an answer".to_owned()),
    }
}

/// Parses a message or a batch (2025-03-26), and passes each message to `each`.
///
/// # Errors
/// As [`parse`]. Earlier messages were passed already.
pub(super) fn parse_all<'a>(text: &'a [u8], mut each: impl FnMut(IncomingMessage<'a>)) -> Result<(), String> {
    if text.trim_ascii_start().first() != Some(&b'[') {
        each(parse(text)?);
        return Ok(());
    }
    let several: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| shorten_error(&error))?;
    several.into_iter().try_for_each(|one| parse(one.get().as_bytes()).map(&mut each))
}

/// Parses the id of one of our requests, which is a number. Some servers return it as a string.
fn parse_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests;
