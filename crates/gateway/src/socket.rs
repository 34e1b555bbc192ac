//! WebSocket connections. [`upgrade`] and [`mcp`] accept them, [`connection`] transfers frames, and [`peer`]
//! passes each message to its handler: [`device`] and [`app_providers`] for peers that offer tools, [`chat`]
//! and [`conversation`] for chat clients. The handlers share a [`context`] and are independent of each other.

mod app_providers;
mod chat;
mod close;
mod connection;
mod context;
mod conversation;
mod device;
mod mcp;
mod peer;
mod questions;
mod shown_turns;
mod tool_provider;
mod turn_refusal;
mod unread_pongs;
mod upgrade;
mod waiting_message;

use axum::Router;

use crate::state::RouterState;

/// Returns the routes of all WebSocket entry points.
pub(crate) fn routes() -> Router<RouterState> {
    upgrade::routes().merge(mcp::routes())
}
