//! WebSocket connections: [`upgrade`] and [`mcp`] let them in, [`connection`] moves frames, [`device`],
//! [`app_providers`], [`chat`] and [`talk`] say what the messages mean.

mod app_providers;
pub(crate) mod chat;
pub(crate) mod close;
pub(crate) mod connection;
mod conversation;
pub(crate) mod device;
mod mcp;
pub(crate) mod peer;
mod questions;
mod registration;
mod upgrade;

pub(crate) use upgrade::routes;
