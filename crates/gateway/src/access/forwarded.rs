//! Who sent a request, by which scheme and to which host: what the connection says, or what a trusted
//! reverse proxy says with X-Forwarded-For, -Proto and -Host. From anyone else these headers are ignored.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::HeaderName;
use ipnet::IpNet;

use crate::net::parse_network;

/// What the listener knows of a connection. Put into the extensions of each request.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionInfo {
    /// The other end.
    pub peer: SocketAddr,
    /// This end.
    pub local: SocketAddr,
    /// Whether it is encrypted.
    pub tls: bool,
}

/// Who sent a request, proxies taken into account. Put into the extensions of each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveClient {
    /// The address of whoever sent it.
    pub ip: IpAddr,
    /// Whether that one used https.
    pub https: bool,
    /// The `Host` that a trusted proxy was sent.
    pub forwarded_host: Option<String>,
}

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The proxies that are believed.
#[derive(Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// From the setting, whose form has been checked.
    #[must_use]
    pub fn new(networks: &[String]) -> Self {
        Self(networks.iter().filter_map(|text| parse_network(text)).collect())
    }

    /// Who sent a request with these headers over this connection.
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
