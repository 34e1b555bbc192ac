//! How a connection to a server stands, for whoever looks at the list of servers.

use toolway_types::Slug;

/// Whether a server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamState {
    /// It is being connected to.
    Connecting,
    /// It can be used.
    Connected,
    /// It can't; it is tried again.
    Failed,
    /// It can't until its owner logs in.
    NeedsLogin,
    /// Its owner wants it left alone.
    Disabled,
}

impl UpstreamState {
    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::NeedsLogin => "needs_login",
            Self::Disabled => "disabled",
        }
    }
}

/// Which of MCP's two ways of connecting a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolEra {
    /// Each request says all that is needed (2026-07-28).
    Stateless,
    /// Begun with `initialize` (up to 2025-11-25).
    Handshake,
}

impl ProtocolEra {
    /// The era's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Handshake => "handshake",
        }
    }
}

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// A child's standard input and output.
    Stdio,
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP with SSE.
    Sse,
}

impl TransportKind {
    /// The transport's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamProblem {
    /// In words. Part of it may be the server's own.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A tool of a server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// Its name, as the server gave it, cut where it is long.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// How one server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// Its name, which is the slug of its source.
    pub slug: Slug,
    /// Its command line or address, without secrets.
    pub place: String,
    /// Whether it can be used.
    pub state: UpstreamState,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// When it is tried again, in milliseconds since the Unix epoch.
    pub next_try_ms: Option<i64>,
    /// What carries the messages, as far as it is known.
    pub transport: Option<TransportKind>,
    /// The version that is spoken.
    pub protocol_version: Option<String>,
    /// Which era that belongs to.
    pub era: Option<ProtocolEra>,
    /// What it calls itself.
    pub server_name: Option<String>,
    /// Which version of itself that is.
    pub server_version: Option<String>,
    /// How many of its tools are offered.
    pub tools: usize,
    /// How many resources it has, templates apart.
    pub resources: usize,
    /// How many prompts it has.
    pub prompts: usize,
    /// Those of its tools that are not offered; not all of them where they are many.
    pub left_out: Vec<SkippedTool>,
    /// What went wrong last.
    pub problem: Option<UpstreamProblem>,
}
