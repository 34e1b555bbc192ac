//! Limits of the client.

use std::time::Duration;

use super::allow_list::AllowList;

/// Limits of the client.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Hosts and networks that are allowed besides public ones.
    pub allow: AllowList,
    /// Maximum length of a response's body that is read, in bytes.
    pub body_bytes: usize,
    /// Maximum length of a request's body, in bytes.
    pub request_bytes: usize,
    /// Timeout of a DNS lookup.
    pub resolve_timeout: Duration,
    /// Timeout of connecting, including TLS.
    pub connect_timeout: Duration,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            allow: AllowList::default(),
            body_bytes: 1024 * 1024,
            request_bytes: 4 * 1024 * 1024,
            resolve_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(10),
        }
    }
}
