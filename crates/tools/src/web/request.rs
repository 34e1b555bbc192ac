//! What is asked for.

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use super::error::{WebError, WebErrorKind};

/// How long an address may be, in bytes.
const MAX_URL: usize = 8 * 1024;

/// One request. Its headers come from [`super::request_header`]; those marked sensitive, and all that are not
/// known to be harmless, stay behind when a redirect leads to another origin.
#[derive(Debug)]
pub struct WebRequest {
    /// The method.
    pub method: Method,
    /// The address; see [`parse_url`].
    pub url: Url,
    /// The headers, without those that the client sets itself.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Whether the owner chose the address's host and lets it be a private one: it is then open as if it were
    /// on the list of allowed hosts, for this request.
    pub own_host: bool,
}

impl WebRequest {
    /// Without headers or body, to where anybody may go.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, own_host: false }
    }
}

/// Reads an address, in the way of browsers (WHATWG), so that an IPv4 address has one spelling in the end
/// however it was written.
///
/// # Errors
/// Where it is none, is not http or https, or has a user's name in it.
pub fn parse_url(text: &str) -> Result<Url, WebError> {
    let bad = |message: String| WebError::new(WebErrorKind::BadRequest, message);
    if text.len() > MAX_URL {
        return Err(bad(too_long(text)));
    }
    let url = Url::parse(text).map_err(|error| {
        bad(format!("The address can't be understood: {error}"))
            .with_hint("Write a whole address, such as https://example.org/path")
    })?;
    normalize_url(url).map_err(bad)
}

/// An address with one spelling, or what is wrong with it.
pub(super) fn normalize_url(mut url: Url) -> Result<Url, String> {
    if url.as_str().len() > MAX_URL {
        return Err(too_long(url.as_str()));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("Only http and https addresses can be requested, not {}:", cut(url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("The address has a user name or password in it; they belong into a header".to_owned());
    }
    if url.port() == Some(0) {
        return Err("Nothing can be reached on port 0".to_owned());
    }
    let host = url.host_str().unwrap_or_default();
    if let Some(shorter) = host.strip_suffix('.').map(str::to_owned) {
        // The name from the root of all names; it is the same one.
        url.set_host(Some(&shorter)).map_err(|error| format!("The address has no usable host: {error}"))?;
    }
    match url.host_str() {
        None | Some("") => Err("The address names no host".to_owned()),
        Some(host) if host.ends_with('.') => Err("The address's host ends in dots".to_owned()),
        Some(_) => {
            url.set_fragment(None);
            Ok(url)
        }
    }
}

/// A host alone, in the spelling that addresses have it in; none where it is no host.
pub(super) fn normalize_host(text: &str) -> Option<String> {
    // What would end the host, or begin something else, is not part of one.
    if text.is_empty() || text.contains(['/', '\\', '?', '#', '@']) {
        return None;
    }
    let url = normalize_url(Url::parse(&format!("http://{text}/")).ok()?).ok()?;
    if url.port().is_some() { None } else { url.host_str().map(str::to_owned) }
}

/// Whether scheme, host and port are the same: what a server's word and its credentials are good for.
#[must_use]
pub fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

fn too_long(text: &str) -> String {
    format!("The address has {} bytes; at most {MAX_URL} are allowed", text.len())
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(20)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
