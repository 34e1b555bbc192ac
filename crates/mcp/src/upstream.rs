//! MCP servers behind the gateway, as sources of tools: one connection to each, its tools in the registry, and what
//! else it offers for the clients of the gateway.
//!
//! The messages are `rmcp`'s types. What carries them is here, because a gateway needs what a client does not: results
//! and schemas as their server wrote them, what a server sends with one call kept to the client that made it, and a
//! call that costs one request and no task of its own.
//!
//! Nothing here decides who may call what, stores anything, or reads the environment; `authorize` and `secrets` are
//! where tokens and secrets come from.

pub mod authorizer;
mod backoff;
mod call;
mod capabilities;
mod change_listener;
mod connection;
mod deps;
mod error;
mod exchange;
mod frame;
mod handshake;
mod headers;
mod http_client;
mod interest;
mod listing;
mod log;
mod manager;
mod meta;
mod offering;
mod open_connection;
mod response_body;
pub mod secrets;
mod server;
mod server_context;
mod status;
mod subscription_requests;
mod supervisor;
mod tool;
mod transport;

pub use authorizer::{AuthorizeError, Authorizer, ChallengeOutcome, NoAuthorizer};
pub use deps::{HttpClientFactory, OnToolsRegistered, UpstreamDeps, UpstreamSettings};
pub use http_client::UpstreamHttpClient;
pub use log::ServerLog;
pub use manager::UpstreamManager;
pub use secrets::{NoSecrets, SecretResolver};
pub use server::Upstream;
pub use status::{ProtocolEra, SkippedTool, TransportKind, UpstreamProblem, UpstreamState, UpstreamStatus};
