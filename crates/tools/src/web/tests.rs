//! The client against servers on loopback.

mod guard;
mod redirects;
mod tls;
mod transfer;
