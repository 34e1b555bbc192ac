//! MCP for Toolway: a server for MCP clients, and connections to MCP servers.
//!
//! `server` shows callers the tools that they may call, over any transport. `upstream` makes other MCP servers
//! sources of tools. The protocol's types come from `rmcp`. Both sides read and write the messages themselves: specs,
//! arguments and results must stay byte for byte as they were written, and requests of a server must reach only the
//! client that called it ([`client_link`]).
//!
//! All calls go through the engine. Nothing here reads the environment, the home folder or the terminal.

#![allow(
    deprecated,
    reason = "logging, sampling and roots are deprecated in MCP's newest version and part of the older ones"
)]

pub mod client_link;
pub mod definition;
pub mod oauth;
pub mod offering;
mod param_headers;
mod protocol_era;
pub mod server;
pub mod socket;
pub mod upstream;

pub use rmcp;
