//! Finds the client, scheme and host of a request: those of the connection, or those in the headers
//! X-Forwarded-For, -Proto and -Host of a trusted reverse proxy. These headers are ignored from anyone else.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::HeaderName;
use ipnet::IpNet;

use crate::net::parse_network;

/// The addresses of a connection. The listener adds them to the extensions of each request.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionInfo {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Address of the gateway that the client connected to.
    pub local: SocketAddr,
    /// True if the connection is encrypted.
    pub tls: bool,
}

/// The client of a request, with trusted proxies taken into account. It is added to the extensions of each
/// request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveClient {
    /// The client's address.
    pub ip: IpAddr,
    /// True if the client used https.
    pub https: bool,
    /// The `Host` header that the client sent to a trusted proxy.
    pub forwarded_host: Option<String>,
}

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The proxies whose headers count.
#[derive(Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Creates the list from the setting, which has been validated.
    #[must_use]
    pub fn new(networks: &[String]) -> Self {
        Self(networks.iter().filter_map(|text| parse_network(text)).collect())
    }

    /// Finds the client that sent a request with these headers over this connection.
    #[must_use]
    pub fn client(&self, connection: &ConnectionInfo, headers: &HeaderMap) -> EffectiveClient {
        let peer = connection.peer.ip().to_canonical();
        if !self.is_trusted(peer) {
            return EffectiveClient { ip: peer, https: connection.tls, forwarded_host: None };
        }
        let https = match last_value(headers, &PROTO) {
            Some(proto) => proto.eq_ignore_ascii_case("https"),
            None => connection.tls,
        };
        EffectiveClient {
            ip: self.first_untrusted(peer, headers),
            https,
            forwarded_host: last_value(headers, &HOST).map(str::to_owned),
        }
    }

    fn is_trusted(&self, ip: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&ip))
    }

    /// Each proxy appends the address of its client, so the list is read from the end, as long as the entries
    /// were written by a trusted proxy.
    fn first_untrusted(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let hops: Vec<&str> = header_values(headers, &FOR).collect();
        let mut nearest = peer;
        for hop in hops.into_iter().rev() {
            let Some(ip) = parse_hop(hop) else { break };
            nearest = ip;
            if !self.is_trusted(ip) {
                break;
            }
        }
        nearest
    }
}

/// Returns all values of a header, in order. The header may be one list or several headers.
fn header_values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

fn last_value<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    header_values(headers, name).last()
}

/// Parses an address with or without a port.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.parse::<IpAddr>().ok();
    let ip = bare.or_else(|| text.parse::<SocketAddr>().ok().map(|it| it.ip()))?;
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests;
