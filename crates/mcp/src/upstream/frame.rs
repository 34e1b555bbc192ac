//! JSON-RPC messages as text, so that their content stays unchanged.

mod unreadable;

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_types::foreign_json;
use toolway_types::json::{MAX_VALUES, has_more_values_than};
use toolway_types::text::{MAX_QUOTE, shorten_error, truncate};

pub(super) use unreadable::UnreadableMessage;

/// Problem of JSON that is no message.
const NO_MESSAGE: &str = "it is neither a request, a notification nor an answer";

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
    Request(&'a RawValue, String, Option<&'a RawValue>),
    /// A notification of the server.
    Notification(String, Option<&'a RawValue>),
}

#[derive(Deserialize)]
struct JsonRpcEnvelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Parses one message.
///
/// # Errors
/// [`UnreadableMessage`] says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<IncomingMessage<'_>, UnreadableMessage> {
    parse_envelope(text).map_err(|reason| UnreadableMessage::find(text, reason))
}

fn parse_envelope(text: &str) -> Result<IncomingMessage<'_>, String> {
    let envelope: JsonRpcEnvelope<'_> =
        serde_json::from_str(text).map_err(|error| match error.is_data() {
            true => NO_MESSAGE.to_owned(),
            false => shorten_error(&error),
        })?;
    let method = envelope.method.map(|method| foreign_json::from_str::<String>(method.get())).transpose();
    let method = method.map_err(|_| "its method is not a string".to_owned())?;
    match (envelope, method) {
        (JsonRpcEnvelope { id: Some(id), params, .. }, Some(method)) => {
            Ok(IncomingMessage::Request(id, method, params))
        }
        (JsonRpcEnvelope { params, .. }, Some(method)) => Ok(IncomingMessage::Notification(method, params)),
        (JsonRpcEnvelope { id, error: Some(error), .. }, None) => {
            Ok(IncomingMessage::Error(id.and_then(|id| parse_id(id.get())), read_error(error)))
        }
        (JsonRpcEnvelope { id: Some(id), result: Some(result), .. }, None) => match parse_id(id.get()) {
            Some(id) if has_more_values_than(result.get().as_bytes(), MAX_VALUES) => {
                let message = format!("the result has more than {MAX_VALUES} JSON values");
                Ok(IncomingMessage::Error(Some(id), ErrorData::internal_error(message, None)))
            }
            Some(id) => Ok(IncomingMessage::Result(id, result)),
            None => Err(format!("it answers {}, an unknown request", truncate(id.get(), MAX_QUOTE))),
        },
        _ => Err(NO_MESSAGE.to_owned()),
    }
}

/// Reads the error of a response. Some servers write a text in its place, or a text as its code.
fn read_error(raw: &RawValue) -> ErrorData {
    if let Ok(error) = foreign_json::from_str::<ErrorData>(raw.get()) {
        return error;
    }
    let value = foreign_json::from_str::<Value>(raw.get()).unwrap_or_else(|_| raw.get().into());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = |code: &Value| match code {
        Value::String(digits) => digits.trim().parse().ok(),
        other => other.as_i64().and_then(|code| i32::try_from(code).ok()),
    };
    let code = value.get("code");
    let known = code.and_then(number).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    let message = match (value.get("message"), code.filter(|code| number(code).is_none())) {
        (Some(message), None) => text(message),
        // A code in words is part of what the server says.
        (Some(message), Some(code)) => format!("{} ({})", text(message), text(code)),
        (None, _) => text(&value),
    };
    ErrorData::new(known, message, value.get("data").cloned())
}

/// Parses a message or a batch (2025-03-26), and passes on each message. Bytes that are not UTF-8 and half surrogate
/// pairs read as U+FFFD.
pub(super) fn parse_all(text: &[u8], mut each: impl FnMut(Result<IncomingMessage<'_>, UnreadableMessage>)) {
    let text = text_lossy(text);
    parse_value(text.trim_start_matches('\u{FEFF}').trim(), &mut each);
}

/// Parses messages that follow each other, and passes on each. Returns the beginning of a message whose rest is
/// missing.
pub(super) fn parse_sequence(
    text: &[u8],
    mut each: impl FnMut(Result<IncomingMessage<'_>, UnreadableMessage>),
) -> Option<String> {
    let text = text_lossy(text);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let start = values.byte_offset();
        let error = match values.next()? {
            Ok(value) => {
                parse_value(value.get(), &mut each);
                continue;
            }
            Err(error) => error,
        };
        let rest = text.get(start..).unwrap_or_default().trim_start();
        let is_json = rest.starts_with(['{', '[']);
        if error.is_eof() && is_json {
            return Some(rest.to_owned());
        }
        let reason = match is_json {
            true => error.to_string(),
            false => "it has other text before the message".to_owned(),
        };
        each(Err(UnreadableMessage::find(rest, reason)));
        return None;
    }
}

/// Text with U+FFFD in place of bytes that are not UTF-8.
fn text_lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Checking valid text is several times faster than the search for its invalid parts.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn parse_value(text: &str, each: &mut impl FnMut(Result<IncomingMessage<'_>, UnreadableMessage>)) {
    if !text.starts_with('[') {
        return parse_repaired(text, each);
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(several) if !several.is_empty() => {
            several.into_iter().for_each(|one| parse_repaired(one.get(), each));
        }
        Ok(_) => each(Err(UnreadableMessage::find(text, "it is an empty batch".to_owned()))),
        Err(error) => each(Err(UnreadableMessage::find(text, error.to_string()))),
    }
}

/// Parses one message. Only a name in the message itself needs a repair: all values are read one by one.
fn parse_repaired(text: &str, each: &mut impl FnMut(Result<IncomingMessage<'_>, UnreadableMessage>)) {
    match (parse(text), foreign_json::replace_lone_surrogates(text)) {
        (Err(_), Cow::Owned(repaired)) => each(parse(&repaired)),
        (parsed, _) => each(parsed),
    }
}

/// Parses the id of one of our requests, which is a number. Some servers return it as a string or with a fraction.
fn parse_id(id: &str) -> Option<u64> {
    let id = id.trim_matches('"');
    id.strip_suffix(".0").unwrap_or(id).parse().ok()
}

#[cfg(test)]
mod tests;
