//! Resolves host names.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Maximum number of concurrent lookups, because each blocks a thread until the system answers.
const MAX_CONCURRENT_LOOKUPS: usize = 64;

/// Resolves host names. The client sets the timeout.
#[async_trait]
pub trait DnsResolver: Send + Sync + 'static {
    /// Returns all addresses of a name, in the order of preference.
    ///
    /// # Errors
    /// Fails if the name has no address, or the lookup fails.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolver of the operating system.
#[derive(Debug, Clone)]
pub struct SystemResolver(Arc<Semaphore>);

impl Default for SystemResolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)))
    }
}

#[async_trait]
impl DnsResolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let ask = move || {
            // The blocking thread owns the permit, because the caller may be gone long before the lookup
            // ends.
            let _permit = permit;
            let found = (name.as_str(), 0).to_socket_addrs()?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        };
        tokio::task::spawn_blocking(ask).await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_computer_and_no_name_without_meaning() {
        let resolver = SystemResolver::default();
        let found = resolver.resolve("localhost").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
        assert!(resolver.resolve("").await.is_err());
    }
}
