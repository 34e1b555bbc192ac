//! Parser of the text that a client sends: one message, a batch, or the error that answers it (JSON-RPC 2.0, section
//! 5.1). Ids and arguments keep their bytes.

use std::borrow::Cow;

use rmcp::ErrorData;
use rmcp::model::{InputResponses, RequestId, RequestMetaObject};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use toolway_core::MemoryPermit;
use toolway_types::json::{MAX_VALUES, has_more_values_than, nests_deeper_than};
use toolway_types::text::shorten_error;
use toolway_types::{RawJson, foreign_json};

/// Texts longer than this are parsed on a thread for blocking work, so that they do not delay others.
pub(crate) const BLOCKING_PARSE_BYTES: usize = 256 << 10;
/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 1024;
/// Maximum nesting of a message, one level less than every parser accepts.
const MAX_DEPTH: usize = 127;
/// The byte order mark that Windows tools put before a text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A message of a client.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    Request(Box<IncomingRequest>),
    Notification(IncomingNotification),
    Response(IncomingResponse),
}

/// A request of a client.
#[derive(Debug)]
pub(crate) struct IncomingRequest {
    /// The id as the client wrote it.
    pub(crate) raw_id: Box<RawValue>,
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: RequestParams,
    /// Memory of the request, which it holds until it has ended.
    pub(crate) memory: Option<MemoryPermit>,
}

/// The parameters of a request. Those that most methods have are parsed.
#[derive(Debug, Default)]
pub(crate) struct RequestParams {
    /// All parameters, except for tool calls, which need only the fields below.
    raw: Option<Box<RawValue>>,
    pub(crate) meta: RequestMetaObject,
    /// A tool's or prompt's name.
    pub(crate) name: Option<String>,
    /// The URI of a resource.
    pub(crate) uri: Option<String>,
    pub(crate) task_id: Option<String>,
    /// The arguments of a call. They may be anything but null.
    pub(crate) arguments: Option<RawJson>,
    pub(crate) input_responses: Option<Box<RawValue>>,
    pub(crate) request_state: Option<String>,
}

/// A notification of a client.
#[derive(Debug)]
pub(crate) struct IncomingNotification {
    pub(crate) method: String,
    /// The request that a cancellation names.
    pub(crate) request_id: Option<RequestId>,
}

/// A response of a client to a request of the server.
#[derive(Debug)]
pub(crate) struct IncomingResponse {
    pub(crate) id: RequestId,
    pub(crate) answer: Result<Value, ErrorData>,
}

/// The answer to a message that is no valid one.
#[derive(Debug)]
pub(crate) struct MessageError {
    /// The id of the message, if it can be read.
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) error: ErrorData,
}

/// The result of parsing a text.
#[derive(Debug)]
pub(crate) enum ParsedText {
    /// Nothing but whitespace.
    Empty,
    /// An invalid notification, which nobody may answer.
    Ignored,
    Message(IncomingMessage),
    Batch(Vec<Result<IncomingMessage, MessageError>>),
    Invalid(MessageError),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParamFields<'a> {
    #[serde(rename = "_meta", default)]
    meta: Option<RequestMetaObject>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
}

/// Counts null as present.
fn deserialize_present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl MessageError {
    pub(crate) fn invalid_request(id: Option<&RawValue>, words: impl std::fmt::Display) -> Self {
        let error = ErrorData::invalid_request(format!("Invalid request: {words}"), None);
        Self { id: id.map(ToOwned::to_owned), error }
    }

    fn parse_error(error: &serde_json::Error) -> Self {
        let words = format!("Parse error: {}", shorten_error(&error));
        Self { id: None, error: ErrorData::parse_error(words, None) }
    }
}

/// Parses one text of at most `limit` bytes.
pub(crate) fn parse(bytes: &[u8], limit: usize) -> ParsedText {
    let repaired = foreign_json::repair(bytes);
    let text = repaired.trim_start_matches(BYTE_ORDER_MARK).trim_ascii();
    if text.is_empty() {
        return ParsedText::Empty;
    }
    if text.len() > limit {
        let words = format!("the message has {} bytes, more than the maximum of {limit}", text.len());
        return ParsedText::Invalid(MessageError::invalid_request(id_of(text).as_deref(), words));
    }
    if has_more_values_than(text.as_bytes(), MAX_VALUES) {
        let words = format!("the message has more than {MAX_VALUES} values");
        return ParsedText::Invalid(MessageError::invalid_request(id_of(text).as_deref(), words));
    }
    if nests_deeper_than(text, MAX_DEPTH) {
        let words = format!("the message is nested deeper than {MAX_DEPTH} levels");
        return ParsedText::Invalid(MessageError::invalid_request(id_of(text).as_deref(), words));
    }
    if text.starts_with('[') {
        return parse_batch(text);
    }
    match parse_message(text) {
        Ok(Some(message)) => ParsedText::Message(message),
        Ok(None) => ParsedText::Ignored,
        Err(error) => ParsedText::Invalid(error),
    }
}

/// The id of the request in this text, if it can be read.
pub(crate) fn request_id_of(bytes: &[u8]) -> Option<Box<RawValue>> {
    id_of(foreign_json::repair(bytes).trim_start_matches(BYTE_ORDER_MARK))
}

fn id_of(text: &str) -> Option<Box<RawValue>> {
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    envelope.method?;
    valid_id(envelope.id?).map(|(raw, _)| raw.to_owned())
}

fn parse_batch(text: &str) -> ParsedText {
    let parts: Vec<&RawValue> = match serde_json::from_str(text) {
        Ok(parts) => parts,
        Err(error) => return ParsedText::Invalid(MessageError::parse_error(&error)),
    };
    if parts.is_empty() || parts.len() > MAX_BATCH {
        let words = format!("a batch has 1 to {MAX_BATCH} messages, not {}", parts.len());
        return ParsedText::Invalid(MessageError::invalid_request(None, words));
    }
    ParsedText::Batch(parts.into_iter().filter_map(|part| parse_message(part.get()).transpose()).collect())
}

/// Parses one message. Returns `None` for an invalid notification.
fn parse_message(text: &str) -> Result<Option<IncomingMessage>, MessageError> {
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return Err(MessageError::invalid_request(None, "this is not a JSON-RPC 2.0 message"));
        }
        Err(error) => return Err(MessageError::parse_error(&error)),
    };
    let Envelope { jsonrpc, id: given_id, method, params, result, error } = envelope;
    let id = given_id.and_then(valid_id);
    let invalid = || {
        let id = id.as_ref().filter(|_| method.is_some()).map(|(raw, _)| *raw);
        MessageError::invalid_request(id, "this is not a JSON-RPC 2.0 message")
    };
    let is_answer = result.is_some() || error.is_some();
    let is_version_2 = jsonrpc.is_some_and(|version| version.get() == r#""2.0""#);
    let method_name = method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
    match (method_name, given_id) {
        _ if !is_version_2 && (method.is_none() || given_id.is_some()) => Err(invalid()),
        (Some(_), None) if !is_version_2 || is_answer => Ok(None),
        (Some(method), None) => Ok(Some(IncomingMessage::Notification(notification(method, params)))),
        (Some(method), Some(_)) if !is_answer => {
            let Some((raw_id, id)) = id else { return Err(invalid()) };
            let params = RequestParams::parse(&method, params)
                .map_err(|error| MessageError { id: Some(raw_id.to_owned()), error })?;
            let request = IncomingRequest { raw_id: raw_id.to_owned(), id, method, params, memory: None };
            Ok(Some(IncomingMessage::Request(Box::new(request))))
        }
        (None, Some(_)) if method.is_none() && is_answer => {
            let Some((_, id)) = id else { return Err(invalid()) };
            Ok(Some(IncomingMessage::Response(response(id, result, error)?)))
        }
        (None, None) if method.is_some() => Ok(None),
        _ => Err(invalid()),
    }
}

fn notification(method: String, params: Option<&RawValue>) -> IncomingNotification {
    let fields = params.and_then(|params| serde_json::from_str::<ParamFields<'_>>(params.get()).ok());
    let request_id = fields.and_then(|fields| serde_json::from_str(fields.request_id?.get()).ok());
    IncomingNotification { method, request_id }
}

fn response(
    id: RequestId,
    result: Option<&RawValue>,
    error: Option<&RawValue>,
) -> Result<IncomingResponse, MessageError> {
    let unreadable = |_| MessageError::invalid_request(None, "the answer can't be read");
    let answer = match error.filter(|error| error.get() != "null") {
        Some(error) => Err(serde_json::from_str(error.get()).map_err(unreadable)?),
        None => Ok(serde_json::from_str(result.map_or("null", RawValue::get)).map_err(unreadable)?),
    };
    Ok(IncomingResponse { id, answer })
}

/// An id that is a string or a whole number.
fn valid_id(raw: &RawValue) -> Option<(&RawValue, RequestId)> {
    serde_json::from_str(raw.get()).ok().map(|id| (raw, id))
}

impl RequestParams {
    fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorData> {
        let Some(params) = params else { return Ok(Self::default()) };
        if !params.get().starts_with('{') {
            return Err(ErrorData::invalid_params("Invalid params: params must be an object", None));
        }
        let fields: ParamFields<'_> =
            serde_json::from_str(params.get()).map_err(|error| invalid_params(&error))?;
        let text = |field: Option<&RawValue>| field.and_then(|field| serde_json::from_str(field.get()).ok());
        Ok(Self {
            raw: (method != "tools/call").then(|| params.to_owned()),
            meta: fields.meta.unwrap_or_default(),
            name: text(fields.name),
            uri: text(fields.uri),
            task_id: text(fields.task_id),
            arguments: fields.arguments.map(|raw| RawJson::from(raw.to_owned())),
            input_responses: fields.input_responses.map(ToOwned::to_owned),
            request_state: text(fields.request_state),
        })
    }

    /// Parses all parameters of another method than `tools/call`.
    ///
    /// # Errors
    /// `-32602` with the problem.
    pub(crate) fn to<T: DeserializeOwned>(&self) -> Result<T, ErrorData> {
        let text = self.raw.as_deref().map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|error| invalid_params(&error))
    }

    /// The answers of a repeated request.
    ///
    /// # Errors
    /// `-32602` if they have another form.
    pub(crate) fn input_responses(&self) -> Result<Option<InputResponses>, ErrorData> {
        let parsed = self.input_responses.as_deref().map(|raw| serde_json::from_str(raw.get())).transpose();
        parsed.map_err(|error| invalid_params(&error))
    }
}

fn invalid_params(error: &serde_json::Error) -> ErrorData {
    let words: Cow<'static, str> = format!("Invalid params: {}", shorten_error(&error)).into();
    ErrorData::invalid_params(words, None)
}

#[cfg(test)]
mod tests;
