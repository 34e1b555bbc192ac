//! The session of one client.

use std::collections::HashSet;

use parking_lot::Mutex;
use rmcp::model::LoggingLevel;

/// Information from one client of versions before 2026-07-28.
#[derive(Debug, Default)]
pub(crate) struct FakeMcpSession {
    pub(crate) log_level: Mutex<Option<LoggingLevel>>,
    pub(crate) subscribed: Mutex<HashSet<String>>,
}

impl FakeMcpSession {
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscribed.lock().contains(uri)
    }
}
