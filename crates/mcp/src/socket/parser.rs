//! Parser of one text: a message, or the error reply to it (JSON-RPC 2.0, section 5.1).

use std::fmt;

use bytes::Bytes;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, GetExtensions as _, JsonRpcMessage, RequestId,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::server::RawMessage;

/// An error of this server (from the range that JSON-RPC reserves for servers).
const SERVER_ERROR: ErrorCode = ErrorCode(-32000);
/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 1024;
/// The byte order mark that Windows tools put before a text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The result of parsing a text.
#[derive(Debug)]
pub(super) enum ParsedText {
    /// Whitespace, or an ignored message.
    Ignored,
    /// One message.
    Message(Box<ClientJsonRpcMessage>),
    /// A batch of messages.
    Batch(Vec<Result<ClientJsonRpcMessage, JsonRpcErrorReply>>),
    /// Not a message.
    Refused(JsonRpcErrorReply),
}

/// The error reply to invalid input. [`fmt::Display`] writes it as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonRpcErrorReply {
    id: Option<RequestId>,
    code: ErrorCode,
    message: String,
}

impl JsonRpcErrorReply {
    pub(super) fn invalid_request(id: Option<RequestId>, message: impl Into<String>) -> Self {
        Self { id, code: ErrorCode::INVALID_REQUEST, message: format!("Invalid request: {}", message.into()) }
    }

    pub(super) fn overloaded(id: RequestId, limit: usize) -> Self {
        let message =
            format!("This connection has {limit} requests in flight already; wait for some of them to end");
        Self { id: Some(id), code: SERVER_ERROR, message }
    }
}

impl fmt::Display for JsonRpcErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The id of an unreadable message is null.
        let id = self.id.clone().map_or(Value::Null, RequestId::into_json_value);
        let error = json!({"code": self.code.0, "message": self.message});
        write!(f, r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
    }
}

/// The id and method of a message that can't be parsed as a whole.
#[derive(Deserialize)]
struct MessageOutline {
    #[serde(default, deserialize_with = "deserialize_present")]
    id: Option<Value>,
    #[serde(default, deserialize_with = "deserialize_present")]
    method: Option<Value>,
}

/// Counts null as present.
fn deserialize_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads one text.
pub(super) fn parse(whole: &Bytes, limit: usize) -> ParsedText {
    let text = whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(whole).trim_ascii();
    if text.is_empty() {
        return ParsedText::Ignored;
    }
    if text.len() > limit {
        let size = text.len();
        let message = format!("the message has {size} bytes, more than the maximum of {limit}");
        return ParsedText::Refused(JsonRpcErrorReply::invalid_request(id_of(text), message));
    }
    if text.first() == Some(&b'[') {
        return parse_batch(whole, text);
    }
    match parse_message(whole, text) {
        Ok(Some(message)) => ParsedText::Message(Box::new(message)),
        Ok(None) => ParsedText::Ignored,
        Err(refusal) => ParsedText::Refused(refusal),
    }
}

fn parse_batch(whole: &Bytes, text: &[u8]) -> ParsedText {
    let parts: Vec<&RawValue> = match serde_json::from_slice(text) {
        Ok(parts) => parts,
        Err(error) => return ParsedText::Refused(parse_error(&error)),
    };
    if parts.is_empty() || parts.len() > MAX_BATCH {
        let message = format!("a batch has 1 to {MAX_BATCH} messages, not {}", parts.len());
        return ParsedText::Refused(JsonRpcErrorReply::invalid_request(None, message));
    }
    ParsedText::Batch(
        parts
            .into_iter()
            .filter_map(|part| parse_message(whole, part.get().as_bytes()).transpose())
            .collect(),
    )
}

/// Parses one message, `text`, within the `whole`. Returns `None` if it is ignored.
fn parse_message(whole: &Bytes, text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, JsonRpcErrorReply> {
    let error = match serde_json::from_slice(text) {
        Ok(message) => return Ok(Some(attach_raw_arguments(message, whole.slice_ref(text)))),
        Err(error) => error,
    };
    if !error.is_data() {
        return Err(parse_error(&error));
    }
    match serde_json::from_slice::<MessageOutline>(text) {
        // Notifications get no reply, even invalid ones.
        Ok(MessageOutline { id: None, method: Some(_) }) => Ok(None),
        // An id without a method is one of ours, in an unreadable response.
        Ok(MessageOutline { id: Some(_), method: None }) => {
            Err(JsonRpcErrorReply::invalid_request(None, "the answer can't be read"))
        }
        _ => Err(JsonRpcErrorReply::invalid_request(id_of(text), "this is not a JSON-RPC 2.0 message")),
    }
}

/// Attaches the original text to a call, because arguments go to the tool unchanged.
fn attach_raw_arguments(mut message: ClientJsonRpcMessage, text: Bytes) -> ClientJsonRpcMessage {
    if let JsonRpcMessage::Request(request) = &mut message
        && let ClientRequest::CallToolRequest(call) = &mut request.request
    {
        call.extensions_mut().insert(RawMessage(text));
    }
    message
}

fn parse_error(error: &serde_json::Error) -> JsonRpcErrorReply {
    JsonRpcErrorReply { id: None, code: ErrorCode::PARSE_ERROR, message: format!("Parse error: {error}") }
}

/// The id of a request, if it is valid for a reply.
fn id_of(text: &[u8]) -> Option<RequestId> {
    let MessageOutline { id, method } = serde_json::from_slice(text).ok()?;
    method.and_then(|_| serde_json::from_value(id?).ok())
}
