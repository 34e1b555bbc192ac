//! MCP servers behind the gateway, as sources of tools: one connection to each, its tools in the registry, and what
//! else it offers for the clients of the gateway.
//!
//! The messages are `rmcp`'s types. What carries them is here, because a gateway needs what a client does not: results
//! and schemas as their server wrote them, what a server sends with one call kept to the client that made it, and a
//! call that costs one request and no task of its own.
//!
//! Nothing here decides who may call what, stores anything, or reads the environment; `authorize` and `secrets` are
//! where tokens and secrets come from.

mod allowed;
mod asked;
pub mod authorize;
mod backoff;
mod call;
mod carrier;
mod client;
mod connection;
mod exchange;
mod fault;
mod follow;
mod frame;
mod handshake;
mod headers;
mod listing;
mod log;
mod meta;
mod offer;
mod open;
mod parts;
mod run;
pub mod secrets;
mod server;
mod status;
mod told;
mod tool;
mod upstreams;
mod wanted;

pub use authorize::{AuthorizeError, Authorizer, NoAuthorizer, Retry};
pub use client::HttpClient;
pub use log::Log;
pub use parts::{HttpMaker, Registered, UpstreamParts, UpstreamSettings};
pub use secrets::{NoSecrets, SecretSource};
pub use server::Upstream;
pub use status::{Era, LeftOut, Problem, State, TransportKind, UpstreamStatus};
pub use upstreams::Upstreams;
