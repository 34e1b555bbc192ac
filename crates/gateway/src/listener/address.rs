//! The address of a running gateway, for programs on its computer and on others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toolway_wire::pairing::KeyPin;

use crate::access::interfaces::likely_address;

/// Address of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayAddress {
    /// Local address of the listener.
    pub local: SocketAddr,
    /// True if TLS is on.
    pub tls: bool,
    /// Key of the gateway's own certificate, if it uses one.
    pub pin: Option<KeyPin>,
    /// Public URL from the settings.
    pub public_url: Option<String>,
}

impl GatewayAddress {
    /// Returns the URL for programs on this computer.
    #[must_use]
    pub fn own_url(&self) -> String {
        let ip = match self.local.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        self.url_for(ip)
    }

    /// Returns the URL for other computers, as far as it can be determined.
    pub async fn external_url(&self) -> String {
        if let Some(url) = &self.public_url {
            return url.trim_end_matches('/').to_owned();
        }
        if !self.local.ip().is_unspecified() {
            return self.own_url();
        }
        // If no address is found, or listing them panics, the URL for this computer is used.
        let likely = tokio::task::spawn_blocking(likely_address).await.ok().flatten();
        likely.map_or_else(|| self.own_url(), |ip| self.url_for(ip))
    }

    fn url_for(&self, ip: IpAddr) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", SocketAddr::new(ip.to_canonical(), self.local.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(local: &str, public_url: Option<&str>) -> GatewayAddress {
        GatewayAddress {
            local: local.parse().unwrap(),
            tls: true,
            pin: None,
            public_url: public_url.map(str::to_owned),
        }
    }

    #[tokio::test]
    async fn an_address_that_can_be_used() {
        assert_eq!(address("0.0.0.0:7717", None).own_url(), "https://127.0.0.1:7717");
        assert_eq!(address("[::]:7717", None).own_url(), "https://[::1]:7717");
        assert_eq!(address("192.168.1.5:1", None).own_url(), "https://192.168.1.5:1");
        assert_eq!(address("192.168.1.5:1", None).external_url().await, "https://192.168.1.5:1");
        let public = address("0.0.0.0:1", Some("https://tools.example.org/"));
        assert_eq!(public.external_url().await, "https://tools.example.org");
        let found = address("0.0.0.0:1", None).external_url().await;
        assert!(found.starts_with("https://") && !found.contains("0.0.0.0"), "{found}");
    }
}
