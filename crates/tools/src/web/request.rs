//! Requests and their URLs.

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use super::error::{WebError, WebErrorKind};

/// Maximum length of a URL, in bytes.
const MAX_URL: usize = 8 * 1024;

/// A request. [`super::request_header`] adds its headers. After a redirect to another origin, only headers
/// that are harmless and not marked as sensitive are sent.
#[derive(Debug)]
pub struct WebRequest {
    /// The method.
    pub method: Method,
    /// The URL; see [`parse_url`].
    pub url: Url,
    /// The headers, except those that the client sets itself.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// True if the owner chose the URL's host and allows it to be private. The host then counts as allowed
    /// for this request.
    pub own_host: bool,
}

impl WebRequest {
    /// Creates a request without headers and body, to an allowed address.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, own_host: false }
    }
}

/// Parses a URL as browsers do (WHATWG), so that every spelling of an IPv4 address has the same result.
///
/// # Errors
/// Fails if the URL is invalid, is not http or https, or contains a user name.
pub fn parse_url(text: &str) -> Result<Url, WebError> {
    let bad = |message: String| WebError::new(WebErrorKind::BadRequest, message);
    if text.len() > MAX_URL {
        return Err(bad(too_long(text)));
    }
    let url = Url::parse(text).map_err(|error| {
        bad(format!("The URL is invalid: {error}"))
            .with_hint("Use a complete URL, such as https://example.org/path")
    })?;
    normalize_url(url).map_err(bad)
}

/// Normalizes a URL, or describes the problem.
pub(super) fn normalize_url(mut url: Url) -> Result<Url, String> {
    if url.as_str().len() > MAX_URL {
        return Err(too_long(url.as_str()));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("Only http and https URLs are supported, not {}:", cut(url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("The URL contains a user name or password; pass them in a header instead".to_owned());
    }
    if url.port() == Some(0) {
        return Err("Port 0 is invalid".to_owned());
    }
    let host = url.host_str().unwrap_or_default();
    if let Some(shorter) = host.strip_suffix('.').map(str::to_owned) {
        // A trailing dot denotes the root; the name is the same without it.
        url.set_host(Some(&shorter)).map_err(|error| format!("The host of the URL is invalid: {error}"))?;
    }
    match url.host_str() {
        None | Some("") => Err("The URL has no host".to_owned()),
        Some(host) if host.ends_with('.') => Err("The host of the URL ends with several dots".to_owned()),
        Some(_) => {
            url.set_fragment(None);
            Ok(url)
        }
    }
}

/// Normalizes a host as in a URL. None if it is not a host.
pub(super) fn normalize_host(text: &str) -> Option<String> {
    // These characters would end the host or start another part of the URL.
    if text.is_empty() || text.contains(['/', '\\', '?', '#', '@']) {
        return None;
    }
    let url = normalize_url(Url::parse(&format!("http://{text}/")).ok()?).ok()?;
    if url.port().is_some() { None } else { url.host_str().map(str::to_owned) }
}

/// True if scheme, host and port are equal.
#[must_use]
pub fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

fn too_long(text: &str) -> String {
    format!("The URL has {} bytes; at most {MAX_URL} are allowed", text.len())
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(20)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
