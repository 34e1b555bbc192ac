//! The token endpoint (RFC 6749, sections 4.1.3, 5 and 6).

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::client::OauthClient;
use super::error::OauthError;
use super::error_response::to_oauth_error;
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
}

/// Exchanges an authorization code.
pub(super) async fn exchange(
    http: &OauthHttpClient,
    endpoint: &Url,
    client: &OauthClient,
    code: &SecretString,
    verifier: &SecretString,
    resource: &str,
) -> Result<IssuedToken, OauthError> {
    let form = vec![
        ("grant_type", "authorization_code".to_owned()),
        ("code", code.expose_secret().to_owned()),
        ("code_verifier", verifier.expose_secret().to_owned()),
        ("redirect_uri", client.redirect_uri.clone()),
        ("resource", resource.to_owned()),
    ];
    request_token(http, endpoint, client, form).await
}

/// Exchanges a refresh token. Without scopes, the request asks for those granted before.
pub(super) async fn refresh(
    http: &OauthHttpClient,
    endpoint: &Url,
    client: &OauthClient,
    refresh_token: &SecretString,
    resource: &str,
) -> Result<IssuedToken, OauthError> {
    let form = vec![
        ("grant_type", "refresh_token".to_owned()),
        ("refresh_token", refresh_token.expose_secret().to_owned()),
        ("resource", resource.to_owned()),
    ];
    request_token(http, endpoint, client, form).await
}

async fn request_token(
    http: &OauthHttpClient,
    endpoint: &Url,
    client: &OauthClient,
    mut form: Vec<(&'static str, String)>,
) -> Result<IssuedToken, OauthError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    client.authenticate(&mut headers, &mut form);
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let answer = http.post(endpoint, headers, body).await?;
    if !answer.status.is_success() {
        return Err(to_oauth_error(endpoint, &answer));
    }
    parse_token_response(endpoint, &answer)
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

fn parse_token_response(endpoint: &Url, answer: &BufferedResponse) -> Result<IssuedToken, OauthError> {
    // The parser's message could quote the response, and with it a token.
    let answer: TokenResponse = serde_json::from_slice(&answer.body)
        .map_err(|_| bad_answer(endpoint, "its response contains no token"))?;
    if answer.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(bad_answer(endpoint, "it issued a token that is not a bearer token"));
    }
    let fine = |text: &str| {
        !text.is_empty() && text.len() <= MAX_TOKEN && text.bytes().all(|b| b.is_ascii_graphic())
    };
    if !fine(&answer.access_token) {
        return Err(bad_answer(endpoint, "it issued a token that can't be sent in a header"));
    }
    let scopes = answer.scope.filter(|it| !it.trim().is_empty());
    Ok(IssuedToken {
        access_token: answer.access_token.into(),
        refresh_token: answer.refresh_token.filter(|it| !it.is_empty()).map(SecretString::from),
        life_ms: answer.expires_in.and_then(LenientSeconds::ms),
        scopes: scopes.map(|it| it.split_ascii_whitespace().map(str::to_owned).collect()),
    })
}
