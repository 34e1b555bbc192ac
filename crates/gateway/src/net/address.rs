//! Strict parsers of host names, authorities and origins in headers. They reject everything that a browser
//! could interpret differently (user information, paths, unusual number formats of addresses).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host: an IP address, or a name in lower case without its final dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UriHost {
    /// An IP address. IPv4 addresses in IPv6 notation count as IPv4.
    Ip(IpAddr),
    /// A host name.
    Name(String),
}

impl UriHost {
    /// Parses a host without a port; IPv6 addresses are in brackets.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let ip: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Ip(IpAddr::V6(ip).to_canonical()));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Some(Self::Ip(ip.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        (name.len() <= 253 && name.split('.').all(label)).then(|| Self::Name(name.to_ascii_lowercase()))
    }

    /// Returns true if the host can only be this computer: a loopback address, or a name that is never looked
    /// up in DNS.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Ip(ip) => ip.is_loopback(),
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }
}

impl fmt::Display for UriHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Self::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// `host` or `host:port`, as in a `Host` header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UriAuthority {
    /// The host.
    pub host: UriHost,
    /// The port, if present.
    pub port: Option<u16>,
}

impl UriAuthority {
    /// Parses an authority. Returns `None` if the text has any other part.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let end_of_host = match text.find(']') {
            Some(bracket) if text.starts_with('[') => bracket + 1,
            Some(_) => return None,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, rest) = text.split_at_checked(end_of_host)?;
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        Some(Self { host: UriHost::parse(host)?, port })
    }
}

impl fmt::Display for UriAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.host, f)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// `scheme://host[:port]`, as in an `Origin` header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebOrigin {
    /// The scheme, in lower case.
    pub scheme: String,
    /// The host.
    pub host: UriHost,
    /// The port, or the default port of the scheme if there is one.
    pub port: Option<u16>,
}

impl WebOrigin {
    /// Parses an origin. Accepts a single `/` at the end, but nothing else after the port.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        if !fits {
            return None;
        }
        let authority = UriAuthority::parse(rest.strip_suffix('/').unwrap_or(rest))?;
        Some(Self::new(scheme, authority))
    }

    /// Creates the origin of an authority with this scheme.
    #[must_use]
    pub fn new(scheme: &str, authority: UriAuthority) -> Self {
        let scheme = scheme.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            _ => None,
        };
        Self { port: authority.port.or(usual), scheme, host: authority.host }
    }

    /// Returns true if the scheme is `http` or `https`.
    #[must_use]
    pub fn is_web(&self) -> bool {
        matches!(self.scheme.as_str(), "http" | "https")
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match (self.scheme.as_str(), self.port) {
            (_, None) | ("http" | "ws", Some(80)) | ("https" | "wss", Some(443)) => Ok(()),
            (_, Some(port)) => write!(f, ":{port}"),
        }
    }
}

#[cfg(test)]
mod tests;
