//! A real gateway on a free port, spoken to over real sockets, byte by byte where it matters.

mod errors;
mod hosts;
mod listener;
mod pairing;
mod roles;
mod support;
mod tls;
mod tokens;
