//! Address of a gateway: `http(s)://host[:port][/prefix]`. `ws(s)://` means the same.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Reason why a gateway address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGatewayUrl {
    /// The text is not an address.
    #[error("{0:?} is not an address; use the form https://gateway.example:7717")]
    Malformed(String),
    /// The scheme is neither HTTP nor WebSocket.
    #[error("{0:?} has no supported scheme; use the form https://gateway.example:7717")]
    Scheme(String),
    /// The address contains a user name or password.
    #[error("the address contains a user name; remove it and pass the token separately")]
    UserInfo,
}

/// Address of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayUrl {
    secure: bool,
    host: String,
    port: u16,
    prefix: String,
}

impl GatewayUrl {
    /// True if the gateway is reached over TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Host name or IP address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port number.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// True if the host is this computer.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => {
                let name = self.host.trim_end_matches('.');
                name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
            }
        }
    }

    /// Path of a resource, such as `/pair`, including the address's prefix.
    pub(crate) fn path(&self, resource: &str) -> String {
        format!("{}{resource}", self.prefix)
    }

    /// Value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default_port(self.secure) { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl FromStr for GatewayUrl {
    type Err = BadGatewayUrl;
    fn from_str(text: &str) -> Result<Self, BadGatewayUrl> {
        let text = text.trim();
        let malformed = || BadGatewayUrl::Malformed(text.to_owned());
        if !text.contains("://") {
            return Err(BadGatewayUrl::Scheme(text.to_owned()));
        }
        let uri: http::Uri = text.parse().map_err(|_| malformed())?;
        let secure = match uri.scheme_str().map(str::to_ascii_lowercase).as_deref() {
            Some("http" | "ws") => false,
            Some("https" | "wss") => true,
            _ => return Err(BadGatewayUrl::Scheme(text.to_owned())),
        };
        let authority = uri.authority().ok_or_else(malformed)?;
        if authority.as_str().contains('@') {
            return Err(BadGatewayUrl::UserInfo);
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(malformed());
        }
        Ok(Self {
            secure,
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or_else(|| default_port(secure)),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

#[cfg(test)]
mod tests;
