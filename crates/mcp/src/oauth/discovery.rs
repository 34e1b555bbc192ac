//! Discovery of the authorization server of an MCP server: first the resource's metadata (RFC 9728), then the
//! metadata of the authorization server that it names (RFC 8414, OpenID Connect Discovery). Servers of 2025-03-26
//! without metadata use their own origin.

use reqwest::Url;
use serde::de::DeserializeOwned;

use super::address::{canonical_resource_uri, origin, usable_address};
use super::challenge::BearerChallenge;
use super::error::{OauthError, sanitize};
use super::metadata::{
    AuthorizationServer, AuthorizationServerMetadata, MetadataPurpose, ProtectedResourceMetadata,
};
use super::transport::{BufferedResponse, OauthHttpClient, bad_answer, without_query};
use super::well_known::{issuer_metadata_urls, resource_metadata_urls};

/// Maximum number of authorization servers to try for one resource.
const MAX_TRIED: usize = 4;

/// The metadata of a server and of its authorization server.
#[derive(Debug, Clone)]
pub(super) struct DiscoveredMetadata {
    /// Client that reaches only addresses that this server may name.
    pub(super) http: OauthHttpClient,
    /// The resource for token requests (RFC 8707).
    pub(super) resource: String,
    /// The scopes in the server's metadata.
    pub(super) scopes: Option<Vec<String>>,
    /// The authorization server.
    pub(super) server: AuthorizationServer,
    /// True if the server's metadata names the authorization server, false if it is assumed.
    pub(super) is_advertised: bool,
    /// True if the server takes only tokens that are bound to a key (RFC 9728, section 2).
    pub(super) requires_dpop: bool,
}

/// The parameters of a discovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiscoveryRequest<'a> {
    pub(super) challenge: &'a BearerChallenge,
    /// The issuer to use if the server names it.
    pub(super) preferred: Option<&'a str>,
    /// The issuer in the owner's settings, for servers that name none.
    pub(super) configured: Option<&'a str>,
    pub(super) purpose: MetadataPurpose,
}

impl<'a> DiscoveryRequest<'a> {
    /// The discovery for a login or a refresh: the issuer of the last login is preferred.
    pub(super) fn for_login(challenge: &'a BearerChallenge, before: Option<&'a str>) -> Self {
        Self { challenge, preferred: before, configured: None, purpose: MetadataPurpose::Login }
    }
}

/// Discovers the authorization server of a server: the preferred issuer if the server names it, else the first usable
/// one.
pub(super) async fn discover(
    http: &OauthHttpClient,
    server: &Url,
    request: DiscoveryRequest<'_>,
) -> Result<DiscoveredMetadata, OauthError> {
    let http = http.for_server(server);
    let found = fetch_resource_metadata(&http, server, request.challenge).await?;
    let (resource, issuers, scopes, requires_dpop) = match found {
        None => (canonical_resource_uri(server), Vec::new(), None, false),
        Some(it) => {
            (it.resource, it.authorization_servers, it.scopes_supported, it.dpop_bound_access_tokens_required)
        }
    };
    let is_advertised = !issuers.is_empty();
    let at = match request.configured {
        _ if is_advertised => choose_authorization_server(&http, server, &issuers, request).await?,
        Some(issuer) => {
            let found = fetch_authorization_server(&http, issuer, server, request.purpose).await?;
            found.ok_or_else(|| OauthError::NoAuthorizationServer(sanitize(issuer)))?
        }
        None => assume_own_origin(&http, server, request.purpose).await?,
    };
    Ok(DiscoveredMetadata { http, resource, scopes, server: at, is_advertised, requires_dpop })
}

async fn choose_authorization_server(
    http: &OauthHttpClient,
    server: &Url,
    issuers: &[String],
    request: DiscoveryRequest<'_>,
) -> Result<AuthorizationServer, OauthError> {
    let (first, others): (Vec<_>, Vec<_>) =
        issuers.iter().partition(|it| Some(it.as_str()) == request.preferred);
    let mut passing = None;
    for issuer in first.into_iter().chain(others).take(MAX_TRIED) {
        match fetch_authorization_server(http, issuer, server, request.purpose).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) if error.is_transient() => passing = Some(error),
            Err(error) => return Err(error),
        }
    }
    let tried = issuers.iter().take(MAX_TRIED).map(|it| sanitize(it)).collect::<Vec<_>>();
    Err(passing.unwrap_or(OauthError::NoAuthorizationServer(tried.join(", "))))
}

/// Fetches the metadata of the server from the address in its challenge or from the two well-known addresses.
async fn fetch_resource_metadata(
    http: &OauthHttpClient,
    server: &Url,
    challenge: &BearerChallenge,
) -> Result<Option<ProtectedResourceMetadata>, OauthError> {
    if let Some(place) = &challenge.resource_metadata {
        let place = server.join(place).map_or_else(|_| place.clone(), String::from);
        let url = if Url::parse(&place).is_ok_and(|url| url.origin() == server.origin()) {
            Url::parse(&place).map_err(|_| OauthError::Address {
                what: "the resource metadata",
                address: sanitize(&place),
                why: "it is not a URL",
            })?
        } else {
            usable_address("the resource metadata", &place, server)?
        };
        let answer = http.get(&url).await?;
        if let Some(found) = parse_document::<ProtectedResourceMetadata>(&url, &answer)? {
            return found.validate(server).map(Some);
        }
    }
    for url in resource_metadata_urls(server) {
        let answer = http.get(&url).await?;
        if let Some(found) = parse_if_json::<ProtectedResourceMetadata>(&url, &answer)? {
            return found.validate(server).map(Some);
        }
    }
    Ok(None)
}

/// Fetches the metadata of the authorization server with this issuer. Returns `None` if there is none.
pub(super) async fn fetch_authorization_server(
    http: &OauthHttpClient,
    issuer: &str,
    resource: &Url,
    purpose: MetadataPurpose,
) -> Result<Option<AuthorizationServer>, OauthError> {
    let url = usable_address("the authorization server", issuer, resource)?;
    fetch_server_metadata(http, &url, &[issuer], resource, purpose).await
}

async fn fetch_server_metadata(
    http: &OauthHttpClient,
    at: &Url,
    expected: &[&str],
    resource: &Url,
    purpose: MetadataPurpose,
) -> Result<Option<AuthorizationServer>, OauthError> {
    for url in issuer_metadata_urls(at) {
        let answer = http.get(&url).await?;
        if let Some(found) = parse_if_json::<AuthorizationServerMetadata>(&url, &answer)? {
            return found.validate(expected, resource, purpose).map(Some);
        }
    }
    Ok(None)
}

/// Assumes that a server without metadata is its own authorization server, as 2025-03-26 specifies.
async fn assume_own_origin(
    http: &OauthHttpClient,
    server: &Url,
    purpose: MetadataPurpose,
) -> Result<AuthorizationServer, OauthError> {
    let issuer = origin(server);
    let url = usable_address("the authorization server", &issuer, server)?;
    // The issuer is derived here, not quoted, so the form with an explicit empty path is equivalent.
    let spelled = format!("{issuer}/");
    match fetch_server_metadata(http, &url, &[&issuer, &spelled], server, purpose).await? {
        Some(found) => Ok(found),
        None => AuthorizationServer::assumed(server),
    }
}

/// Parses a document at an address where it may be missing. Many servers answer unknown paths with an HTML page.
fn parse_if_json<T: DeserializeOwned>(url: &Url, answer: &BufferedResponse) -> Result<Option<T>, OauthError> {
    match parse_document(url, answer) {
        Err(OauthError::BadAnswer { .. }) => Ok(None),
        found => found,
    }
}

/// Parses a document. Returns `None` if there is none at the address.
pub(super) fn parse_document<T: DeserializeOwned>(
    url: &Url,
    answer: &BufferedResponse,
) -> Result<Option<T>, OauthError> {
    if answer.status.is_server_error() {
        return Err(OauthError::Unreachable {
            url: without_query(url),
            problem: format!("it answers with {}", answer.status.as_u16()),
        });
    }
    if !answer.status.is_success() {
        return Ok(None);
    }
    serde_json::from_slice(&answer.body).map(Some).map_err(|error| {
        bad_answer(url, &format!("the metadata document is invalid: {}", sanitize(&error.to_string())))
    })
}
