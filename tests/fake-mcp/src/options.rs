//! Options of the server.

use rmcp::model::ProtocolVersion;

/// Options of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeMcpOptions {
    /// Supported protocol versions, such as `2025-11-25`; empty for all.
    pub versions: Vec<String>,
    /// Page size of lists; `None` for one page.
    pub page_size: Option<usize>,
    /// True to create MCP sessions for clients of versions before 2026-07-28.
    pub sessions: bool,
    /// True to respond with JSON instead of a stream if possible.
    pub json: bool,
    /// Required bearer token.
    pub token: Option<String>,
}

impl Default for FakeMcpOptions {
    fn default() -> Self {
        Self { versions: Vec::new(), page_size: None, sessions: true, json: false, token: None }
    }
}

impl FakeMcpOptions {
    /// Creates options with these versions only.
    #[must_use]
    pub fn with_versions(versions: &[&str]) -> Self {
        Self { versions: versions.iter().map(|version| (*version).to_owned()).collect(), ..Self::default() }
    }

    pub(crate) fn versions(&self) -> Vec<ProtocolVersion> {
        let spoken = |version: &&ProtocolVersion| {
            self.versions.is_empty() || self.versions.iter().any(|named| named == version.as_str())
        };
        ProtocolVersion::KNOWN_VERSIONS.iter().filter(spoken).cloned().collect()
    }
}
