//! The client of a request, its scheme and its host: those of the connection, or those in the headers X-Forwarded-For,
//! -Proto and -Host of a trusted reverse proxy. From anyone else these headers are ignored.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::HeaderName;
use ipnet::IpNet;

use crate::net::parse_network;

/// The addresses of a connection. The listener puts them into the extensions of each request.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionInfo {
    /// The other end.
    pub peer: SocketAddr,
    /// This end.
    pub local: SocketAddr,
    /// True if it is encrypted.
    pub tls: bool,
}

/// The client of a request, with trusted proxies taken into account. Put into the extensions of each request.
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
    /// Takes the setting, which has been validated.
    #[must_use]
    pub fn new(networks: &[String]) -> Self {
        Self(networks.iter().filter_map(|text| parse_network(text)).collect())
    }

    /// The client that sent a request with these headers over this connection.
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

    /// Each proxy adds at the end whom it was called by, so the list is read from there for as long as it
    /// was written by one that is trusted.
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

/// All values of a header that may be sent as one list or as several, in order.
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

/// An address with or without a port.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.parse::<IpAddr>().ok();
    let ip = bare.or_else(|| text.parse::<SocketAddr>().ok().map(|it| it.ip()))?;
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests;
