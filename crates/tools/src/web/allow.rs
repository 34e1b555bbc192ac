//! What the owner has opened besides what is public: the setting `tools.http_request.allow`.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use serde::Deserialize;

use super::request::host_of;

/// An entry of the list that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} in the list of allowed hosts {reason}")]
pub struct BadAllow {
    entry: String,
    reason: &'static str,
}

/// Hosts and networks that may be reached although they are not public.
///
/// An entry is a host (`nas.home.arpa`), all hosts below a domain (`*.home.arpa`), an address (`192.168.1.10`,
/// `fd00::10`), a network (`10.0.0.0/8`); hosts and addresses may name a port (`nas.home.arpa:8080`,
/// `[fd00::10]:8080`), and are then open on that port alone. A host opens whatever its name resolves to, with
/// one exception: a metadata service is opened by its address or network only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct AllowList(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Host(String),
    /// With the dot before the domain.
    Below(String),
    Net(IpNet),
}

/// How a name is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    No,
    /// By a `*.` entry.
    Below,
    Itself,
}

impl AllowList {
    /// Reads the entries.
    ///
    /// # Errors
    /// The first that can't be understood.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, BadAllow> {
        let read = |entry: &S| {
            let entry = entry.as_ref().trim();
            parse_entry(entry).map_err(|reason| BadAllow { entry: entry.to_owned(), reason })
        };
        entries.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an address itself, or a network that it is in, is on the list.
    pub(super) fn opens_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        self.on_port(port).any(|what| matches!(what, What::Net(net) if net.contains(&address)))
    }

    /// Whether a host's name (lower case, no dot at the end) is on the list.
    pub(super) fn opens_name(&self, name: &str, port: u16) -> Named {
        let how = |what: &What| match what {
            What::Host(host) if host == name => Named::Itself,
            What::Below(domain) if name.ends_with(domain.as_str()) => Named::Below,
            _ => Named::No,
        };
        let found: Vec<_> = self.on_port(port).map(how).filter(|it| *it != Named::No).collect();
        if found.contains(&Named::Itself) {
            Named::Itself
        } else {
            found.first().copied().unwrap_or(Named::No)
        }
    }

    fn on_port(&self, port: u16) -> impl Iterator<Item = &What> {
        self.0.iter().filter(move |it| it.port.is_none_or(|its| its == port)).map(|it| &it.what)
    }
}

impl TryFrom<Vec<String>> for AllowList {
    type Error = BadAllow;

    fn try_from(entries: Vec<String>) -> Result<Self, BadAllow> {
        Self::parse(&entries)
    }
}

fn parse_entry(entry: &str) -> Result<Entry, &'static str> {
    if let Ok(net) = entry.parse::<IpNet>() {
        return Ok(Entry { what: What::Net(unmapped(net.trunc())), port: None });
    }
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Ok(Entry { what: What::Net(address.to_canonical().into()), port: None });
    }
    if entry.contains('/') {
        return Err("is neither a host nor a network (write example.org, 192.168.1.10 or 10.0.0.0/8)");
    }
    let (host, port) = match entry.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.ends_with(']') => {
            let port = port.parse().ok().filter(|port| *port != 0).ok_or("names no port after its colon")?;
            (host, Some(port))
        }
        _ => (entry, None),
    };
    let below = host.strip_prefix("*.");
    let name = below.unwrap_or(host);
    if name.contains('*') {
        return Err(
            "has a star elsewhere than in front (write *.example.org, or 0.0.0.0/0 and ::/0 for all)",
        );
    }
    let name =
        host_of(name).ok_or("is no host (write example.org, *.example.org, 192.168.1.10 or 10.0.0.0/8)")?;
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let what = match (address, below) {
        (Ok(_), Some(_)) => {
            return Err("has a star in front of an address (write a network, such as 10.0.0.0/8)");
        }
        (Ok(address), None) => What::Net(address.to_canonical().into()),
        (Err(_), Some(_)) => What::Below(format!(".{name}")),
        (Err(_), None) => What::Host(name),
    };
    Ok(Entry { what, port })
}

/// A network of IPv4-mapped addresses is the IPv4 network: addresses are compared in that form.
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
