//! The address of a server, with the owner's headers and the access token for each request.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use secrecy::{ExposeSecret, SecretString};
use toolway_types::Slug;
use url::Url;

use crate::upstream::authorizer::{AuthorizeError, Authorizer, ChallengeOutcome, challenge_header};
use crate::upstream::error::UpstreamError;
use crate::upstream::http_client::{UpstreamHttpClient, redirect_target};
use crate::upstream::response_body::{StreamedResponse, read_excerpt};

/// The media types of responses.
pub(in crate::upstream) const JSON: &str = "application/json";
pub(in crate::upstream) const EVENT_STREAM: &str = "text/event-stream";
/// Maximum number of retries of an unauthorized request: for a token, a nonce and further scopes.
const MAX_CHALLENGES: usize = 3;
/// The header of a proof of possession (RFC 9449, section 4.1).
const DPOP: HeaderName = HeaderName::from_static("dpop");
/// Headers that the transport sets itself.
const RESERVED_HEADERS: &[&str] =
    &["accept", "content-type", "content-length", "dpop", "host", "connection", "transfer-encoding"];

/// The address of a server.
pub(in crate::upstream) struct HttpEndpoint {
    client: UpstreamHttpClient,
    url: Url,
    uri: Uri,
    /// The headers of every request.
    headers: HeaderMap,
    slug: Slug,
    authorizer: Arc<dyn Authorizer>,
}

impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint").field("slug", &self.slug).finish_non_exhaustive()
    }
}

impl HttpEndpoint {
    /// # Errors
    /// [`UpstreamError::InvalidDefinition`] if the address or a header is invalid.
    pub(in crate::upstream) fn new(
        client: UpstreamHttpClient,
        url: &str,
        headers: Vec<(String, SecretString)>,
        slug: Slug,
        authorizer: Arc<dyn Authorizer>,
    ) -> Result<Self, UpstreamError> {
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| {
            UpstreamError::InvalidDefinition("its address must start with http:// or https://".to_owned())
        })?;
        let uri = uri_of(&url)?;
        let mut all = HeaderMap::with_capacity(headers.len() + 2);
        all.insert(HOST, host_of(&url)?);
        all.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        for (name, value) in headers {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let parsed = parsed.filter(|name| !RESERVED_HEADERS.contains(&name.as_str()));
            let parsed = parsed.filter(|name| !name.as_str().starts_with("mcp-"));
            let parsed = parsed.ok_or_else(|| {
                UpstreamError::InvalidDefinition(format!("the header {name:?} can't be set"))
            })?;
            let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
                UpstreamError::InvalidDefinition(format!("the header {name:?} can't have this value"))
            })?;
            value.set_sensitive(true);
            all.insert(parsed, value);
        }
        authorizer.start_connection(&slug);
        Ok(Self { client, url, uri, headers: all, slug, authorizer })
    }

    pub(in crate::upstream) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a request with additional headers. Returns any response except a refusal for lack of authorization.
    pub(in crate::upstream) async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) -> Result<StreamedResponse, UpstreamError> {
        let (mut challenges, mut redirects) = (0, 0);
        let mut moved: Option<Url> = None;
        loop {
            let url = moved.as_ref().unwrap_or(url);
            let mut request = Request::new(Full::new(body.clone().unwrap_or_default()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = if *url == self.url { self.uri.clone() } else { uri_of(url)? };
            *request.headers_mut() = self.with_headers(headers, &method, url).await?;
            if body.is_some() {
                request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
            }
            let response = self.client.send(request).await?;
            self.authorizer.observe_response(&self.slug, response.headers());
            if let Some(to) = redirect_target(url, response.status(), response.headers(), redirects) {
                redirects += 1;
                moved = Some(to);
                continue;
            }
            let status = response.status();
            let is_challenge = status == StatusCode::UNAUTHORIZED
                || (status == StatusCode::FORBIDDEN && response.headers().contains_key(WWW_AUTHENTICATE));
            // The authorizer can't replace a key that the owner has set.
            if !is_challenge || self.headers.contains_key(AUTHORIZATION) {
                return Ok(response);
            }
            let challenge = challenge_header(response.headers());
            let said = read_excerpt(response).await;
            challenges += 1;
            if challenges > MAX_CHALLENGES {
                return Err(UpstreamError::NeedsLogin(said));
            }
            let answer =
                self.authorizer.handle_challenge(&self.slug, self.url.as_str(), &challenge, status).await;
            match answer {
                Ok(ChallengeOutcome::RetryRequest) => {}
                Ok(ChallengeOutcome::NeedsLogin) => return Err(UpstreamError::NeedsLogin(said)),
                Err(error) if error.needs_login || error.hint.is_some() => return Err(no_token(error)),
                Err(error) => return Err(UpstreamError::Status(status, error.to_string())),
            }
        }
    }

    async fn with_headers(
        &self,
        headers: &HeaderMap,
        method: &Method,
        url: &Url,
    ) -> Result<HeaderMap, UpstreamError> {
        let mut all = HeaderMap::with_capacity(self.headers.len() + headers.len() + 4);
        all.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        all.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        if self.headers.contains_key(AUTHORIZATION) {
            return Ok(all);
        }
        let token = self.authorizer.token(&self.slug, self.url.as_str()).await;
        let token = token.map_err(no_token)?;
        if let Some(token) = token {
            let proof = self.authorizer.proof(&self.slug, method, url, &token);
            let scheme = if proof.is_some() { "DPoP" } else { "Bearer" };
            all.extend(proof.map(|proof| (DPOP, proof)));
            let value = HeaderValue::try_from(format!("{scheme} {}", token.expose_secret()));
            let mut value = value
                .map_err(|_| UpstreamError::NeedsLogin("its token is not a valid header value".to_owned()))?;
            value.set_sensitive(true);
            all.insert(AUTHORIZATION, value);
        }
        Ok(all)
    }
}

/// Converts the error of the authorizer.
fn no_token(error: AuthorizeError) -> UpstreamError {
    match error.hint {
        _ if error.needs_login => UpstreamError::NeedsLogin(error.message),
        Some(_) => UpstreamError::NoToken(error.message),
        None => UpstreamError::Unreachable(error.message),
    }
}

/// Returns true if a response has this media type.
pub(in crate::upstream) fn has_media_type(response: &StreamedResponse, wanted: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = value.and_then(|value| value.split(';').next());
    media.is_some_and(|media| media.trim().eq_ignore_ascii_case(wanted))
}

/// The `Host` header of all requests (RFC 9112, section 3.2), which go to one origin.
fn host_of(url: &Url) -> Result<HeaderValue, UpstreamError> {
    let host = url.host_str().unwrap_or_default();
    let value = match url.port() {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")),
        None => HeaderValue::from_str(host),
    };
    value.map_err(|_| {
        UpstreamError::InvalidDefinition("its address has a host that can't be named".to_owned())
    })
}

fn uri_of(url: &Url) -> Result<Uri, UpstreamError> {
    url.as_str()
        .parse()
        .map_err(|error| UpstreamError::InvalidDefinition(format!("its address can't be used: {error}")))
}
