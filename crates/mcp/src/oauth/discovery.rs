//! Finding the authorization server of an MCP server: the resource's metadata (RFC 9728), then the metadata of the
//! authorization server that it names (RFC 8414, OpenID Connect Discovery); for servers of 2025-03-26 that have no
//! metadata of their own, the server's own origin.

use reqwest::Url;
use serde::de::DeserializeOwned;

use super::address::{canonical, origin, usable};
use super::challenge::Challenge;
use super::error::{OauthError, theirs};
use super::metadata::{AuthorizationServer, ProtectedResource, ServerDocument};
use super::transport::{Answer, OauthHttp, bad};

/// No more authorization servers of one resource are tried.
const MAX_TRIED: usize = 4;

/// What a server and its authorization server say of themselves.
#[derive(Debug, Clone)]
pub(super) struct Discovered {
    /// What a token is asked for (RFC 8707).
    pub(super) resource: String,
    /// The scopes that the server's metadata lists.
    pub(super) scopes: Option<Vec<String>>,
    /// Where to sign in.
    pub(super) server: AuthorizationServer,
    /// Whether the server's metadata names that place, or it is only assumed.
    pub(super) named: bool,
}

/// Finds out where to sign in for this server: at the issuer `before`, where the server still names that one, or else
/// at the first that can be used.
pub(super) async fn discover(
    http: &OauthHttp,
    server: &Url,
    challenge: &Challenge,
    before: Option<&str>,
) -> Result<Discovered, OauthError> {
    let Some(found) = protected_resource(http, server, challenge).await? else {
        let at = at_own_origin(http, server).await?;
        return Ok(Discovered { resource: canonical(server), scopes: None, server: at, named: false });
    };
    let ProtectedResource { resource, authorization_servers: issuers, scopes_supported: scopes } = found;
    if issuers.is_empty() {
        let server = at_own_origin(http, server).await?;
        return Ok(Discovered { resource, scopes, server, named: false });
    }
    let (first, others): (Vec<_>, Vec<_>) = issuers.iter().partition(|it| Some(it.as_str()) == before);
    let mut passing = None;
    for issuer in first.into_iter().chain(others).take(MAX_TRIED) {
        match authorization_server(http, issuer, server).await {
            Ok(Some(server)) => return Ok(Discovered { resource, scopes, server, named: true }),
            Ok(None) => {}
            Err(error) if error.is_passing() => passing = Some(error),
            Err(error) => return Err(error),
        }
    }
    let tried = issuers.iter().take(MAX_TRIED).map(|it| theirs(it)).collect::<Vec<_>>();
    Err(passing.unwrap_or(OauthError::NoAuthorizationServer(tried.join(", "))))
}

/// The metadata of the server, where its challenge says or at the two well-known places.
async fn protected_resource(
    http: &OauthHttp,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, OauthError> {
    if let Some(place) = &challenge.resource_metadata {
        let place = server.join(place).map_or_else(|_| place.clone(), String::from);
        let url = if Url::parse(&place).is_ok_and(|url| url.origin() == server.origin()) {
            Url::parse(&place).map_err(|_| OauthError::Address {
                what: "the resource metadata",
                address: theirs(&place),
                why: "it is no address",
            })?
        } else {
            usable("the resource metadata", &place, server)?
        };
        let answer = http.get(&url).await?;
        if let Some(found) = document::<ProtectedResource>(&url, &answer)? {
            return found.of(server).map(Some);
        }
    }
    for url in resource_places(server) {
        let answer = http.get(&url).await?;
        if let Some(found) = guessed::<ProtectedResource>(&url, &answer)? {
            return found.of(server).map(Some);
        }
    }
    Ok(None)
}

/// Where the metadata of a resource stands: with the path put after the well-known one, and at the root.
fn resource_places(server: &Url) -> Vec<Url> {
    places(server, &["/.well-known/oauth-protected-resource{path}", "/.well-known/oauth-protected-resource"])
}

/// Where the metadata of an issuer stands, in the order of MCP's "Authorization Server Metadata Discovery".
pub(super) fn issuer_places(issuer: &Url) -> Vec<Url> {
    places(
        issuer,
        &[
            "/.well-known/oauth-authorization-server{path}",
            "/.well-known/openid-configuration{path}",
            "{path}/.well-known/openid-configuration",
        ],
    )
}

fn places(of: &Url, forms: &[&str]) -> Vec<Url> {
    let path = of.path().trim_end_matches('/');
    let mut places = Vec::new();
    for form in forms {
        let mut url = of.clone();
        url.set_query(None);
        url.set_fragment(None);
        url.set_path(&form.replace("{path}", path));
        if !places.contains(&url) {
            places.push(url);
        }
    }
    places
}

/// The authorization server with this issuer; none where it has no metadata.
async fn authorization_server(
    http: &OauthHttp,
    issuer: &str,
    resource: &Url,
) -> Result<Option<AuthorizationServer>, OauthError> {
    let url = usable("the authorization server", issuer, resource)?;
    server_document(http, &url, &[issuer], resource).await
}

async fn server_document(
    http: &OauthHttp,
    at: &Url,
    expected: &[&str],
    resource: &Url,
) -> Result<Option<AuthorizationServer>, OauthError> {
    for url in issuer_places(at) {
        let answer = http.get(&url).await?;
        if let Some(found) = guessed::<ServerDocument>(&url, &answer)? {
            return found.of(expected, resource).map(Some);
        }
    }
    Ok(None)
}

/// What 2025-03-26 says of servers that name no authorization server: they are their own.
async fn at_own_origin(http: &OauthHttp, server: &Url) -> Result<AuthorizationServer, OauthError> {
    let issuer = origin(server);
    let url = usable("the authorization server", &issuer, server)?;
    // Here the issuer is derived and not quoted, so the form with the empty path spelled out is the same.
    let spelled = format!("{issuer}/");
    match server_document(http, &url, &[&issuer, &spelled], server).await? {
        Some(found) => Ok(found),
        None => AuthorizationServer::assumed(server),
    }
}

/// Reads a document at a place where it may stand. A page in its stead is what servers answer that know no such path.
fn guessed<T: DeserializeOwned>(url: &Url, answer: &Answer) -> Result<Option<T>, OauthError> {
    match document(url, answer) {
        Err(OauthError::BadAnswer { .. }) => Ok(None),
        found => found,
    }
}

/// Reads a document; none where there is nothing at its place.
fn document<T: DeserializeOwned>(url: &Url, answer: &Answer) -> Result<Option<T>, OauthError> {
    if answer.status.is_server_error() {
        return Err(OauthError::Unreachable {
            url: super::transport::shown(url),
            problem: format!("it answers with {}", answer.status.as_u16()),
        });
    }
    if !answer.status.is_success() {
        return Ok(None);
    }
    serde_json::from_slice(&answer.body).map(Some).map_err(|error| {
        bad(url, &format!("it is not the document that it should be: {}", theirs(&error.to_string())))
    })
}

#[cfg(test)]
mod tests;
