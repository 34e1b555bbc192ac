//! Which headers a request may have, and which go along when it is redirected to somebody else.

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};

/// How many headers a request may have.
pub(super) const MAX_COUNT: usize = 64;
/// How long their names and values may be together, in bytes.
pub(super) const MAX_BYTES: usize = 32 * 1024;

/// Set by the client itself, or between two ends of one connection (RFC 9110, 7.6.1).
const RESERVED: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What any server may know. All others, credentials among them, stay with the origin they were meant for.
const HARMLESS: &[HeaderName] =
    &[header::ACCEPT, header::ACCEPT_LANGUAGE, header::CONTENT_TYPE, header::RANGE, header::USER_AGENT];

/// A header that can't be sent. Its value is in no message: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHeader {
    /// Not a header's name.
    #[error("{0:?} is not a header's name")]
    Name(String),
    /// Line breaks or other control characters.
    #[error("the value of header {0} has characters in it that no header may have, such as line breaks")]
    Value(String),
    /// The client's own.
    #[error("header {0} is set by the client itself and can't be given")]
    Reserved(String),
    /// Given twice.
    #[error("header {0} is given twice")]
    Twice(String),
    /// Too many, or too long.
    #[error("the headers are more than {MAX_COUNT}, or longer than {MAX_BYTES} bytes together")]
    TooMany,
}

/// Adds a header to those of a request; `secret` ones never leave its origin.
///
/// # Errors
/// [`BadHeader`] says why it can't be sent.
pub fn request_header(
    headers: &mut HeaderMap,
    name: &str,
    value: &str,
    secret: bool,
) -> Result<(), BadHeader> {
    let shown = || name.get(..name.floor_char_boundary(100)).unwrap_or_default().to_owned();
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| BadHeader::Name(shown()))?;
    if RESERVED.contains(&parsed.as_str()) {
        return Err(BadHeader::Reserved(shown()));
    }
    if headers.contains_key(&parsed) {
        return Err(BadHeader::Twice(shown()));
    }
    let value = value.trim_matches([' ', '\t']);
    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| BadHeader::Value(shown()))?;
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() >= MAX_COUNT || bytes + name.len() + value.len() > MAX_BYTES {
        return Err(BadHeader::TooMany);
    }
    value.set_sensitive(secret);
    headers.insert(parsed, value);
    Ok(())
}

/// Takes out what is not for another origin.
pub(super) fn strip_cross_origin_headers(headers: &mut HeaderMap) {
    let kept: HeaderMap = headers
        .drain()
        .filter_map(|(name, value)| Some((name?, value)))
        .filter(|(name, value)| HARMLESS.contains(name) && !value.is_sensitive())
        .collect();
    *headers = kept;
}

/// Takes out what speaks of the body.
pub(super) fn strip_body_headers(headers: &mut HeaderMap) {
    for name in
        [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION]
    {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests;
