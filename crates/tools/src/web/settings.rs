//! Limits of the client.

use std::time::Duration;

use super::allow_list::AllowList;

/// What bounds the client.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// What may be reached besides what is public.
    pub allow: AllowList,
    /// How much of an answer's body is read, in bytes.
    pub body_bytes: usize,
    /// How long a request's body may be, in bytes.
    pub request_bytes: usize,
    /// How long finding a name's addresses may take.
    pub resolve_timeout: Duration,
    /// How long connecting may take, TLS included.
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
