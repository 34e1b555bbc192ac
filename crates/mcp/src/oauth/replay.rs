//! Parsing of recorded answers of MCP servers and authorization servers, without a network: for tests and fuzzing.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use reqwest::Url;
use secrecy::SecretString;

use super::address::{server_url, usable_address};
use super::discovery::parse_document;
use super::error::OauthError;
use super::error_response::to_oauth_error;
use super::metadata::{AuthorizationServerMetadata, MetadataPurpose, ProtectedResourceMetadata};
use super::token::{IssuedToken, parse_token_response};
use super::transport::BufferedResponse;
use super::well_known::{issuer_metadata_urls, resource_metadata_urls};

/// Usable metadata of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedServerMetadata {
    /// The addresses that a login uses.
    pub endpoints: Vec<Url>,
}

/// A token response.
#[derive(Debug)]
pub struct ReplayedToken {
    /// The access token.
    pub access_token: SecretString,
    /// The refresh token, if there is one.
    pub refresh_token: Option<SecretString>,
    /// The lifetime in milliseconds, if the server stated it.
    pub life_ms: Option<i64>,
    /// The granted scopes; `None` if they equal the requested ones.
    pub scopes: Option<Vec<String>>,
}

/// Checks the address of an MCP server and returns the addresses of its metadata.
///
/// # Errors
/// [`OauthError::Address`].
pub fn replay_resource_addresses(server: &str) -> Result<Vec<Url>, OauthError> {
    Ok(resource_metadata_urls(&server_url(server)?))
}

/// Checks the issuer of an authorization server that an MCP server names, and returns the addresses of its metadata.
///
/// # Errors
/// [`OauthError::Address`].
pub fn replay_issuer_addresses(issuer: &str, server: &Url) -> Result<Vec<Url>, OauthError> {
    let issuer = usable_address("the authorization server", issuer, server)?;
    Ok(issuer_metadata_urls(&issuer))
}

/// Parses the metadata of an MCP server. Returns the issuers of its authorization servers, or `None` if there is no
/// document.
///
/// # Errors
/// [`OauthError`] if the document is invalid or belongs to another server.
pub fn replay_resource_metadata(
    server: &Url,
    status: StatusCode,
    body: &[u8],
) -> Result<Option<Vec<String>>, OauthError> {
    let found: Option<ProtectedResourceMetadata> = parse_document(server, &response(status, body))?;
    found.map(|found| found.validate(server).map(|valid| valid.authorization_servers)).transpose()
}

/// Parses the metadata of the authorization server with this issuer for a login. Returns `None` if there is no document.
///
/// # Errors
/// [`OauthError`] if the document is invalid or the server is not usable.
pub fn replay_server_metadata(
    issuer: &str,
    server: &Url,
    status: StatusCode,
    body: &[u8],
) -> Result<Option<ReplayedServerMetadata>, OauthError> {
    let found: Option<AuthorizationServerMetadata> = parse_document(server, &response(status, body))?;
    let Some(found) = found else { return Ok(None) };
    let usable = found.validate(&[issuer], server, MetadataPurpose::Login)?;
    let endpoints =
        [usable.authorization, Some(usable.token), usable.registration].into_iter().flatten().collect();
    Ok(Some(ReplayedServerMetadata { endpoints }))
}

/// Parses the response of a token endpoint.
///
/// # Errors
/// [`OauthError`] if it is an error or no usable token.
pub fn replay_token_response(
    endpoint: &Url,
    status: StatusCode,
    body: &[u8],
) -> Result<ReplayedToken, OauthError> {
    let response = response(status, body);
    if !status.is_success() {
        return Err(to_oauth_error(endpoint, &response));
    }
    let IssuedToken { access_token, refresh_token, life_ms, scopes, .. } =
        parse_token_response(endpoint, &response, false)?;
    Ok(ReplayedToken { access_token, refresh_token, life_ms, scopes })
}

fn response(status: StatusCode, body: &[u8]) -> BufferedResponse {
    BufferedResponse { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body) }
}
