//! The dialects in which apps offer tools. All of them are converted to the same tools, results and errors.

use std::fmt;

/// Protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProviderDialect {
    /// CETP version 1: any number of read-only tools behind one authority, JSON arguments.
    Cetp,
    /// MCP for Android, found by its MIME type: one tool per authority, string arguments.
    McpA,
    /// MCP for Android, found by an action.
    McpB,
    /// Found like B, with any number of tools described in one JSON text.
    McpC,
}

impl ProviderDialect {
    /// Returns the name for reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cetp => "cetp",
            Self::McpA => "mcp-a",
            Self::McpB => "mcp-b",
            Self::McpC => "mcp-c",
        }
    }

    /// Returns true if its tools are read-only according to the protocol (CETP, section 1). This is a claim
    /// that nobody verifies.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        self == Self::Cetp
    }
}

impl fmt::Display for ProviderDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
