//! Formats URLs for messages.

use reqwest::Url;

/// Host and port of a URL. Messages omit path and query, because they may contain secrets.
pub(super) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
