//! OAuth settings of one MCP server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// OAuth settings that the server's metadata does not contain.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthDefinition {
    /// The way in which the gateway gets tokens. All except `authorization_code` work without a person.
    #[serde(skip_serializing_if = "OauthGrantType::is_default")]
    pub grant: OauthGrantType,
    /// The id of a client that the owner registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The secret of that client, as `secret:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The private key of that client in PEM, as `secret:NAME`. The client then authenticates with signed assertions
    /// (`private_key_jwt`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// The id of that key (`kid`), if the authorization server knows it by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_id: Option<String>,
    /// The issuer of the authorization server at which this client is registered. A server that names another issuer
    /// is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The https address of a client id metadata document, for authorization servers that support them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_metadata_url: Option<String>,
    /// The scopes to request instead of those that the server names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The signed token for the grant `jwt_bearer`, as `secret:NAME`. It is read again for each request. Without it,
    /// the client signs an assertion with its private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// The subject of an assertion that the client signs itself. Default: the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// True if tokens must be bound to a key of the gateway (DPoP). A server that requires this needs no setting.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dpop: bool,
    /// The company's identity provider, for the grant `enterprise_managed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<IdentityProviderDefinition>,
}

/// The way in which the gateway gets tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OauthGrantType {
    /// A person signs in with a browser: `toolway mcp login`.
    #[default]
    AuthorizationCode,
    /// The client authenticates itself (RFC 6749, section 4.4).
    ClientCredentials,
    /// A signed token of another issuer, or of the client itself, is exchanged (RFC 7523, section 2.1).
    JwtBearer,
    /// The company's identity provider decides who may use the server (MCP "Enterprise-Managed Authorization").
    EnterpriseManaged,
}

impl OauthGrantType {
    /// Returns true for the grant that needs a person.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::AuthorizationCode
    }

    /// The name in definitions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
            Self::JwtBearer => "jwt_bearer",
            Self::EnterpriseManaged => "enterprise_managed",
        }
    }
}

/// A company's identity provider. It exchanges the token of a person for an assertion about them (RFC 8693).
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityProviderDefinition {
    /// The issuer of the identity provider.
    pub issuer: String,
    /// The address of its token endpoint, if its metadata does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// The id of the client that is registered there.
    pub client_id: String,
    /// The secret of that client, as `secret:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The private key of that client in PEM, as `secret:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// The id of that key (`kid`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_id: Option<String>,
    /// The token of the person, as `secret:NAME`. It is read again for each request.
    pub subject_token: String,
    /// The type of that token.
    #[serde(skip_serializing_if = "SubjectTokenType::is_default")]
    pub subject_token_type: SubjectTokenType,
}

/// The type of a person's token (RFC 8693, section 3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectTokenType {
    /// An OpenID Connect ID token. It is short-lived.
    #[default]
    IdToken,
    /// A refresh token of the identity provider.
    RefreshToken,
    /// A SAML 2.0 assertion.
    Saml2,
}

impl SubjectTokenType {
    /// Returns true for [`SubjectTokenType::IdToken`].
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::IdToken
    }

    /// The name in definitions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdToken => "id_token",
            Self::RefreshToken => "refresh_token",
            Self::Saml2 => "saml2",
        }
    }

    /// The name in requests.
    #[must_use]
    pub fn uri(self) -> &'static str {
        match self {
            Self::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            Self::RefreshToken => "urn:ietf:params:oauth:token-type:refresh_token",
            Self::Saml2 => "urn:ietf:params:oauth:token-type:saml2",
        }
    }
}

impl OauthDefinition {
    /// All values that refer to secrets or contain them, by field.
    #[must_use]
    pub fn secret_values(&self) -> Vec<(&'static str, &String)> {
        let own = [
            ("client_secret", &self.client_secret),
            ("private_key", &self.private_key),
            ("assertion", &self.assertion),
        ];
        let mut all: Vec<_> =
            own.into_iter().filter_map(|(field, value)| Some((field, value.as_ref()?))).collect();
        if let Some(provider) = &self.identity_provider {
            let of_provider = [
                ("identity_provider.client_secret", &provider.client_secret),
                ("identity_provider.private_key", &provider.private_key),
            ];
            all.extend(of_provider.into_iter().filter_map(|(field, value)| Some((field, value.as_ref()?))));
            all.push(("identity_provider.subject_token", &provider.subject_token));
        }
        all
    }

    /// The settings that choose which secrets are sent, and to whom.
    #[must_use]
    pub fn credentials_part(&self) -> Self {
        Self { scopes: Vec::new(), client_metadata_url: None, ..self.clone() }
    }

    /// The same values, to change them.
    pub(super) fn secret_values_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let own = [&mut self.client_secret, &mut self.private_key, &mut self.assertion];
        let of_provider = self.identity_provider.as_mut().map(|provider| {
            [
                provider.client_secret.as_mut(),
                provider.private_key.as_mut(),
                Some(&mut provider.subject_token),
            ]
        });
        own.into_iter().flatten().chain(of_provider.into_iter().flatten().flatten())
    }
}
