//! The HTTP and WebSocket server.
//!
//! [`Gateway::start`] opens the database, binds and serves. A request passes [`listener`] (TLS, limits),
//! [`http::guard`] (hosts and origins) and [`access`] (tokens). Then a handler in [`http`] or a connection in `socket`
//! translates it. All calls go to the engine.
//!
//! The modules form layers, and each uses only those below it: `gateway`; `router`; `http` and `socket`; `state`; the
//! services (`chat`, `mcp`, `sources`, `rules`, `tool_changes`, `access` and others); `settings`; `net`.
//!
//! This crate reads no environment and no settings file. It gets [`Settings`] and the data folder as parameters.

pub mod access;
pub mod api_views;
mod call_recorder;
pub mod chat;
mod fair_task;
mod gateway;
pub mod gateway_tools;
mod grants;
pub mod http;
pub mod lifetime;
pub mod listener;
mod log_limiter;
pub mod mcp;
mod memory_budget;
pub mod metrics;
pub mod net;
mod outbox;
mod page;
mod peer_connection;
mod principal_shares;
mod query_limits;
mod router;
mod rules;
pub mod server;
pub mod settings;
mod short_text;
mod socket;
mod sources;
pub mod state;
#[cfg(test)]
mod testing;
pub mod tls;
mod tool_changes;
mod turn_queue;
mod warnings;

pub use gateway::{ApplySettingsError, Gateway, GatewayOptions, GatewayStartError};
pub use gateway_tools::ToolEnv;
pub use rules::SettingsOrigin;
pub use settings::Settings;
pub use state::{AppState, ReloadError};
