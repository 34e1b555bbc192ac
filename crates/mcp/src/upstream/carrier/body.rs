//! Answers, and their bodies within a bound.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::upstream::client::deepest;
use crate::upstream::fault::Fault;

/// How much of a body that is told of in an error is read, in bytes.
const EXCERPT: usize = 2 << 10;

/// An answer, whose body is read piece by piece.
#[derive(Debug)]
pub(in crate::upstream) struct Response {
    head: http::response::Parts,
    body: Incoming,
}

impl Response {
    pub(in crate::upstream) fn of(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body }
    }

    pub(in crate::upstream) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(in crate::upstream) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The length of the body, in bytes, where it was said beforehand.
    fn length(&self) -> Option<usize> {
        self.body.size_hint().exact().and_then(|length| usize::try_from(length).ok())
    }

    /// The next piece; none at the end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                // Trailers have nothing for us.
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Some(Err(error)) => return Err(Fault::Lost(deepest(&error))),
            }
        }
    }
}

/// A whole body. One that is too large is given up as soon as that is clear.
pub(super) async fn whole(mut response: Response, limit: usize) -> Result<Bytes, Fault> {
    let length = response.length();
    if length.is_some_and(|length| length > limit) {
        return Err(Fault::TooLarge(limit));
    }
    let Some(first) = response.piece().await? else { return Ok(Bytes::new()) };
    if length == Some(first.len()) {
        return Ok(first);
    }
    let mut body = BytesMut::from(first);
    loop {
        if body.len() > limit {
            return Err(Fault::TooLarge(limit));
        }
        match response.piece().await? {
            Some(piece) => body.extend_from_slice(&piece),
            None => return Ok(body.freeze()),
        }
    }
}

/// The beginning of a body, for an error. It is somebody else's text.
pub(super) async fn excerpt(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < EXCERPT {
        match response.piece().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(EXCERPT);
    String::from_utf8_lossy(&body).trim().to_owned()
}
