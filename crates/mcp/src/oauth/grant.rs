//! Grants by which a gateway gets tokens without a person, with secrets resolved.

use secrecy::SecretString;

use super::client_assertion::ClientKey;
use crate::definition::{OauthGrantType, SubjectTokenType};

/// The grant of a server's tokens.
#[derive(Debug, Clone, Default)]
pub enum OauthGrant {
    /// A person signs in with a browser (RFC 6749, section 4.1).
    #[default]
    AuthorizationCode,
    /// The client asks for itself (RFC 6749, section 4.4).
    ClientCredentials,
    /// A signed assertion is exchanged for a token (RFC 7523, section 2.1).
    JwtBearer(AssertionSource),
    /// The company's identity provider issues the assertion (MCP extension "Enterprise-Managed Authorization").
    EnterpriseManaged(IdentityProviderSettings),
}

/// The source of the assertion of a JWT bearer grant.
#[derive(Debug, Clone)]
pub enum AssertionSource {
    /// Another program issued it, for example the platform of a workload.
    Issued(SecretString),
    /// The client signs it with its own key, for this subject.
    SignedFor(Option<String>),
}

/// The identity provider that confirms a person to authorization servers.
#[derive(Debug, Clone)]
pub struct IdentityProviderSettings {
    /// Its issuer.
    pub issuer: String,
    /// Its token endpoint, if its metadata does not name it.
    pub token_endpoint: Option<String>,
    /// The id of the client that is registered there.
    pub client_id: String,
    /// The secret of that client.
    pub client_secret: Option<SecretString>,
    /// The private key of that client.
    pub private_key: Option<ClientKey>,
    /// The token that identifies the person.
    pub subject_token: SecretString,
    /// The type of that token.
    pub subject_token_type: SubjectTokenType,
}

impl OauthGrant {
    /// The type of the grant.
    #[must_use]
    pub fn kind(&self) -> OauthGrantType {
        match self {
            Self::AuthorizationCode => OauthGrantType::AuthorizationCode,
            Self::ClientCredentials => OauthGrantType::ClientCredentials,
            Self::JwtBearer(_) => OauthGrantType::JwtBearer,
            Self::EnterpriseManaged(_) => OauthGrantType::EnterpriseManaged,
        }
    }
}
