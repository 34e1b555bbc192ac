//! Under the HTTP: accepted connections, encrypted or not, each counted until the last byte of it is gone,
//! also when it has become a WebSocket.

mod address;
mod connection;
mod faults;
mod refuse;
mod stream;

pub use address::Address;
pub(crate) use connection::{Terms, serve_connection};
pub(crate) use faults::AcceptFaults;
pub(crate) use refuse::Refusing;
pub(crate) use stream::Written;
