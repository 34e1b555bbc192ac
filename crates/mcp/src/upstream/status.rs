//! The status of a server, for the owner's list of servers.

use toolway_types::Slug;

use crate::protocol_era::ProtocolEra;

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamState {
    /// The gateway is connecting.
    Connecting,
    /// The server is connected.
    Connected,
    /// The connection failed. The gateway tries again.
    Failed,
    /// The owner must log in.
    NeedsLogin,
    /// The owner has disabled the server.
    Disabled,
}

impl UpstreamState {
    /// The name of the state.
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

/// The transport of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// Standard input and output of a child process.
    Stdio,
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP with SSE.
    Sse,
}

impl TransportKind {
    /// The name of the transport.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

/// A problem, and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamProblem {
    /// The message. It may contain text of the server.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

/// A tool of a server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTool {
    /// The name as the server wrote it, shortened if it is long.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The status of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamStatus {
    /// The server's name, which is the slug of its source.
    pub slug: Slug,
    /// The command line or address, without secrets.
    pub place: String,
    /// The state of the server.
    pub state: UpstreamState,
    /// The time since which the state holds, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// The time of the next attempt, in milliseconds since the Unix epoch.
    pub next_try_ms: Option<i64>,
    /// The transport, if known.
    pub transport: Option<TransportKind>,
    /// The negotiated protocol version.
    pub protocol_version: Option<String>,
    /// The era of that version.
    pub era: Option<ProtocolEra>,
    /// The server's name in the handshake.
    pub server_name: Option<String>,
    /// The server's version in the handshake.
    pub server_version: Option<String>,
    /// The number of offered tools.
    pub tools: usize,
    /// The number of resources, without templates.
    pub resources: usize,
    /// The number of prompts.
    pub prompts: usize,
    /// The tools that are not offered; incomplete if there are many.
    pub left_out: Vec<SkippedTool>,
    /// The last problem.
    pub problem: Option<UpstreamProblem>,
}
