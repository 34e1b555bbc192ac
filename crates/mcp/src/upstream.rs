//! MCP servers behind the gateway as sources of tools: one connection to each, its tools in the registry, and its
//! other features for the gateway's clients.
//!
//! The message types come from `rmcp`, the transports are our own. A gateway has needs that the client of `rmcp` does
//! not meet: results and schemas stay byte for byte as the server wrote them, messages of a server during a call
//! reach only the client that made it, and a call costs one request and no task.
//!
//! Nothing here checks permissions, stores data, or reads the environment. Tokens come from [`authorizer`], secrets
//! from [`secrets`].

pub mod authorizer;
mod backoff;
mod call;
mod capabilities;
mod change_listener;
mod client_connection;
mod client_group;
mod connection;
mod deps;
mod error;
mod exchange;
mod frame;
mod handshake;
mod http_client;
mod interest;
mod listing;
mod log;
mod log_level;
mod manager;
mod meta;
mod offering;
mod older_connection;
mod older_supervisor;
mod open_connection;
mod response_body;
mod secrets;
mod server;
mod server_context;
mod status;
mod subscription_requests;
mod supervisor;
mod task_requirement;
mod tool;
mod transport;

pub use crate::protocol_era::ProtocolEra;
pub use authorizer::{AuthorizeError, Authorizer, ChallengeOutcome, NoAuthorizer};
pub use deps::{HttpClientFactory, OnToolsRegistered, UpstreamDeps, UpstreamSettings};
pub use http_client::UpstreamHttpClient;
pub use log::ServerLog;
pub use manager::UpstreamManager;
pub use server::Upstream;
pub use status::{SkippedTool, TransportKind, UpstreamProblem, UpstreamState, UpstreamStatus};
