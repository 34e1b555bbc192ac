//! Under the HTTP: accepted connections, encrypted or not, each counted until the last byte of it is gone,
//! also when it has become a WebSocket.

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
