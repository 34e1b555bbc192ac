//! The choice of the client for a login, and dynamic registration (RFC 7591).
//!
//! In this order: a client that the owner registered, a client id metadata document (OAuth Client ID Metadata
//! Documents), a client from an earlier registration, a new registration.

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;

use super::client::{ClientRegistrationKind, OauthClient, TokenEndpointAuthMethod};
use super::client_assertion::ClientKey;
use super::client_settings::OauthClientSettings;
use super::error::{OauthError, sanitize};
use super::error_response::to_oauth_error;
use super::metadata::AuthorizationServer;
use super::transport::{OauthHttpClient, bad_answer};

/// The client name that authorization servers show to people.
const CLIENT_NAME: &str = "Toolway";

/// Returns the client for this login.
pub(super) async fn obtain_client(
    http: &OauthHttpClient,
    server: &AuthorizationServer,
    settings: &OauthClientSettings,
    known: Option<&OauthClient>,
    asking: ClientRegistrationRequest<'_>,
) -> Result<OauthClient, OauthError> {
    let redirect_uri = asking.redirect_uri.to_owned();
    check_issuer(settings, server)?;
    if let Some(id) = &settings.client_id {
        return given_client(server, settings, id, redirect_uri);
    }
    if settings.client_secret.is_some() {
        return Err(OauthError::Settings("oauth.client_secret is set without oauth.client_id".to_owned()));
    }
    if let Some(address) = settings.client_metadata_url.as_ref().filter(|_| server.takes_metadata_documents) {
        return Ok(OauthClient {
            id: metadata_document_url(address)?,
            secret: None,
            key: None,
            auth: TokenEndpointAuthMethod::None,
            origin: ClientRegistrationKind::Document,
            redirect_uri,
            secret_expires_ms: None,
        });
    }
    let usable = |it: &&OauthClient| {
        it.origin == ClientRegistrationKind::Registered
            && it.redirect_uri == redirect_uri
            && it.secret_expires_ms.is_none_or(|at| at > asking.now_ms)
    };
    match known.filter(usable) {
        Some(known) => Ok(known.clone()),
        None => register(http, server, asking).await,
    }
}

/// Checks that the server is the one in the settings, if they name one.
pub(super) fn check_issuer(
    settings: &OauthClientSettings,
    server: &AuthorizationServer,
) -> Result<(), OauthError> {
    match settings.issuer.as_ref().filter(|it| **it != server.issuer) {
        Some(only) => {
            Err(OauthError::IssuerMismatch { expected: sanitize(only), found: sanitize(&server.issuer) })
        }
        None => Ok(()),
    }
}

/// Returns the client that the owner registered, with the best authentication that it has.
pub(super) fn given_client(
    server: &AuthorizationServer,
    settings: &OauthClientSettings,
    id: &str,
    redirect_uri: String,
) -> Result<OauthClient, OauthError> {
    let (secret, key) = (settings.client_secret.clone(), settings.private_key.clone());
    let auth = choose_auth_method(server, secret.is_some(), key.is_some())?;
    let key = key.filter(|_| auth == TokenEndpointAuthMethod::PrivateKeyJwt);
    if let Some(key) = &key {
        check_algorithm(server, key)?;
    }
    let sends_secret = matches!(auth, TokenEndpointAuthMethod::Basic | TokenEndpointAuthMethod::Post);
    Ok(OauthClient {
        id: id.to_owned(),
        secret: secret.filter(|_| sends_secret),
        key,
        auth,
        origin: ClientRegistrationKind::Given,
        redirect_uri,
        secret_expires_ms: None,
    })
}

/// Checks that the server accepts signatures with this key (RFC 8414, section 2).
fn check_algorithm(server: &AuthorizationServer, key: &ClientKey) -> Result<(), OauthError> {
    let own = key.algorithm()?;
    match &server.signing_algorithms {
        Some(accepted) if !accepted.iter().any(|it| it == own) => Err(OauthError::Settings(format!(
            "oauth.private_key signs with {own}, but the authorization server accepts {:?}",
            sanitize(&accepted.join(", "))
        ))),
        _ => Ok(()),
    }
}

/// Checks the address of a client id metadata document: https, with a path, in the normal form of the URL standard.
fn metadata_document_url(address: &str) -> Result<String, OauthError> {
    let fine = reqwest::Url::parse(address).is_ok_and(|url| {
        url.scheme() == "https"
            && url.path() != "/"
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
            && url.as_str() == address
    });
    if fine {
        return Ok(address.to_owned());
    }
    Err(OauthError::Settings(format!(
        "oauth.client_metadata_url = {:?} must be an https address with a path, written as browsers write it",
        sanitize(address)
    )))
}

/// Chooses the best authentication method that the server supports. A server that lists none supports the header (RFC
/// 8414, section 2).
fn choose_auth_method(
    server: &AuthorizationServer,
    has_secret: bool,
    has_key: bool,
) -> Result<TokenEndpointAuthMethod, OauthError> {
    use TokenEndpointAuthMethod::{Basic, None as Public, Post, PrivateKeyJwt};
    let of_key = has_key.then_some(PrivateKeyJwt);
    let of_secret = has_secret.then_some([Basic, Post]);
    let mut order = of_key.into_iter().chain(of_secret.into_iter().flatten()).chain([Public]);
    let Some(taken) = &server.auth_methods else { return Ok(order.next().unwrap_or(Public)) };
    let found = order.find(|it| taken.iter().any(|name| name == it.name()));
    found.ok_or_else(|| OauthError::Unsuitable {
        issuer: sanitize(&server.issuer),
        lacks: match (has_key, has_secret) {
            (true, _) => "does not support clients that sign assertions (private_key_jwt)",
            (false, true) => "supports client secrets neither in the header nor in the body",
            (false, false) => "requires a client secret; set oauth.client_secret",
        },
    })
}

/// The parameters of a registration.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientRegistrationRequest<'a> {
    pub(super) redirect_uri: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) now_ms: i64,
}

#[derive(Deserialize)]
struct ClientRegistrationResponse {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    client_secret_expires_at: Option<i64>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client (RFC 7591). It has no secret if the server allows that, because a program on a person's
/// computer can't keep a secret from that person.
async fn register(
    http: &OauthHttpClient,
    server: &AuthorizationServer,
    asking: ClientRegistrationRequest<'_>,
) -> Result<OauthClient, OauthError> {
    let Some(url) = &server.registration else { return Err(OauthError::NoClient(sanitize(&server.issuer))) };
    let wanted = match choose_auth_method(server, false, false) {
        Ok(method) => method,
        Err(_) => choose_auth_method(server, true, false)?,
    };
    let mut body = json!({
        "client_name": CLIENT_NAME,
        "redirect_uris": [asking.redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted.name(),
        "application_type": "native",
    });
    if let Some(body) = body.as_object_mut().filter(|_| !asking.scopes.is_empty()) {
        body.insert("scope".to_owned(), asking.scopes.join(" ").into());
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let answer = http.post(url, headers, body.to_string()).await?;
    if !answer.status.is_success() {
        return Err(to_oauth_error(url, &answer));
    }
    let made: ClientRegistrationResponse = serde_json::from_slice(&answer.body).map_err(|error| {
        bad_answer(url, &format!("the registration response is invalid: {}", sanitize(&error.to_string())))
    })?;
    let auth = match made.token_endpoint_auth_method.as_deref() {
        None => wanted,
        Some(name) => TokenEndpointAuthMethod::from_name(name).ok_or_else(|| {
            bad_answer(
                url,
                &format!(
                    "it registered a client with the unsupported authentication method {:?}",
                    sanitize(name)
                ),
            )
        })?,
    };
    let secret = made.client_secret.filter(|it| !it.is_empty() && auth != TokenEndpointAuthMethod::None);
    if auth != TokenEndpointAuthMethod::None && secret.is_none() {
        return Err(bad_answer(url, "it registered a client that requires a secret, but sent no secret"));
    }
    Ok(OauthClient {
        id: made.client_id,
        secret: secret.map(SecretString::from),
        key: None,
        auth,
        origin: ClientRegistrationKind::Registered,
        redirect_uri: asking.redirect_uri.to_owned(),
        secret_expires_ms: made
            .client_secret_expires_at
            .filter(|at| *at > 0)
            .map(|seconds| seconds.saturating_mul(1000)),
    })
}
