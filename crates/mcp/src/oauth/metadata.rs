//! Metadata documents of the resource (RFC 9728) and of the authorization server (RFC 8414, OpenID Connect
//! Discovery). Unused members are not parsed.

use reqwest::Url;
use serde::Deserialize;

use super::address::{is_token_allowed, usable_address};
use super::error::{OauthError, sanitize};
use super::transport::without_query;

/// Maximum number of list entries to use.
const MAX_LISTED: usize = 64;

/// The protected resource metadata of an MCP server.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ProtectedResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) dpop_bound_access_tokens_required: bool,
}

impl ProtectedResourceMetadata {
    /// Checks that the document belongs to this server.
    ///
    /// # Errors
    /// [`OauthError::ResourceMismatch`].
    pub(super) fn validate(mut self, server: &Url) -> Result<Self, OauthError> {
        let named = Url::parse(&self.resource).ok();
        if !named.is_some_and(|named| is_token_allowed(&named, server)) {
            return Err(OauthError::ResourceMismatch {
                server: without_query(server),
                named: sanitize(&self.resource),
            });
        }
        self.authorization_servers.truncate(MAX_LISTED);
        Ok(self)
    }
}

/// The metadata of an authorization server.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AuthorizationServerMetadata {
    issuer: String,
    #[serde(default)]
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    #[serde(default)]
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    response_types_supported: Option<Vec<String>>,
    #[serde(default)]
    grant_types_supported: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(default)]
    dpop_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The use of an authorization server. A login needs more of it than a request for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetadataPurpose {
    Login,
    TokenRequest,
}

/// A usable authorization server: the metadata is its own, it supports PKCE if a person logs in, and its addresses are
/// allowed.
#[derive(Debug, Clone)]
pub(super) struct AuthorizationServer {
    /// The issuer as the metadata writes it; the origin if there is no metadata.
    pub(super) issuer: String,
    /// The address for the browser. A server without logins has none.
    pub(super) authorization: Option<Url>,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) scopes: Option<Vec<String>>,
    /// The client authentication methods of the token endpoint, if declared.
    pub(super) auth_methods: Option<Vec<String>>,
    /// The signature algorithms of client assertions, if declared.
    pub(super) signing_algorithms: Option<Vec<String>>,
    /// The signature algorithms of DPoP proofs, if declared.
    pub(super) dpop_algorithms: Option<Vec<String>>,
    /// True if a client id may be an address (OAuth Client ID Metadata Documents).
    pub(super) takes_metadata_documents: bool,
    /// True if its answers contain the issuer (RFC 9207).
    pub(super) sends_issuer: bool,
}

impl AuthorizationServerMetadata {
    /// Checks that the issuer equals the requested one (RFC 8414, section 3.3), and that the required features are
    /// present.
    ///
    /// # Errors
    /// [`OauthError`] for the first problem.
    pub(super) fn validate(
        self,
        expected: &[&str],
        resource: &Url,
        purpose: MetadataPurpose,
    ) -> Result<AuthorizationServer, OauthError> {
        if !expected.contains(&self.issuer.as_str()) {
            return Err(OauthError::IssuerMismatch {
                expected: sanitize(expected.first().copied().unwrap_or_default()),
                found: sanitize(&self.issuer),
            });
        }
        if purpose == MetadataPurpose::Login {
            self.check_login()?;
        }
        let authorization = self.authorization_endpoint.as_deref();
        let registration = self.registration_endpoint.as_deref();
        Ok(AuthorizationServer {
            authorization: authorization
                .map(|it| usable_address("the authorization endpoint", it, resource))
                .transpose()?,
            token: usable_address("the token endpoint", &self.token_endpoint, resource)?,
            registration: registration
                .map(|it| usable_address("the registration endpoint", it, resource))
                .transpose()?,
            scopes: self.scopes_supported,
            auth_methods: self.token_endpoint_auth_methods_supported,
            signing_algorithms: self.token_endpoint_auth_signing_alg_values_supported,
            dpop_algorithms: self.dpop_signing_alg_values_supported,
            takes_metadata_documents: self.client_id_metadata_document_supported,
            sends_issuer: self.authorization_response_iss_parameter_supported,
            issuer: self.issuer,
        })
    }

    fn check_login(&self) -> Result<(), OauthError> {
        let issuer = sanitize(&self.issuer);
        let has = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref().is_some_and(|list| list.iter().any(|it| it == value))
        };
        if !has(&self.code_challenge_methods_supported, "S256") {
            return Err(OauthError::NoPkce(issuer));
        }
        let lacks = |lacks| OauthError::Unsuitable { issuer: issuer.clone(), lacks };
        if self.response_types_supported.is_some() && !has(&self.response_types_supported, "code") {
            return Err(lacks("does not issue authorization codes"));
        }
        if self.grant_types_supported.is_some() && !has(&self.grant_types_supported, "authorization_code") {
            return Err(lacks("does not accept authorization codes"));
        }
        if self.authorization_endpoint.is_none() {
            return Err(lacks("has no authorization endpoint"));
        }
        Ok(())
    }
}

impl AuthorizationServer {
    /// The authorization server that 2025-03-26 assumes at the origin of a server without metadata.
    ///
    /// # Errors
    /// [`OauthError::Address`] if the origin is not allowed.
    pub(super) fn assumed(server: &Url) -> Result<Self, OauthError> {
        let at = |path: &str| {
            usable_address(
                "the authorization server",
                &format!("{}{path}", super::address::origin(server)),
                server,
            )
        };
        Ok(Self {
            authorization: Some(at("/authorize")?),
            registration: Some(at("/register")?),
            ..Self::with_token_endpoint(super::address::origin(server), at("/token")?)
        })
    }

    /// An authorization server of which only the token endpoint is known.
    pub(super) fn with_token_endpoint(issuer: String, token: Url) -> Self {
        Self {
            issuer,
            authorization: None,
            token,
            registration: None,
            scopes: None,
            auth_methods: None,
            signing_algorithms: None,
            dpop_algorithms: None,
            takes_metadata_documents: false,
            sends_issuer: false,
        }
    }
}

#[cfg(test)]
mod tests;
