//! Validates the headers of a request, and selects those that are sent after a redirect to another origin.

use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Maximum number of headers in a request.
pub(super) const MAX_COUNT: usize = 64;
/// Maximum total length of their names and values, in bytes.
pub(super) const MAX_BYTES: usize = 32 * 1024;

/// Headers set by the client itself, or that concern a single connection (RFC 9110, section 7.6.1).
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

/// Headers that any server may receive. All others, including credentials, are only sent to their origin.
const HARMLESS: &[HeaderName] =
    &[header::ACCEPT, header::ACCEPT_LANGUAGE, header::CONTENT_TYPE, header::RANGE, header::USER_AGENT];

/// An invalid header. Messages omit its value, because it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadHeader {
    /// The name is invalid.
    #[error("{0:?} is not a header's name")]
    Name(String),
    /// The value contains line breaks or other control characters.
    #[error("the value of header {0} has characters in it that no header may have, such as line breaks")]
    Value(String),
    /// The header is set by the client itself.
    #[error("header {0} is set by the client itself and can't be given")]
    Reserved(String),
    /// The header occurs twice.
    #[error("header {0} is given twice")]
    Twice(String),
    /// There are too many headers, or they are too long.
    #[error("the headers are more than {MAX_COUNT}, or longer than {MAX_BYTES} bytes together")]
    TooMany,
}

/// Adds a header to a request. A `secret` header is never sent to another origin.
///
/// # Errors
/// [`BadHeader`] describes the problem.
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

/// Removes headers that must not be sent to another origin.
pub(super) fn strip_cross_origin_headers(headers: &mut HeaderMap) {
    let kept: HeaderMap = headers
        .drain()
        .filter_map(|(name, value)| Some((name?, value)))
        .filter(|(name, value)| HARMLESS.contains(name) && !value.is_sensitive())
        .collect();
    *headers = kept;
}

/// Removes headers that describe the body.
pub(super) fn strip_body_headers(headers: &mut HeaderMap) {
    for name in
        [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION]
    {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests;
