//! The addresses of this machine's network interfaces. They change, so they are listed again after a while,
//! but clients that send requests with invented addresses cannot force this.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Time for which an address that was found counts as own.
const HIT_TTL: Duration = Duration::from_secs(60);
/// Time for which an address that was not found counts as foreign.
const MISS_TTL: Duration = Duration::from_secs(5);

type AddressLister = Arc<dyn Fn() -> BTreeSet<IpAddr> + Send + Sync>;

/// A cache of the machine's own addresses.
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
    /// Creates a cache with another function that lists the addresses.
    pub fn new(list: impl Fn() -> BTreeSet<IpAddr> + Send + Sync + 'static) -> Self {
        Self { list: Arc::new(list), cached: tokio::sync::Mutex::new(None) }
    }

    /// Returns true if one of the interfaces has this address.
    pub async fn contains(&self, address: IpAddr) -> bool {
        let mut seen = self.cached.lock().await;
        if let Some((at, addresses)) = &*seen {
            let found = addresses.contains(&address);
            if at.elapsed() < if found { HIT_TTL } else { MISS_TTL } {
                return found;
            }
        }
        let list = Arc::clone(&self.list);
        // A panic in the task means that no address could be listed; the next request tries again.
        let addresses = tokio::task::spawn_blocking(move || list()).await.unwrap_or_default();
        let found = addresses.contains(&address);
        *seen = Some((Instant::now(), addresses));
        found
    }
}

/// Lists the current addresses of all interfaces, including loopback. Blocks briefly.
#[must_use]
pub fn own_addresses() -> BTreeSet<IpAddr> {
    let Ok(networks) = sysinfo::Networks::new_with_refreshed_list() else { return BTreeSet::new() };
    networks.values().flat_map(|it| it.ip_networks()).map(|it| it.addr.to_canonical()).collect()
}

/// Returns the address at which other machines most likely reach this one: prefers private IPv4, then other
/// IPv4, then IPv6. Blocks briefly.
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
                // Container engines use this range for their own bridges.
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
