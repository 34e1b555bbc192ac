//! Who the gateway is to an authorization server: a client that the owner registered, a client id that is an address
//! (OAuth Client ID Metadata Documents), or one that it registers by itself (RFC 7591), in this order.

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::credentials::serde_secret;
use super::error::{OauthError, sanitize};
use super::metadata::AuthorizationServer;
use super::token::to_oauth_error;
use super::transport::{OauthHttpClient, bad_answer};
use crate::definition::OauthDefinition;
use crate::upstream::secrets::SecretResolver;

/// What authorization servers are told, and show to people.
const CLIENT_NAME: &str = "Toolway";

/// What the owner says of one server's OAuth, with its secrets read.
#[derive(Debug, Clone, Default)]
pub struct OauthClientSettings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<SecretString>,
    /// The only authorization server that it may be shown to.
    pub issuer: Option<String>,
    /// The https address of a client id metadata document that the owner keeps.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, in the place of those that the server names.
    pub scopes: Vec<String>,
}

impl OauthClientSettings {
    /// Of a definition, with `secret:NAME` resolved. It may block for as long as that takes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_definition(
        definition: Option<&OauthDefinition>,
        secrets: &dyn SecretResolver,
    ) -> Result<Self, String> {
        let Some(definition) = definition else { return Ok(Self::default()) };
        let secret = definition.client_secret.as_ref().map(|value| match value.strip_prefix("secret:") {
            Some(name) => secrets.resolve(name).map_err(|why| format!("the secret {name:?} {why}")),
            None => Ok(SecretString::from(value.clone())),
        });
        Ok(Self {
            client_id: definition.client_id.clone(),
            client_secret: secret.transpose()?,
            issuer: definition.issuer.clone(),
            client_metadata_url: definition.client_metadata_url.clone(),
            scopes: definition.scopes.clone(),
        })
    }
}

/// How a client shows who it is at the token endpoint (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TokenEndpointAuthMethod {
    /// By its name alone: PKCE protects the code.
    #[serde(rename = "none")]
    None,
    /// In the header `Authorization`.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// In the body.
    #[serde(rename = "client_secret_post")]
    Post,
}

impl TokenEndpointAuthMethod {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post].into_iter().find(|it| it.name() == name)
    }
}

/// How a client came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientRegistrationKind {
    /// The owner registered it.
    Given,
    /// It is an address.
    Document,
    /// It was registered on the way.
    Registered,
}

/// A client, as one authorization server knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OauthClient {
    pub(super) id: String,
    #[serde(with = "serde_secret::option", default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<SecretString>,
    pub(super) auth: TokenEndpointAuthMethod,
    pub(super) origin: ClientRegistrationKind,
    /// Where it may be redirected to.
    pub(super) redirect_uri: String,
    /// When its secret ends, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_expires_ms: Option<i64>,
}

/// The client for this login.
pub(super) async fn obtain_client(
    http: &OauthHttpClient,
    server: &AuthorizationServer,
    settings: &OauthClientSettings,
    known: Option<&OauthClient>,
    asking: ClientRegistrationRequest<'_>,
) -> Result<OauthClient, OauthError> {
    let redirect_uri = asking.redirect_uri.to_owned();
    if let Some(only) = settings.issuer.as_ref().filter(|it| **it != server.issuer) {
        return Err(OauthError::IssuerMismatch { expected: sanitize(only), found: sanitize(&server.issuer) });
    }
    if let Some(id) = &settings.client_id {
        let secret = settings.client_secret.clone();
        let auth = choose_auth_method(server, secret.is_some())?;
        return Ok(OauthClient {
            id: id.clone(),
            secret: secret.filter(|_| auth != TokenEndpointAuthMethod::None),
            auth,
            origin: ClientRegistrationKind::Given,
            redirect_uri,
            secret_expires_ms: None,
        });
    }
    if settings.client_secret.is_some() {
        return Err(OauthError::Settings("oauth.client_secret is set without oauth.client_id".to_owned()));
    }
    if let Some(address) = settings.client_metadata_url.as_ref().filter(|_| server.takes_metadata_documents) {
        return Ok(OauthClient {
            id: metadata_document_url(address)?,
            secret: None,
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

/// An address that may be a client id: https, with a path, and nothing that could be read in two ways.
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

/// The best way to show who we are that the server takes. One that doesn't say takes the header (RFC 8414, section 2).
fn choose_auth_method(
    server: &AuthorizationServer,
    with_secret: bool,
) -> Result<TokenEndpointAuthMethod, OauthError> {
    let order: &[TokenEndpointAuthMethod] = if with_secret {
        &[TokenEndpointAuthMethod::Basic, TokenEndpointAuthMethod::Post, TokenEndpointAuthMethod::None]
    } else {
        &[TokenEndpointAuthMethod::None]
    };
    let first = order.first().copied().unwrap_or(TokenEndpointAuthMethod::None);
    let Some(taken) = &server.auth_methods else { return Ok(first) };
    let found = order.iter().copied().find(|it| taken.iter().any(|name| name == it.name()));
    found.ok_or_else(|| OauthError::Unsuitable {
        issuer: sanitize(&server.issuer),
        lacks: if with_secret {
            "takes a client's secret neither in the header nor in the body"
        } else {
            "takes no client without a secret; set oauth.client_secret"
        },
    })
}

/// What a registration says.
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

/// Registers a client (RFC 7591): without a secret where the server takes such, since a program on somebody's computer
/// keeps none from them.
async fn register(
    http: &OauthHttpClient,
    server: &AuthorizationServer,
    asking: ClientRegistrationRequest<'_>,
) -> Result<OauthClient, OauthError> {
    let Some(url) = &server.registration else { return Err(OauthError::NoClient(sanitize(&server.issuer))) };
    let wanted = match choose_auth_method(server, false) {
        Ok(method) => method,
        Err(_) => choose_auth_method(server, true)?,
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
        bad_answer(url, &format!("it registered no client: {}", sanitize(&error.to_string())))
    })?;
    let auth = match made.token_endpoint_auth_method.as_deref() {
        None => wanted,
        Some(name) => TokenEndpointAuthMethod::from_name(name).ok_or_else(|| {
            bad_answer(
                url,
                &format!(
                    "it registered a client that shows who it is by {:?}, which is not done here",
                    sanitize(name)
                ),
            )
        })?,
    };
    let secret = made.client_secret.filter(|it| !it.is_empty() && auth != TokenEndpointAuthMethod::None);
    if auth != TokenEndpointAuthMethod::None && secret.is_none() {
        return Err(bad_answer(url, "it registered a client that needs a secret and gave none"));
    }
    Ok(OauthClient {
        id: made.client_id,
        secret: secret.map(SecretString::from),
        auth,
        origin: ClientRegistrationKind::Registered,
        redirect_uri: asking.redirect_uri.to_owned(),
        secret_expires_ms: made
            .client_secret_expires_at
            .filter(|at| *at > 0)
            .map(|seconds| seconds.saturating_mul(1000)),
    })
}

impl OauthClient {
    /// Puts who this is into a request to the token endpoint (RFC 6749, section 2.3.1).
    pub(super) fn authenticate(&self, headers: &mut HeaderMap, form: &mut Vec<(&'static str, String)>) {
        let secret = self.secret.as_ref().map(|it| it.expose_secret().to_owned());
        match (self.auth, secret) {
            (TokenEndpointAuthMethod::Basic, Some(secret)) => {
                if let Some(value) = basic_authorization(&self.id, &secret) {
                    headers.insert(http::header::AUTHORIZATION, value);
                }
            }
            (TokenEndpointAuthMethod::Post, Some(secret)) => {
                form.push(("client_id", self.id.clone()));
                form.push(("client_secret", secret));
            }
            _ => form.push(("client_id", self.id.clone())),
        }
    }
}

/// Name and secret as a form would write them, joined and in base64.
fn basic_authorization(id: &str, secret: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(id), encoded(secret));
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both));
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
