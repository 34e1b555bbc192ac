//! Addresses as messages show them.

use reqwest::Url;

/// Host and port, for messages: paths and queries may hold secrets.
pub(super) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
