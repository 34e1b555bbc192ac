//! A login in two steps: [`PendingLogin::begin`] returns the address for the person's browser,
//! [`PendingLogin::finish`] processes the redirect.

use std::sync::Arc;

use reqwest::Url;
use secrecy::SecretString;
use toolway_types::Clock;

use super::address;
use super::challenge::BearerChallenge;
use super::client::OauthClient;
use super::client_registration::{ClientRegistrationRequest, obtain_client};
use super::client_settings::OauthClientSettings;
use super::credentials::OauthCredentials;
use super::discovery::{DiscoveredMetadata, DiscoveryRequest, discover};
use super::dpop::DpopBinding;
use super::error::{OauthError, sanitize};
use super::pkce::{PkceVerifier, random_text};
use super::scopes::{self, ScopeCandidates};
use super::token::TokenEndpoint;
use super::token_binding::bind_token;
use super::transport::OauthHttpClient;
use crate::definition::OauthGrantType;

/// Maximum length of the redirect's query, in bytes.
const MAX_CALLBACK: usize = 16 << 10;

/// The parameters of a login.
#[derive(Debug)]
pub struct OauthLoginRequest<'a> {
    /// The address of the MCP server.
    pub server: &'a str,
    /// The server's challenge. Empty if the server was not asked yet.
    pub challenge: &'a BearerChallenge,
    /// The owner's settings.
    pub settings: &'a OauthClientSettings,
    /// The credentials of an earlier login.
    pub previous: Option<&'a OauthCredentials>,
    /// The redirect URI.
    pub redirect_uri: &'a str,
}

/// A login that waits for the redirect.
pub struct PendingLogin {
    clock: Arc<dyn Clock>,
    discovered: DiscoveredMetadata,
    client: OauthClient,
    dpop: Option<DpopBinding>,
    requires_dpop: bool,
    metadata: Option<String>,
    scopes: Vec<String>,
    verifier: PkceVerifier,
    state: String,
    url: Url,
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin").field("issuer", &self.discovered.server.issuer).finish_non_exhaustive()
    }
}

impl PendingLogin {
    /// Discovers the authorization server, obtains a client, and builds the address for the browser.
    ///
    /// # Errors
    /// [`OauthError`].
    pub async fn begin(
        http: OauthHttpClient,
        clock: Arc<dyn Clock>,
        request: OauthLoginRequest<'_>,
    ) -> Result<Self, OauthError> {
        let server = address::server_url(request.server)?;
        let before = request.previous.map(|it| it.issuer.as_str());
        let wanted = DiscoveryRequest::for_login(request.challenge, before);
        let discovered = discover(&http, &server, wanted).await?;
        Self::begin_with(clock, discovered, request).await
    }

    pub(super) async fn begin_with(
        clock: Arc<dyn Clock>,
        discovered: DiscoveredMetadata,
        request: OauthLoginRequest<'_>,
    ) -> Result<Self, OauthError> {
        let at = &discovered.server;
        // Credentials of another issuer are useless here, and this issuer must not see them.
        let before =
            request.previous.filter(|it| it.issuer == at.issuer && it.resource == discovered.resource);
        let challenged = request.challenge.scopes();
        // A login that meets a challenge keeps the scopes of the one before.
        let adds_to = match before {
            Some(it) if !it.missing.is_empty() || !challenged.is_empty() => {
                scopes::union(&it.scopes, &it.missing)
            }
            _ => Vec::new(),
        };
        let scopes = scopes::select(ScopeCandidates {
            configured: &request.settings.scopes,
            challenged: &challenged,
            previous: &adds_to,
            resource: discovered.scopes.as_deref(),
            server: at.scopes.as_deref(),
        });
        let asking = ClientRegistrationRequest {
            redirect_uri: request.redirect_uri,
            scopes: &scopes,
            now_ms: clock.now_ms(),
        };
        let known = before.map(|it| &it.client);
        let client = obtain_client(&discovered.http, at, request.settings, known, asking).await?;
        let proof = PkceVerifier::new()?;
        let state = random_text()?;
        let mut url = at.authorization.clone().ok_or_else(|| OauthError::Unsuitable {
            issuer: sanitize(&at.issuer),
            lacks: "has no authorization endpoint",
        })?;
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", &client.redirect_uri)
                .append_pair("code_challenge", &proof.challenge())
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", &state)
                .append_pair("resource", &discovered.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            // OpenID Connect grants a refresh token only with consent (Core, section 11).
            if scopes.iter().any(|it| it == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        let requires_dpop = request.settings.requires_dpop;
        let dpop = bind_token(&discovered, request.challenge, requires_dpop)?;
        let metadata = request.challenge.resource_metadata.clone();
        let verifier = proof;
        Ok(Self { clock, discovered, client, dpop, requires_dpop, metadata, scopes, verifier, state, url })
    }

    /// The address for the browser.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The issuer of the authorization server.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.discovered.server.issuer
    }

    /// Returns true if a query is the answer to this login. A stray request to the redirect URI does not end the
    /// login.
    #[must_use]
    pub fn is_answered_by(&self, query: &str) -> bool {
        let state = parameter(query, "state");
        state.is_ok_and(|it| it.as_deref() == Some(self.state.as_str()))
    }

    /// Processes the query of the redirect, and exchanges the code in it.
    ///
    /// # Errors
    /// [`OauthError::WrongCallback`] if it is not the answer to this login, [`OauthError::Refused`] if the person or
    /// the server refused, and all errors of the token endpoint.
    pub async fn finish(self, query: &str) -> Result<OauthCredentials, OauthError> {
        let query = query.trim_start_matches('?');
        if query.len() > MAX_CALLBACK {
            return Err(OauthError::WrongCallback("it is too long"));
        }
        if !self.is_answered_by(query) {
            return Err(OauthError::WrongCallback("it belongs to another login (state)"));
        }
        self.check_issuer(parameter(query, "iss")?.as_deref())?;
        if let Some(code) = parameter(query, "error")? {
            let description = parameter(query, "error_description")?;
            return Err(OauthError::Refused {
                code: sanitize(&code),
                description: description.as_deref().map(sanitize),
            });
        }
        let code = parameter(query, "code")?.filter(|it| !it.is_empty());
        let code = SecretString::from(code.ok_or(OauthError::WrongCallback("it contains no code"))?);
        let DiscoveredMetadata { http, resource, server, .. } = self.discovered;
        let endpoint = TokenEndpoint {
            http: &http,
            url: &server.token,
            issuer: &server.issuer,
            client: &self.client,
            now_ms: self.clock.now_ms(),
            dpop: self.dpop.as_ref(),
        };
        let issued = endpoint.exchange_code(&code, &self.verifier.verifier, &resource).await?;
        let dpop_key = issued.key_of(self.dpop.as_ref(), self.requires_dpop, &server.issuer)?;
        let now_ms = self.clock.now_ms();
        Ok(OauthCredentials {
            resource,
            issuer: server.issuer,
            client: self.client,
            metadata: self.metadata,
            access_token: issued.access_token,
            refresh_token: issued.refresh_token,
            received_ms: now_ms,
            expires_ms: issued.life_ms.map(|life| now_ms.saturating_add(life)),
            scopes: issued.scopes.unwrap_or(self.scopes),
            missing: Vec::new(),
            dpop_key,
            grant: OauthGrantType::AuthorizationCode,
            settings: None,
        })
    }

    /// Checks the issuer of an answer. It must equal the expected issuer, and it must be present if the server
    /// promised it (RFC 9207, section 2.4). This prevents mix-up attacks, in which one server obtains the code of
    /// another.
    fn check_issuer(&self, named: Option<&str>) -> Result<(), OauthError> {
        match named {
            Some(named) if named == self.discovered.server.issuer => Ok(()),
            Some(_) => Err(OauthError::WrongCallback("it comes from another authorization server (iss)")),
            None if self.discovered.server.sends_issuer => {
                Err(OauthError::WrongCallback("it does not name its authorization server (iss)"))
            }
            None => Ok(()),
        }
    }
}

/// Returns a parameter of a query. A repeated parameter is an error, because it is ambiguous (RFC 6749, section 3.1).
fn parameter(query: &str, name: &str) -> Result<Option<String>, OauthError> {
    let pairs = url::form_urlencoded::parse(query.trim_start_matches('?').as_bytes());
    let mut found = pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(OauthError::WrongCallback("a parameter occurs twice")),
        (first, None) => Ok(first),
    }
}
