//! MCP for Toolway: a server for MCP clients, and connections to MCP servers.
//!
//! `server` shows callers the tools that they may call, over any transport. `upstream` makes other MCP servers
//! sources of tools. The protocol types and the server protocol (versions, sessions, framing) come from `rmcp`; the
//! `upstream` module explains why its transports are our own. This crate adds what a gateway needs: authentication
//! scopes, specs and results that reach the client byte for byte as their source wrote them ([`verbatim`]), and
//! requests of a server that reach only the client that called it ([`client_link`]).
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
pub mod server;
pub mod socket;
pub mod upstream;
pub mod verbatim;

pub use rmcp;
