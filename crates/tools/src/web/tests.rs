//! Tests of the client with loopback servers.

mod guard;
mod redirects;
mod tls;
mod transfer;
