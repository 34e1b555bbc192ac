//! Resolves a host and checks that its addresses may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::time::timeout;
use toolway_net::DnsResolver;
use toolway_net::address::{SpecialPurpose, is_localhost, is_metadata_name, special_purpose};

use super::allow_list::{AllowList, NameMatch};
use super::error::{WebError, WebErrorKind};
use super::request::WebRequest;
use super::settings::WebSettings;

/// Returns all addresses of a host, to which the connection may go. One forbidden address refuses the host,
/// because a name with both kinds indicates an attack. This computer's own names are an exception, because
/// they are not resolved by a name server.
pub(super) async fn allowed_addresses(
    request: &WebRequest,
    settings: &WebSettings,
    resolver: &dyn DnsResolver,
) -> Result<Vec<SocketAddr>, WebError> {
    let host = request.url.host_str().unwrap_or_default();
    let port = request.url.port_or_known_default().unwrap_or_default();
    let addresses = match literal(host) {
        Some(address) => {
            if !request.own_host {
                check_address(address, port, &settings.allow, false)
                    .map_err(|special| refused(host, "is", special))?;
            }
            vec![address]
        }
        None => allowed_addresses_of_name(host, port, request.own_host, settings, resolver).await?,
    };
    Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

async fn allowed_addresses_of_name(
    host: &str,
    port: u16,
    own: bool,
    settings: &WebSettings,
    resolver: &dyn DnsResolver,
) -> Result<Vec<IpAddr>, WebError> {
    let named = if own { NameMatch::Exact } else { settings.allow.match_name(host, port) };
    if is_metadata_name(host) && named != NameMatch::Exact {
        return Err(refused(host, "is", SpecialPurpose::Metadata));
    }
    let judge =
        |address: &IpAddr| check_address(*address, port, &settings.allow, named != NameMatch::NoMatch);
    if is_localhost(host) {
        let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let open: Vec<_> = own.into_iter().filter(|address| judge(address).is_ok()).collect();
        return if open.is_empty() { Err(refused(host, "is", SpecialPurpose::Loopback)) } else { Ok(open) };
    }
    let found = timeout(settings.resolve_timeout, resolver.resolve(host)).await;
    let found = match found {
        Ok(Ok(found)) if !found.is_empty() => found,
        Ok(Ok(_)) => return Err(unknown(host, "the name has no address")),
        Ok(Err(error)) => return Err(unknown(host, &error.to_string())),
        Err(_) => {
            let waited = settings.resolve_timeout.as_secs_f32();
            return Err(unknown(host, &format!("no name server answered within {waited} s")));
        }
    };
    found.iter().try_for_each(judge).map_err(|special| refused(host, "resolves to", special))?;
    Ok(found)
}

/// Checks an address: it must be public, or allowed itself or by the name that led to it.
fn check_address(address: IpAddr, port: u16, allow: &AllowList, named: bool) -> Result<(), SpecialPurpose> {
    match special_purpose(address) {
        None => Ok(()),
        Some(_) if allow.allows_address(address, port) => Ok(()),
        Some(special) if named && special != SpecialPurpose::Metadata => Ok(()),
        Some(special) => Err(special),
    }
}

/// Creates the error. It omits the address, because the internal address of a name is not public.
fn refused(host: &str, how: &str, special: SpecialPurpose) -> WebError {
    let message = format!("{host} {how} {special}, which is not allowed");
    let example = match special {
        SpecialPurpose::Metadata => "by its address alone, for example \"169.254.169.254\"".to_owned(),
        _ => format!("for example {:?}", host.trim_start_matches('[').trim_end_matches(']')),
    };
    WebError::new(WebErrorKind::Refused, message)
        .with_hint(format!("The owner can allow it with the setting tools.http_request.allow, {example}"))
}

fn unknown(host: &str, why: &str) -> WebError {
    WebError::new(WebErrorKind::Dns, format!("Cannot resolve {host}: {why}"))
}
