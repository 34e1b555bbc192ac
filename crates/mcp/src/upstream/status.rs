//! How a connection to a server stands, for whoever looks at the list of servers.

use serde::Serialize;
use toolway_types::Slug;

/// Whether a server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// Which of MCP's two ways of connecting a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolEra {
    /// Each request says all that is needed (2026-07-28).
    Stateless,
    /// Begun with `initialize` (up to 2025-11-25).
    Handshake,
}

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// A child's standard input and output.
    Stdio,
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP with SSE.
    Sse,
}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UpstreamProblem {
    /// In words. Part of it may be the server's own.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A tool of a server that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedTool {
    /// Its name, as the server gave it, cut where it is long.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// How one server stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UpstreamStatus {
    /// Its name, which is the slug of its source.
    pub slug: Slug,
    /// Its command line or address, without secrets.
    #[serde(rename = "where")]
    pub place: String,
    /// Whether it can be used.
    pub state: UpstreamState,
    /// Since when, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// When it is tried again, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_ms: Option<i64>,
    /// What carries the messages, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportKind>,
    /// The version that is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Which era that belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<ProtocolEra>,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Which version of itself that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
    /// How many of its tools are offered.
    pub tools: usize,
    /// How many resources it has, templates apart.
    pub resources: usize,
    /// How many prompts it has.
    pub prompts: usize,
    /// Those of its tools that are not offered; not all of them where they are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<SkippedTool>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<UpstreamProblem>,
}
