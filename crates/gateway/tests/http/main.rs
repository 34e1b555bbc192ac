//! A real gateway on a free port, spoken to over real sockets, byte by byte where it matters.

#[cfg(test)]
mod calls;
mod errors;
mod hosts;
mod listener;
mod pairing;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
mod tokens;
