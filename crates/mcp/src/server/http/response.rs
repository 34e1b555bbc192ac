//! Answers over HTTP. Each has a content type, unless it is empty.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::value::RawValue;

use super::accept::{EVENT_STREAM, JSON};
use crate::server::outgoing::error_message;

/// The body of a response.
pub type McpResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A refused request.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    id: Option<Box<RawValue>>,
    error: Box<ErrorData>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, id: Option<Box<RawValue>>, error: ErrorData) -> Self {
        Self { status, id, error: Box::new(error) }
    }

    /// A malformed request.
    pub(super) fn malformed(id: &RawValue, error: ErrorData) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Some(id.to_owned()), error)
    }

    pub(super) fn into_response(self) -> Response<McpResponseBody> {
        json_response(self.status, error_message(self.id.as_deref(), &self.error))
    }
}

/// The answer to a request that could not be read, as a JSON-RPC error without an id.
#[must_use]
pub fn error_response(status: StatusCode, message: String) -> Response<McpResponseBody> {
    Refusal::new(status, None, ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)).into_response()
}

/// A response whose body is one JSON document.
pub(super) fn json_response(status: StatusCode, body: String) -> Response<McpResponseBody> {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// A response without a body.
pub(super) fn empty_response(status: StatusCode) -> Response<McpResponseBody> {
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = status;
    response
}

/// A stream without events.
pub(super) fn empty_stream() -> Response<McpResponseBody> {
    stream_response(Empty::new().boxed_unsync())
}

/// A stream with one message.
pub(super) fn single_event(message: &str) -> Response<McpResponseBody> {
    let lines = message.split(['\n', '\r']).map(|line| format!("data: {line}\n"));
    let event: String = lines.chain(["\n".to_owned()]).collect();
    stream_response(Full::new(Bytes::from(event)).boxed_unsync())
}

/// A response whose body is a stream of events.
pub(super) fn stream_response(body: McpResponseBody) -> Response<McpResponseBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert("cache-control", HeaderValue::from_static("no-cache"));
    // Some proxies would store the events until they have many.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The status of an error of a request without a session (2026-07-28, "Streamable HTTP").
pub(super) fn status_of(answer: &Result<String, ErrorData>) -> StatusCode {
    match answer.as_ref().map_err(|error| error.code) {
        Err(
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH,
        ) => StatusCode::BAD_REQUEST,
        Err(ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
