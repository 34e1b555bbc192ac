//! Hosts and networks that the owner allows besides public ones: the setting `tools.http_request.allow`.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use serde::Deserialize;

use super::request::normalize_host;

/// An invalid entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} in the list of allowed hosts {reason}")]
pub struct BadAllowEntry {
    entry: String,
    reason: &'static str,
}

/// Hosts and networks that may be reached although they are not public.
///
/// An entry is a host (`nas.home.arpa`), all hosts below a domain (`*.home.arpa`), an address
/// (`192.168.1.10`, `fd00::10`) or a network (`10.0.0.0/8`). Hosts and addresses may have a port
/// (`nas.home.arpa:8080`, `[fd00::10]:8080`), which restricts them to that port. A host allows all addresses
/// of its name, with one exception: a metadata service is only allowed by its address or network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct AllowList(Vec<AllowEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowEntry {
    target: AllowTarget,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowTarget {
    Host(String),
    /// Domain with a leading dot.
    Subdomains(String),
    Net(IpNet),
}

/// Kind of match of a name with the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameMatch {
    NoMatch,
    /// The name matches a `*.` entry.
    Subdomain,
    Exact,
}

impl AllowList {
    /// Parses the entries.
    ///
    /// # Errors
    /// Fails at the first invalid entry.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, BadAllowEntry> {
        let read = |entry: &S| {
            let entry = entry.as_ref().trim();
            parse_entry(entry).map_err(|reason| BadAllowEntry { entry: entry.to_owned(), reason })
        };
        entries.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// True if the list contains the address or a network around it.
    pub(super) fn allows_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        self.targets_on_port(port).any(|what| matches!(what, AllowTarget::Net(net) if net.contains(&address)))
    }

    /// Matches a host name (lower case, no trailing dot) with the list.
    pub(super) fn match_name(&self, name: &str, port: u16) -> NameMatch {
        let how = |what: &AllowTarget| match what {
            AllowTarget::Host(host) if host == name => NameMatch::Exact,
            AllowTarget::Subdomains(domain) if name.ends_with(domain.as_str()) => NameMatch::Subdomain,
            _ => NameMatch::NoMatch,
        };
        let found: Vec<_> =
            self.targets_on_port(port).map(how).filter(|it| *it != NameMatch::NoMatch).collect();
        if found.contains(&NameMatch::Exact) {
            NameMatch::Exact
        } else {
            found.first().copied().unwrap_or(NameMatch::NoMatch)
        }
    }

    fn targets_on_port(&self, port: u16) -> impl Iterator<Item = &AllowTarget> {
        self.0.iter().filter(move |it| it.port.is_none_or(|its| its == port)).map(|it| &it.target)
    }
}

impl TryFrom<Vec<String>> for AllowList {
    type Error = BadAllowEntry;

    fn try_from(entries: Vec<String>) -> Result<Self, BadAllowEntry> {
        Self::parse(&entries)
    }
}

fn parse_entry(entry: &str) -> Result<AllowEntry, &'static str> {
    if let Ok(net) = entry.parse::<IpNet>() {
        return Ok(AllowEntry { target: AllowTarget::Net(unmapped(net.trunc())), port: None });
    }
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Ok(AllowEntry { target: AllowTarget::Net(address.to_canonical().into()), port: None });
    }
    if entry.contains('/') {
        return Err("is neither a host nor a network (write example.org, 192.168.1.10 or 10.0.0.0/8)");
    }
    let (host, port) = match entry.rsplit_once(':') {
        // Colons inside the brackets belong to the address.
        Some((host, port)) if !port.ends_with(']') => {
            let port =
                port.parse().ok().filter(|port| *port != 0).ok_or("has no valid port after its colon")?;
            (host, Some(port))
        }
        _ => (entry, None),
    };
    let below = host.strip_prefix("*.");
    let name = below.unwrap_or(host);
    if name.contains('*') {
        return Err(
            "has a star that is not at the start (write *.example.org, or 0.0.0.0/0 and ::/0 for all)",
        );
    }
    let name = normalize_host(name)
        .ok_or("is not a host (write example.org, *.example.org, 192.168.1.10 or 10.0.0.0/8)")?;
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let what = match (address, below) {
        (Ok(_), Some(_)) => {
            return Err("has a star before an address (write a network, such as 10.0.0.0/8)");
        }
        (Ok(address), None) => AllowTarget::Net(address.to_canonical().into()),
        (Err(_), Some(_)) => AllowTarget::Subdomains(format!(".{name}")),
        (Err(_), None) => AllowTarget::Host(name),
    };
    Ok(AllowEntry { target: what, port })
}

/// Converts a network of IPv4-mapped addresses to IPv4, the form in which addresses are compared.
fn unmapped(net: IpNet) -> IpNet {
    match net {
        IpNet::V6(inner) => inner
            .addr()
            .to_ipv4_mapped()
            .and_then(|address| Ipv4Net::new(address, inner.prefix_len().checked_sub(96)?).ok())
            .map_or(net, IpNet::V4),
        IpNet::V4(_) => net,
    }
}

#[cfg(test)]
mod tests;
