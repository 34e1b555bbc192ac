//! Accepted connections below HTTP, with or without TLS. Each counts as open until its last byte, also after
//! an upgrade to a WebSocket.

mod accept_backoff;
mod address;
mod connection;
mod refusal;
mod stream;

pub(crate) use accept_backoff::AcceptBackoff;
pub use address::GatewayAddress;
pub(crate) use connection::{ConnectionContext, serve_connection};
pub(crate) use refusal::ConnectionRefusal;
pub(crate) use stream::BytesWritten;
