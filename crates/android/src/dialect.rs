//! The dialects in which apps offer tools. One list of tools, one kind of result and one set of errors comes
//! out, whichever went in.

use std::fmt;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProviderDialect {
    /// CETP version 1: any number of read-only tools behind one authority, JSON arguments.
    Cetp,
    /// MCP for Android, found by its MIME type: one tool an authority, string arguments.
    McpA,
    /// The same found by an action.
    McpB,
    /// Found as B is, with any number of tools described in one JSON text.
    McpC,
}

impl ProviderDialect {
    /// The word for it in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cetp => "cetp",
            Self::McpA => "mcp-a",
            Self::McpB => "mcp-b",
            Self::McpC => "mcp-c",
        }
    }

    /// Whether its tools only read, by the protocol's own rule (CETP, section 1). It is a claim: nobody checks it.
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
