//! Finding the authorization server of an MCP server: the resource's metadata (RFC 9728), then the metadata of the
//! authorization server that it names (RFC 8414, OpenID Connect Discovery); for servers of 2025-03-26 that have no
//! metadata of their own, the server's own origin.

use reqwest::Url;
use serde::de::DeserializeOwned;

use super::address::{canonical_resource_uri, origin, usable_address};
use super::challenge::BearerChallenge;
use super::error::{OauthError, sanitize};
use super::metadata::{AuthorizationServer, AuthorizationServerMetadata, ProtectedResourceMetadata};
use super::transport::{BufferedResponse, OauthHttpClient, bad_answer, without_query};
use super::well_known::{issuer_metadata_urls, resource_metadata_urls};

/// No more authorization servers of one resource are tried.
const MAX_TRIED: usize = 4;

/// What a server and its authorization server say of themselves.
#[derive(Debug, Clone)]
pub(super) struct DiscoveredMetadata {
    /// What a token is asked for (RFC 8707).
    pub(super) resource: String,
    /// The scopes that the server's metadata lists.
    pub(super) scopes: Option<Vec<String>>,
    /// Where to sign in.
    pub(super) server: AuthorizationServer,
    /// Whether the server's metadata names that place, or it is only assumed.
    pub(super) is_advertised: bool,
}

/// Finds out where to sign in for this server: at the issuer `before`, where the server still names that one, or else
/// at the first that can be used.
pub(super) async fn discover(
    http: &OauthHttpClient,
    server: &Url,
    challenge: &BearerChallenge,
    before: Option<&str>,
) -> Result<DiscoveredMetadata, OauthError> {
    let Some(found) = fetch_resource_metadata(http, server, challenge).await? else {
        let at = assume_own_origin(http, server).await?;
        return Ok(DiscoveredMetadata {
            resource: canonical_resource_uri(server),
            scopes: None,
            server: at,
            is_advertised: false,
        });
    };
    let ProtectedResourceMetadata { resource, authorization_servers: issuers, scopes_supported: scopes } =
        found;
    if issuers.is_empty() {
        let server = assume_own_origin(http, server).await?;
        return Ok(DiscoveredMetadata { resource, scopes, server, is_advertised: false });
    }
    let (first, others): (Vec<_>, Vec<_>) = issuers.iter().partition(|it| Some(it.as_str()) == before);
    let mut passing = None;
    for issuer in first.into_iter().chain(others).take(MAX_TRIED) {
        match fetch_authorization_server(http, issuer, server).await {
            Ok(Some(server)) => {
                return Ok(DiscoveredMetadata { resource, scopes, server, is_advertised: true });
            }
            Ok(None) => {}
            Err(error) if error.is_transient() => passing = Some(error),
            Err(error) => return Err(error),
        }
    }
    let tried = issuers.iter().take(MAX_TRIED).map(|it| sanitize(it)).collect::<Vec<_>>();
    Err(passing.unwrap_or(OauthError::NoAuthorizationServer(tried.join(", "))))
}

/// The metadata of the server, where its challenge says or at the two well-known places.
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
                why: "it is no address",
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

/// The authorization server with this issuer; none where it has no metadata.
async fn fetch_authorization_server(
    http: &OauthHttpClient,
    issuer: &str,
    resource: &Url,
) -> Result<Option<AuthorizationServer>, OauthError> {
    let url = usable_address("the authorization server", issuer, resource)?;
    fetch_server_metadata(http, &url, &[issuer], resource).await
}

async fn fetch_server_metadata(
    http: &OauthHttpClient,
    at: &Url,
    expected: &[&str],
    resource: &Url,
) -> Result<Option<AuthorizationServer>, OauthError> {
    for url in issuer_metadata_urls(at) {
        let answer = http.get(&url).await?;
        if let Some(found) = parse_if_json::<AuthorizationServerMetadata>(&url, &answer)? {
            return found.validate(expected, resource).map(Some);
        }
    }
    Ok(None)
}

/// What 2025-03-26 says of servers that name no authorization server: they are their own.
async fn assume_own_origin(http: &OauthHttpClient, server: &Url) -> Result<AuthorizationServer, OauthError> {
    let issuer = origin(server);
    let url = usable_address("the authorization server", &issuer, server)?;
    // Here the issuer is derived and not quoted, so the form with the empty path spelled out is the same.
    let spelled = format!("{issuer}/");
    match fetch_server_metadata(http, &url, &[&issuer, &spelled], server).await? {
        Some(found) => Ok(found),
        None => AuthorizationServer::assumed(server),
    }
}

/// Reads a document at a place where it may stand. A page in its stead is what servers answer that know no such path.
fn parse_if_json<T: DeserializeOwned>(url: &Url, answer: &BufferedResponse) -> Result<Option<T>, OauthError> {
    match parse_document(url, answer) {
        Err(OauthError::BadAnswer { .. }) => Ok(None),
        found => found,
    }
}

/// Reads a document; none where there is nothing at its place.
fn parse_document<T: DeserializeOwned>(
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
        bad_answer(
            url,
            &format!("it is not the document that it should be: {}", sanitize(&error.to_string())),
        )
    })
}
