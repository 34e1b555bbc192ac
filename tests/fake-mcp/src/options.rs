//! What a test wants otherwise.

use rmcp::model::ProtocolVersion;

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeMcpOptions {
    /// The versions of the protocol that it speaks, such as `2025-11-25`; all of them where none is named.
    pub versions: Vec<String>,
    /// How many entries a page of a list has; all of them where nothing is said.
    pub page_size: Option<usize>,
    /// Whether clients of the versions before 2026-07-28 get an MCP session.
    pub sessions: bool,
    /// Whether answers are JSON rather than a stream where they can be.
    pub json: bool,
    /// The bearer token that requests must carry.
    pub token: Option<String>,
}

impl Default for FakeMcpOptions {
    fn default() -> Self {
        Self { versions: Vec::new(), page_size: None, sessions: true, json: false, token: None }
    }
}

impl FakeMcpOptions {
    /// One that speaks these versions only.
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
