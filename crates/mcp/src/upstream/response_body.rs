//! Responses whose bodies are read up to a size limit.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::error::UpstreamError;

/// Maximum length of a body's excerpt in an error, in bytes.
const EXCERPT_BYTES: usize = 2 << 10;

/// A response whose body is read in chunks.
#[derive(Debug)]
pub(super) struct StreamedResponse {
    head: http::response::Parts,
    body: Incoming,
}

impl StreamedResponse {
    pub(super) fn new(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The length of the body in bytes, if known in advance.
    fn content_length(&self) -> Option<usize> {
        self.body.size_hint().exact().and_then(|length| usize::try_from(length).ok())
    }

    /// The next chunk; `None` at the end.
    pub(super) async fn next_chunk(&mut self) -> Result<Option<Bytes>, UpstreamError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                // Trailers are not used.
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Some(Err(error)) => return Err(UpstreamError::ConnectionLost(root_cause(&error))),
            }
        }
    }
}

/// Reads the complete body. Fails as soon as it is too large.
pub(super) async fn read_all(mut response: StreamedResponse, limit: usize) -> Result<Bytes, UpstreamError> {
    let length = response.content_length();
    if length.is_some_and(|length| length > limit) {
        return Err(UpstreamError::TooLarge(limit));
    }
    let Some(first) = response.next_chunk().await? else { return Ok(Bytes::new()) };
    if length == Some(first.len()) {
        return Ok(first);
    }
    let mut body = BytesMut::from(first);
    loop {
        if body.len() > limit {
            return Err(UpstreamError::TooLarge(limit));
        }
        match response.next_chunk().await? {
            Some(piece) => body.extend_from_slice(&piece),
            None => return Ok(body.freeze()),
        }
    }
}

/// Reads the start of a body for an error message. It is foreign text.
pub(super) async fn read_excerpt(mut response: StreamedResponse) -> String {
    let mut body = Vec::new();
    while body.len() < EXCERPT_BYTES {
        match response.next_chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(EXCERPT_BYTES);
    String::from_utf8_lossy(&body).trim().to_owned()
}

/// The innermost cause of an error. Outer errors contain addresses, which may contain keys.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut words = String::new();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !said.is_empty() {
            words = said;
        }
        source = cause.source();
    }
    if words.is_empty() { "the request failed".to_owned() } else { words }
}
