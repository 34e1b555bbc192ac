//! Parses listen addresses in the forms that people type.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default port.
pub const DEFAULT_PORT: u16 = 7717;

/// An address to listen on, for example `127.0.0.1`, `0.0.0.0:7717`, `[::]:0`, `::1` or `localhost:8000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct ListenAddress(pub SocketAddr);

/// Error for a text that is not a listen address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address to listen on; write an IP address with or without a port, like 127.0.0.1:7717, \
     0.0.0.0 or [::]:7717"
)]
pub struct BadListenAddress(String);

impl ListenAddress {
    /// Returns true if only this computer can reach the address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), DEFAULT_PORT))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for ListenAddress {
    type Err = BadListenAddress;
    fn from_str(text: &str) -> Result<Self, BadListenAddress> {
        let text = text.trim();
        let bad = || BadListenAddress(text.to_owned());
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self(address));
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self(SocketAddr::new(ip, DEFAULT_PORT)));
        }
        if let Some(ip) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let ip = ip.parse::<Ipv6Addr>().map_err(|_| bad())?;
            return Ok(Self(SocketAddr::new(ip.into(), DEFAULT_PORT)));
        }
        let port = match text.strip_prefix("localhost").ok_or_else(bad)? {
            "" => DEFAULT_PORT,
            rest => rest.strip_prefix(':').and_then(|port| port.parse().ok()).ok_or_else(bad)?,
        };
        Ok(Self(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)))
    }
}

impl Serialize for ListenAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
