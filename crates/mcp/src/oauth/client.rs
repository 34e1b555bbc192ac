//! An OAuth client, as one authorization server knows it.

use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::client_assertion::{ASSERTION_TYPE, AssertionClaims, ClientKey};
use super::error::OauthError;
use super::serde_secret;

/// The fields of a token request.
pub(super) type FormFields = Vec<(&'static str, String)>;

/// The authentication method of a client at the token endpoint (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TokenEndpointAuthMethod {
    /// Only the client id. PKCE protects the code.
    #[serde(rename = "none")]
    None,
    /// In the header `Authorization`.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// In the body.
    #[serde(rename = "client_secret_post")]
    Post,
    /// With an assertion that the client signs (RFC 7523, section 2.2).
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl TokenEndpointAuthMethod {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method of a registered client. Registration gives no private key.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post].into_iter().find(|it| it.name() == name)
    }
}

/// The origin of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientRegistrationKind {
    /// The owner registered it.
    Given,
    /// Its id is the address of a client id metadata document.
    Document,
    /// It was registered dynamically.
    Registered,
}

/// A client, as one authorization server knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OauthClient {
    pub(super) id: String,
    #[serde(with = "serde_secret::option", default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<SecretString>,
    /// The private key, from the settings.
    #[serde(skip)]
    pub(super) key: Option<ClientKey>,
    pub(super) auth: TokenEndpointAuthMethod,
    pub(super) origin: ClientRegistrationKind,
    /// The redirect URI.
    pub(super) redirect_uri: String,
    /// The time at which the secret expires, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_expires_ms: Option<i64>,
}

impl OauthClient {
    /// Adds the client's authentication to a token request (RFC 6749, section 2.3.1; RFC 7523, section 2.2). The
    /// audience is the issuer of the authorization server.
    ///
    /// # Errors
    /// [`OauthError::Settings`] if the private key can't be used.
    pub(super) fn authenticate(
        &self,
        audience: &str,
        now_ms: i64,
        headers: &mut HeaderMap,
        form: &mut FormFields,
    ) -> Result<(), OauthError> {
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
            (TokenEndpointAuthMethod::PrivateKeyJwt, _) => {
                let key = self.key.as_ref();
                let key =
                    key.ok_or_else(|| OauthError::Settings("oauth.private_key is missing".to_owned()))?;
                let claims = AssertionClaims { issuer: &self.id, subject: &self.id, audience, now_ms };
                form.push(("client_id", self.id.clone()));
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", key.sign(&claims)?));
            }
            _ => form.push(("client_id", self.id.clone())),
        }
        Ok(())
    }
}

/// The client id and secret, form-encoded, joined with a colon, in base64.
fn basic_authorization(id: &str, secret: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(id), encoded(secret));
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both));
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
