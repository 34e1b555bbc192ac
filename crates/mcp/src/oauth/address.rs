//! Checks of addresses, and the canonical form of the resource of a token (RFC 8707, RFC 9728).

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Url;
use toolway_net::address::{SpecialPurpose, special_purpose};

use super::error::{OauthError, sanitize};

/// Returns true if the host is this computer.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The address that a host is, without a lookup; `None` for other names.
pub(super) fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        url::Host::Ipv4(ip) => Some(IpAddr::V4(ip)),
        url::Host::Ipv6(ip) => Some(IpAddr::V6(ip)),
        url::Host::Domain(_) => is_loopback(url).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    }
}

/// Returns true if a server with addresses of this purpose may name an address of that purpose. A remote server must
/// not cause requests to this computer or to a private network. A server on this computer may use both.
pub(super) fn may_name(server: Option<SpecialPurpose>, named: SpecialPurpose) -> bool {
    use SpecialPurpose::{Loopback, Metadata, Unspecified};
    match server {
        // These addresses return credentials to every program on the computer.
        _ if named == Metadata => false,
        Some(Loopback | Unspecified) => true,
        Some(server) => server == named,
        None => false,
    }
}

/// Checks an address of the authorization server of this resource. It must be https. `http` is allowed only on this
/// computer, and an address that is not public only if the resource itself has such an address. A name is checked
/// when it is resolved ([`super::address_guard`]).
///
/// # Errors
/// [`OauthError::Address`].
pub(super) fn usable_address(what: &'static str, address: &str, resource: &Url) -> Result<Url, OauthError> {
    let wrong = |why| OauthError::Address { what, address: sanitize(address), why };
    let url = Url::parse(address).map_err(|_| wrong("it is not a URL"))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("the host is missing"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it contains a user name or password"));
    }
    let here = is_loopback(&url);
    if url.host() != resource.host()
        && let Some(purpose) = literal_address(&url).and_then(special_purpose)
        && !may_name(literal_address(resource).and_then(special_purpose), purpose)
    {
        return Err(wrong(forbidden_reason(purpose)));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err(wrong("it must be https, or secrets would be sent unencrypted")),
        _ => Err(wrong("it must be https")),
    }
}

/// Describes why a server may not name an address of this purpose.
pub(super) fn forbidden_reason(purpose: SpecialPurpose) -> &'static str {
    match purpose {
        SpecialPurpose::Loopback | SpecialPurpose::Unspecified => {
            "it is on this computer, but the server is not"
        }
        SpecialPurpose::Private | SpecialPurpose::Shared | SpecialPurpose::LinkLocal => {
            "it is in a private network, but the server is not"
        }
        SpecialPurpose::Metadata => "it is the metadata service of a cloud",
        _ => "it is not a public address",
    }
}

/// Checks the address of an MCP server that receives tokens.
///
/// # Errors
/// [`OauthError::Address`].
pub(super) fn server_url(address: &str) -> Result<Url, OauthError> {
    let wrong = |why| OauthError::Address { what: "the server's address", address: sanitize(address), why };
    let mut url = Url::parse(address).map_err(|_| wrong("it is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it is neither http nor https"));
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(wrong("it must be https, or tokens would be sent unencrypted"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// The canonical URI of an MCP server: lower-case scheme and host, no query, no fragment, and no slash alone at its
/// end.
#[must_use]
pub fn canonical_resource_uri(server: &Url) -> String {
    let mut url = server.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Returns true if a token for this resource may be sent to this server: the origin is the same, and the server's
/// path is the resource's path or below it.
#[must_use]
pub fn is_token_allowed(resource: &Url, server: &Url) -> bool {
    if resource.fragment().is_some() || resource.origin() != server.origin() || !resource.origin().is_tuple()
    {
        return false;
    }
    let (of, path) = (resource.path().trim_end_matches('/'), server.path());
    path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The origin of an address, in the form of an issuer.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests;
