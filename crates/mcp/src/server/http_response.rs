//! Responses of the server over HTTP.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};

/// The body of a response.
pub type McpResponseBody = BoxBody<Bytes, Infallible>;

/// A response whose body is one JSON document.
pub(super) fn json_response(status: StatusCode, body: Bytes) -> Response<McpResponseBody> {
    let mut response = Response::new(Full::new(body).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
