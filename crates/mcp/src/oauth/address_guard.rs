//! Addresses that requests about one MCP server may reach. The server names its authorization server, and that names
//! its endpoints, so both could send the gateway's requests to the gateway's own computer or network.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::timeout;
use toolway_net::DnsResolver;
use toolway_net::address::{SpecialPurpose, is_localhost, is_metadata_name, special_purpose};

use super::address::{forbidden_reason, literal_address, may_name};

/// Timeout of a name lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Error for an address that the server must not make the gateway reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct ForbiddenAddress(pub(super) &'static str);

/// The addresses that one server may name. Cheap to clone.
#[derive(Clone)]
pub(super) struct AddressGuard {
    server: Arc<Url>,
    resolver: Arc<dyn DnsResolver>,
}

impl AddressGuard {
    pub(super) fn new(server: &Url, resolver: Arc<dyn DnsResolver>) -> Self {
        Self { server: Arc::new(server.clone()), resolver }
    }

    /// Checks a host that is an address or a name of this computer. The connector does not resolve these.
    pub(super) async fn check_literal(&self, url: &Url) -> Result<(), ForbiddenAddress> {
        match literal_address(url) {
            Some(address) if url.host() != self.server.host() => self.check(&[address]).await,
            _ => Ok(()),
        }
    }

    /// Resolves a name and checks all its addresses. One forbidden address refuses the name, because a name with both
    /// kinds indicates an attack.
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Box<dyn Error + Send + Sync>> {
        let found = self.lookup(name).await?;
        let bare = name.trim_end_matches('.').to_ascii_lowercase();
        // The owner chose the server's own name, whatever it leads to.
        if self.server.host_str() == Some(name) {
            return Ok(found);
        }
        if is_metadata_name(&bare) {
            return Err(ForbiddenAddress(forbidden_reason(SpecialPurpose::Metadata)).into());
        }
        self.check(&found).await?;
        Ok(found)
    }

    async fn check(&self, addresses: &[IpAddr]) -> Result<(), ForbiddenAddress> {
        let special: Vec<_> = addresses.iter().copied().filter_map(special_purpose).collect();
        if special.is_empty() {
            return Ok(());
        }
        let server = self.server_purpose().await;
        match special.into_iter().find(|purpose| !may_name(server, *purpose)) {
            Some(purpose) => Err(ForbiddenAddress(forbidden_reason(purpose))),
            None => Ok(()),
        }
    }

    /// Purpose of the server's addresses; `None` if one is public or unknown.
    async fn server_purpose(&self) -> Option<SpecialPurpose> {
        if let Some(address) = literal_address(&self.server) {
            return special_purpose(address);
        }
        let found = self.lookup(self.server.host_str()?).await.ok()?;
        let purposes: Option<Vec<_>> = found.into_iter().map(special_purpose).collect();
        let purposes = purposes?;
        let first = *purposes.first()?;
        purposes.iter().all(|purpose| *purpose == first).then_some(first)
    }

    async fn lookup(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        if is_localhost(name.trim_end_matches('.')) {
            return Ok(vec![IpAddr::from([127, 0, 0, 1]), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)]);
        }
        let late = || std::io::Error::new(std::io::ErrorKind::TimedOut, "no name server answered in time");
        let found = timeout(LOOKUP_TIMEOUT, self.resolver.resolve(name)).await.map_err(|_| late())??;
        if found.is_empty() { Err(std::io::Error::other("the name has no address")) } else { Ok(found) }
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let found = AddressGuard::resolve(&guard, name.as_str()).await?;
            // The connector puts in the port.
            let found: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests;
