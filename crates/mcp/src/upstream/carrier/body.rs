//! Bodies of answers, within a bound.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

use super::address::of_transport;
use crate::upstream::fault::Fault;

/// How much of a body that is told of in an error is read, in bytes.
const EXCERPT: usize = 2 << 10;

/// A whole body. One that is too large is given up as soon as that is clear.
pub(super) async fn whole(mut response: Response, limit: usize) -> Result<Bytes, Fault> {
    let length = response.content_length().and_then(|length| usize::try_from(length).ok());
    if length.is_some_and(|length| length > limit) {
        return Err(Fault::TooLarge(limit));
    }
    let Some(first) = next(&mut response).await? else { return Ok(Bytes::new()) };
    if length == Some(first.len()) {
        return Ok(first);
    }
    let mut body = BytesMut::from(first);
    loop {
        if body.len() > limit {
            return Err(Fault::TooLarge(limit));
        }
        match next(&mut response).await? {
            Some(piece) => body.extend_from_slice(&piece),
            None => return Ok(body.freeze()),
        }
    }
}

/// The beginning of a body, for an error. It is somebody else's text.
pub(super) async fn excerpt(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < EXCERPT {
        match response.chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(EXCERPT);
    String::from_utf8_lossy(&body).trim().to_owned()
}

async fn next(response: &mut Response) -> Result<Option<Bytes>, Fault> {
    response.chunk().await.map_err(|error| match of_transport(&error) {
        Fault::Unreachable(words) => Fault::Lost(words),
        other => other,
    })
}
