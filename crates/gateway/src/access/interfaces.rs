//! The addresses of this machine's own network interfaces. They come and go, so they are asked for again,
//! but not at the pace of whoever sends requests with made-up addresses.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// How long an address that was found stays believed.
const HIT_TTL: Duration = Duration::from_secs(60);
/// How long an address that was not found stays unknown.
const MISS_TTL: Duration = Duration::from_secs(5);

type AddressLister = Arc<dyn Fn() -> BTreeSet<IpAddr> + Send + Sync>;

/// The machine's own addresses, as of a moment ago.
pub struct InterfaceAddresses {
    list: AddressLister,
    cached: tokio::sync::Mutex<Option<(Instant, BTreeSet<IpAddr>)>>,
}

impl fmt::Debug for InterfaceAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterfaceAddresses").finish_non_exhaustive()
    }
}

impl Default for InterfaceAddresses {
    fn default() -> Self {
        Self::new(own_addresses)
    }
}

impl InterfaceAddresses {
    /// With another way to list them.
    pub fn new(list: impl Fn() -> BTreeSet<IpAddr> + Send + Sync + 'static) -> Self {
        Self { list: Arc::new(list), cached: tokio::sync::Mutex::new(None) }
    }

    /// Whether one of the interfaces has this address.
    pub async fn contains(&self, address: IpAddr) -> bool {
        let mut seen = self.cached.lock().await;
        if let Some((at, addresses)) = &*seen {
            let found = addresses.contains(&address);
            if at.elapsed() < if found { HIT_TTL } else { MISS_TTL } {
                return found;
            }
        }
        let list = Arc::clone(&self.list);
        // A panic in there means that nothing could be listed; the next request tries again.
        let addresses = tokio::task::spawn_blocking(move || list()).await.unwrap_or_default();
        let found = addresses.contains(&address);
        *seen = Some((Instant::now(), addresses));
        found
    }
}

/// The addresses of all interfaces now, loopback included. Blocks shortly.
#[must_use]
pub fn own_addresses() -> BTreeSet<IpAddr> {
    let Ok(networks) = sysinfo::Networks::new_with_refreshed_list() else { return BTreeSet::new() };
    networks.values().flat_map(|it| it.ip_networks()).map(|it| it.addr.to_canonical()).collect()
}

/// The address at which other machines most likely reach this one: a private one of version 4 before any
/// other of version 4, before one of version 6. Blocks shortly.
#[must_use]
pub fn likely_address() -> Option<IpAddr> {
    most_likely(own_addresses())
}

fn most_likely(addresses: BTreeSet<IpAddr>) -> Option<IpAddr> {
    addresses
        .into_iter()
        .filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
        .filter_map(|ip| {
            let rank = match ip {
                IpAddr::V4(v4) if v4.is_link_local() => return None,
                // The range that container engines take for their own bridges.
                IpAddr::V4(v4) if v4.octets().starts_with(&[172]) && v4.is_private() => 1,
                IpAddr::V4(v4) if v4.is_private() => 0,
                IpAddr::V4(_) => 2,
                IpAddr::V6(v6) if v6.is_unicast_link_local() => return None,
                IpAddr::V6(_) => 3,
            };
            Some((rank, ip))
        })
        .min()
        .map(|(_, ip)| ip)
}

#[cfg(test)]
mod tests;
