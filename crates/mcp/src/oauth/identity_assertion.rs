//! Token exchange at a company's identity provider (RFC 8693): the token of a person becomes an assertion for the
//! authorization server of an MCP server ("Identity Assertion JWT Authorization Grant", MCP extension
//! "Enterprise-Managed Authorization").

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::address::usable_address;
use super::client_registration::given_client;
use super::client_settings::OauthClientSettings;
use super::discovery::fetch_authorization_server;
use super::error::{OauthError, sanitize};
use super::error_response::to_oauth_error;
use super::grant::IdentityProviderSettings;
use super::metadata::{AuthorizationServer, MetadataPurpose};
use super::token::{TokenEndpoint, is_token, push_scopes};
use super::transport::{OauthHttpClient, bad_answer};

/// The type of the assertion.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// A request for an assertion.
pub(super) struct AssertionRequest<'a> {
    pub(super) http: &'a OauthHttpClient,
    pub(super) provider: &'a IdentityProviderSettings,
    /// The issuer of the authorization server that will read the assertion.
    pub(super) audience: &'a str,
    /// The MCP server.
    pub(super) resource: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) now_ms: i64,
}

#[derive(Deserialize)]
struct ExchangeResponse {
    access_token: String,
    issued_token_type: String,
}

/// Requests an assertion from the identity provider.
pub(super) async fn request_assertion(request: &AssertionRequest<'_>) -> Result<SecretString, OauthError> {
    let AssertionRequest { http, provider, audience, resource, scopes, now_ms } = *request;
    let issuer = Url::parse(&provider.issuer).map_err(|_| OauthError::Address {
        what: "the identity provider",
        address: sanitize(&provider.issuer),
        why: "it is not a URL",
    })?;
    // The owner chose the identity provider, so it may name addresses of its own kind.
    let http = http.for_server(&issuer);
    let server = find_identity_provider(&http, &issuer, provider).await?;
    let settings = OauthClientSettings {
        client_secret: provider.client_secret.clone(),
        private_key: provider.private_key.clone(),
        ..OauthClientSettings::default()
    };
    let client = given_client(&server, &settings, &provider.client_id, String::new())?;
    let (url, issuer) = (&server.token, server.issuer.as_str());
    let endpoint = TokenEndpoint { http: &http, url, issuer, client: &client, now_ms, dpop: None };
    let mut form = vec![
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".to_owned()),
        ("requested_token_type", ID_JAG.to_owned()),
        ("audience", audience.to_owned()),
        ("resource", resource.to_owned()),
        ("subject_token", provider.subject_token.expose_secret().trim().to_owned()),
        ("subject_token_type", provider.subject_token_type.uri().to_owned()),
    ];
    push_scopes(&mut form, scopes);
    let answer = endpoint.send(form).await?;
    if !answer.status.is_success() {
        return Err(to_oauth_error(url, &answer));
    }
    // The parser's message could quote the response, and with it a token.
    let answer: ExchangeResponse = serde_json::from_slice(&answer.body)
        .map_err(|_| bad_answer(url, "its response contains no assertion"))?;
    if answer.issued_token_type != ID_JAG || !is_token(&answer.access_token) {
        return Err(bad_answer(url, "it issued something other than an identity assertion (id-jag)"));
    }
    Ok(answer.access_token.into())
}

async fn find_identity_provider(
    http: &OauthHttpClient,
    issuer: &Url,
    provider: &IdentityProviderSettings,
) -> Result<AuthorizationServer, OauthError> {
    if let Some(endpoint) = &provider.token_endpoint {
        let token = usable_address("the identity provider's token endpoint", endpoint, issuer)?;
        return Ok(AuthorizationServer::with_token_endpoint(provider.issuer.clone(), token));
    }
    let found =
        fetch_authorization_server(http, &provider.issuer, issuer, MetadataPurpose::TokenRequest).await?;
    found.ok_or_else(|| OauthError::NoAuthorizationServer(sanitize(&provider.issuer)))
}
