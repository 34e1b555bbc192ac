//! Parsers of host names, origins and networks in settings and headers. They depend on nothing else in the
//! gateway, so that settings, TLS and access control can all use them.

pub mod address;

use std::net::IpAddr;

use ipnet::IpNet;

/// Parses an address or a network: `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`.
#[must_use]
pub fn parse_network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(|ip| IpNet::from(ip.to_canonical())))
}
