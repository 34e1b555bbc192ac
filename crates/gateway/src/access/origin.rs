//! Checks the `Host` and `Origin` headers, so that a web page cannot use the gateway of a person who visits
//! it (DNS rebinding, cross-site requests and sockets).

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

use super::forwarded::EffectiveClient;
use super::interfaces::InterfaceAddresses;
use crate::net::address::{UriAuthority, UriHost, WebOrigin};
use crate::settings::Settings;

/// A request whose `Host` or `Origin` is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOrigin {
    /// The header is missing, present several times, or not a host name.
    #[error("the request has no readable Host header")]
    NoHost,
    /// The host is not one of this gateway.
    #[error("this gateway does not answer for the host {0}")]
    Host(String),
    /// The web page may not use this gateway.
    #[error("the web page at {0} may not use this gateway")]
    Origin(String),
}

impl BadOrigin {
    /// Returns the error code for the response.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoHost => "host_missing",
            Self::Host(_) => "host_not_allowed",
            Self::Origin(_) => "origin_not_allowed",
        }
    }

    /// The next step for the user.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoHost => "send one Host header with the gateway's name or address and its port".to_owned(),
            Self::Host(host) => format!(
                "if this name is meant to lead here, add it to the gateway's settings: allowed_hosts = \
                 [\"{host}\"], or set public_url"
            ),
            Self::Origin(origin) => format!(
                "if you trust this page with the gateway's tools, add it to the gateway's settings: \
                 allowed_origins = [\"{origin}\"]"
            ),
        }
    }
}

/// The checked `Host` and `Origin` of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedOrigin {
    /// The host in the request.
    pub host: UriAuthority,
    /// The allowed page of another site that sent the request, if any.
    pub listed_origin: Option<String>,
}

/// The rules from the settings.
#[derive(Debug)]
pub struct OriginRules {
    allowed_hosts: Vec<UriAuthority>,
    allowed_origins: Vec<WebOrigin>,
    public: Option<WebOrigin>,
    interfaces: InterfaceAddresses,
}

impl OriginRules {
    /// Creates the rules from settings that have been validated.
    #[must_use]
    pub fn new(settings: &Settings, interfaces: InterfaceAddresses) -> Self {
        Self {
            allowed_hosts: settings.allowed_hosts.iter().filter_map(|it| UriAuthority::parse(it)).collect(),
            allowed_origins: settings.allowed_origins.iter().filter_map(|it| WebOrigin::parse(it)).collect(),
            public: settings.public_url.as_deref().and_then(WebOrigin::parse),
            interfaces,
        }
    }

    /// Checks the headers of a request that was received at this local address.
    ///
    /// # Errors
    /// [`BadOrigin`] if the request is for another host, or from a page that may not use this gateway.
    pub async fn check(
        &self,
        headers: &HeaderMap,
        target: Option<&str>,
        client: &EffectiveClient,
        local: IpAddr,
    ) -> Result<VerifiedOrigin, BadOrigin> {
        let sent = single_header(headers, &HOST).map_err(|()| BadOrigin::NoHost)?;
        let authorities = [client.forwarded_host.as_deref().or(sent), target];
        let mut host = None;
        // A request line with an absolute URL has a host too. Then both must be valid.
        for text in authorities.into_iter().flatten() {
            let authority = UriAuthority::parse(text).ok_or_else(|| BadOrigin::Host(text.to_owned()))?;
            if !self.is_own_host(&authority, local).await {
                return Err(BadOrigin::Host(authority.to_string()));
            }
            host.get_or_insert(authority);
        }
        let host = host.ok_or(BadOrigin::NoHost)?;
        let listed_origin = self.check_origin(headers, &host, client)?;
        Ok(VerifiedOrigin { host, listed_origin })
    }

    async fn is_own_host(&self, authority: &UriAuthority, local: IpAddr) -> bool {
        if authority.host.is_loopback() || self.is_listed(authority) {
            return true;
        }
        match &authority.host {
            UriHost::Ip(ip) if ip.is_unspecified() => false,
            // The local address of the connection is ours. Other addresses are compared with the interfaces.
            UriHost::Ip(ip) => *ip == local.to_canonical() || self.interfaces.contains(*ip).await,
            UriHost::Name(_) => false,
        }
    }

    fn is_listed(&self, authority: &UriAuthority) -> bool {
        self.public.as_ref().is_some_and(|public| public.host == authority.host)
            || self.allowed_hosts.iter().any(|allowed| {
                allowed.host == authority.host && (allowed.port.is_none() || allowed.port == authority.port)
            })
    }

    fn check_origin(
        &self,
        headers: &HeaderMap,
        host: &UriAuthority,
        client: &EffectiveClient,
    ) -> Result<Option<String>, BadOrigin> {
        let many = || BadOrigin::Origin("(several)".to_owned());
        // Without `Origin`, the client is not a browser, or the request can neither change anything nor be
        // read by a page.
        let Some(text) = single_header(headers, &ORIGIN).map_err(|()| many())? else { return Ok(None) };
        let refused = || BadOrigin::Origin(text.to_owned());
        let origin = WebOrigin::parse(text).ok_or_else(refused)?;
        let scheme = if client.https { "https" } else { "http" };
        if origin == WebOrigin::new(scheme, host.clone()) || self.public.as_ref() == Some(&origin) {
            return Ok(None);
        }
        if self.allowed_origins.contains(&origin) {
            return Ok(Some(text.to_owned()));
        }
        Err(refused())
    }
}

/// Returns the only value of a header, or `None` if the header is missing.
fn single_header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Result<Option<&'a str>, ()> {
    let mut all = headers.get_all(name).into_iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests;
