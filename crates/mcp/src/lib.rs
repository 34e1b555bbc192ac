//! MCP for Toolway, out and in.
//!
//! `server` shows a caller the tools that they may call, over whatever transport carries it. `upstream` makes
//! other MCP servers sources of tools. The protocol's types are `rmcp`'s, and so is the serving of it (versions,
//! sessions, framing); `upstream` says why it carries messages itself. The rest is what a gateway adds: who calls and
//! what they see, that specs and results reach the client as their source wrote them ([`verbatim`]), and that what a
//! server asks of the client that called ([`link`]) reaches that client alone.
//!
//! Calls go through the engine, as anybody's do. Nothing here reads the environment, the home folder or the terminal.

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
