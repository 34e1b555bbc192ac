//! The token endpoint (RFC 6749, sections 4.1.3, 4.4, 5 and 6; RFC 7523, section 2.1; RFC 9449, section 5).

use http::{HeaderMap, HeaderValue, Method, header::CONTENT_TYPE};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::client::{FormFields, OauthClient};
use super::dpop::{DpopBinding, NonceSource, PROOF, USE_NONCE};
use super::error::OauthError;
use super::error_response::{error_code, to_oauth_error};
use super::transport::{BufferedResponse, OauthHttpClient, bad_answer};

/// Maximum length of a token, in bytes: it must fit into a header.
const MAX_TOKEN: usize = 16 << 10;
/// Maximum lifetime of a token, in milliseconds (one year), whatever the server says.
const MAX_LIFE_MS: i64 = 365 * 24 * 3600 * 1000;

/// A token response.
#[derive(Debug)]
pub(super) struct IssuedToken {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    /// The lifetime in milliseconds, if the server stated it.
    pub(super) life_ms: Option<i64>,
    /// The granted scopes; `None` if they equal the requested ones.
    pub(super) scopes: Option<Vec<String>>,
    /// True if the token is bound to the key of the request (RFC 9449, section 5).
    pub(super) is_bound: bool,
}

/// The token endpoint of an authorization server, for one client.
#[derive(Clone, Copy)]
pub(super) struct TokenEndpoint<'a> {
    pub(super) http: &'a OauthHttpClient,
    pub(super) url: &'a Url,
    /// The issuer of the authorization server.
    pub(super) issuer: &'a str,
    pub(super) client: &'a OauthClient,
    pub(super) now_ms: i64,
    /// The key that tokens are bound to.
    pub(super) dpop: Option<&'a DpopBinding>,
}

impl TokenEndpoint<'_> {
    /// Exchanges an authorization code.
    pub(super) async fn exchange_code(
        &self,
        code: &SecretString,
        verifier: &SecretString,
        resource: &str,
    ) -> Result<IssuedToken, OauthError> {
        self.request_token(vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.expose_secret().to_owned()),
            ("code_verifier", verifier.expose_secret().to_owned()),
            ("redirect_uri", self.client.redirect_uri.clone()),
            ("resource", resource.to_owned()),
        ])
        .await
    }

    /// Exchanges a refresh token. Without scopes, the request asks for those granted before.
    pub(super) async fn refresh(
        &self,
        refresh_token: &SecretString,
        resource: &str,
    ) -> Result<IssuedToken, OauthError> {
        self.request_token(vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh_token.expose_secret().to_owned()),
            ("resource", resource.to_owned()),
        ])
        .await
    }

    /// Requests a token for the client itself (RFC 6749, section 4.4).
    pub(super) async fn client_credentials(
        &self,
        scopes: &[String],
        resource: &str,
    ) -> Result<IssuedToken, OauthError> {
        let mut form =
            vec![("grant_type", "client_credentials".to_owned()), ("resource", resource.to_owned())];
        push_scopes(&mut form, scopes);
        self.request_token(form).await
    }

    /// Exchanges a signed assertion (RFC 7523, section 2.1).
    pub(super) async fn exchange_assertion(
        &self,
        assertion: &SecretString,
        scopes: &[String],
        resource: &str,
    ) -> Result<IssuedToken, OauthError> {
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
            ("assertion", assertion.expose_secret().trim().to_owned()),
            ("resource", resource.to_owned()),
        ];
        push_scopes(&mut form, scopes);
        self.request_token(form).await
    }

    async fn request_token(&self, form: FormFields) -> Result<IssuedToken, OauthError> {
        let answer = self.send(form).await?;
        if !answer.status.is_success() {
            return Err(to_oauth_error(self.url, &answer));
        }
        parse_token_response(self.url, &answer, self.dpop.is_some())
    }

    /// Sends a request. If the server wants a nonce in the proof, it is sent once more (RFC 9449, section 8).
    pub(super) async fn send(&self, form: FormFields) -> Result<BufferedResponse, OauthError> {
        let answer = self.send_once(form.clone()).await?;
        let Some(dpop) = self.dpop else { return Ok(answer) };
        let is_new = dpop.remember_nonce(NonceSource::AuthorizationServer, &answer.headers);
        if !is_new || answer.status.is_success() || error_code(&answer).as_deref() != Some(USE_NONCE) {
            return Ok(answer);
        }
        let answer = self.send_once(form).await?;
        dpop.remember_nonce(NonceSource::AuthorizationServer, &answer.headers);
        Ok(answer)
    }

    async fn send_once(&self, mut form: FormFields) -> Result<BufferedResponse, OauthError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        self.client.authenticate(self.issuer, self.now_ms, &mut headers, &mut form)?;
        if let Some(dpop) = self.dpop {
            let source = NonceSource::AuthorizationServer;
            headers.insert(PROOF, dpop.proof(source, &Method::POST, self.url, self.now_ms, None)?);
        }
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.http.post(self.url, headers, body).await
    }
}

/// Adds the requested scopes, if any.
pub(super) fn push_scopes(form: &mut FormFields, scopes: &[String]) {
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<LenientSeconds>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    scope: Option<String>,
}

/// A number of seconds. Some servers send it as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum LenientSeconds {
    Number(f64),
    Text(String),
}

impl LenientSeconds {
    /// The number in milliseconds; `None` if it is not positive.
    fn ms(self) -> Option<i64> {
        let seconds = match self {
            Self::Number(number) => number,
            Self::Text(text) => text.trim().parse().ok()?,
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within a year")]
        (seconds > 0.0).then(|| (seconds * 1000.0).min(MAX_LIFE_MS as f64) as i64)
    }
}

/// Parses a successful response. With `has_proof`, the token may be bound to the key of the proof.
pub(super) fn parse_token_response(
    endpoint: &Url,
    answer: &BufferedResponse,
    has_proof: bool,
) -> Result<IssuedToken, OauthError> {
    // The parser's message could quote the response, and with it a token.
    let answer: TokenResponse = serde_json::from_slice(&answer.body)
        .map_err(|_| bad_answer(endpoint, "its response contains no token"))?;
    let kind = answer.token_type.unwrap_or_default();
    let is_bound = has_proof && kind.eq_ignore_ascii_case("dpop");
    if !is_bound && !kind.is_empty() && !kind.eq_ignore_ascii_case("bearer") {
        return Err(bad_answer(endpoint, "it issued a token that is not a bearer token"));
    }
    if !is_token(&answer.access_token) {
        return Err(bad_answer(endpoint, "it issued a token that can't be sent in a header"));
    }
    let scopes = answer.scope.filter(|it| !it.trim().is_empty());
    Ok(IssuedToken {
        access_token: answer.access_token.into(),
        refresh_token: answer.refresh_token.filter(|it| !it.is_empty()).map(SecretString::from),
        life_ms: answer.expires_in.and_then(LenientSeconds::ms),
        scopes: scopes.map(|it| it.split_ascii_whitespace().map(str::to_owned).collect()),
        is_bound,
    })
}

/// Returns true if a text can be sent as a token.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TOKEN && text.bytes().all(|b| b.is_ascii_graphic())
}
