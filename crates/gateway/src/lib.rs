//! The HTTP and WebSocket server.
//!
//! [`Gateway::start`] opens what is kept, binds and serves. A request passes [`listen`] (encryption, bounds),
//! [`http::guard`] (hosts and origins) and [`access`] (tokens) before a handler in [`http`] or a connection
//! in `socket` translates it; calls go to the engine and nowhere else.
//!
//! This crate reads no environment and no settings file: [`Settings`] and the data folder are handed in.

pub mod access;
mod changes;
pub mod chat;
mod files;
mod gateway;
mod grants;
pub mod http;
pub mod listen;
pub mod mcp;
pub mod metrics;
mod page;
mod recording;
mod rules;
pub mod serve;
pub mod settings;
mod socket;
mod sources;
pub mod state;
#[cfg(test)]
mod testing;
pub mod tls;
pub mod toolbox;
mod warnings;

pub use gateway::{ApplyError, Gateway, Options, StartError};
pub use rules::SettingsOrigin;
pub use settings::Settings;
pub use state::{App, ReloadError};
pub use toolbox::ToolSurroundings;
