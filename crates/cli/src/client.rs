//! Asks a running gateway over its REST API.

mod body_stream;
mod connect;
mod errors;
mod sse;
pub(crate) mod target;
mod websocket;

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode, Url, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{CliError, CliResult};
pub(crate) use body_stream::BodyStream;
pub(crate) use sse::{GatewayEvent, GatewayEventStream};
pub(crate) use target::{ConnectArgs, GatewayAddress, GatewayTarget, TokenLocation};
pub(crate) use websocket::GatewayWebSocket;

/// How long the gateway may take to take the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to answer where it is not asked to run a tool.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// What the program calls itself.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));

/// An answer with when it was given.
#[derive(Debug)]
pub(crate) struct DatedResponse {
    /// The JSON text as it came.
    pub(crate) text: String,
    /// The gateway's time, in milliseconds since the epoch, where it said it.
    pub(crate) date_ms: Option<i64>,
}

/// One gateway, reached with one token.
#[derive(Debug)]
pub(crate) struct GatewayClient {
    http: reqwest::Client,
    base: Url,
    token: SecretString,
    token_place: TokenLocation,
}

impl GatewayClient {
    /// For a gateway that was found.
    pub(crate) fn new(target: GatewayTarget) -> CliResult<Self> {
        let base = Url::parse(&target.url)
            .map_err(|error| CliError::usage(format!("{:?} is not an address: {error}", target.url)))?;
        // Also where nothing is encrypted: without one, the library looks for a provider that isn't there.
        let config = toolway_device::trust::rustls_config(&target.trust)
            .map_err(|error| CliError::new(error.to_string()).with_code("tls"))?;
        let http = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT_TIMEOUT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .tls_backend_preconfigured(config)
            .build()
            .map_err(|error| CliError::new(error.to_string()))?;
        Ok(Self { http, base, token: target.token, token_place: target.token_place })
    }

    /// The gateway's address.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Where the token came from.
    pub(crate) fn token_place(&self) -> &TokenLocation {
        &self.token_place
    }

    /// Whether the token is an owner's, going by how it is written. The gateway decides by itself; this is for
    /// offering nothing that it would refuse.
    pub(crate) fn is_owner(&self) -> bool {
        self.token.expose_secret().starts_with("twy_o_")
    }

    /// Reads something; gives the JSON text as it came.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> CliResult<String> {
        self.response_text(self.request_with(Method::GET, path, query)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// Reads something that may be long, as it comes.
    pub(crate) async fn get_stream(&self, path: &[&str], query: &[(&str, String)]) -> CliResult<BodyStream> {
        Ok(BodyStream::new(self.send_checked(self.request_with(Method::GET, path, query)?).await?))
    }

    /// Reads something; also gives the gateway's time.
    pub(crate) async fn get_dated(&self, path: &[&str]) -> CliResult<DatedResponse> {
        let response = self.send_checked(self.request(Method::GET, path)?.timeout(REQUEST_TIMEOUT)).await?;
        let date = response.headers().get(header::DATE).and_then(|value| value.to_str().ok());
        let date_ms = date
            .and_then(|text| jiff::fmt::rfc2822::parse(text).ok())
            .map(|it| it.timestamp().as_millisecond());
        let text = response.text().await.map_err(|error| errors::transport_error(self.url(), &error))?;
        Ok(DatedResponse { text, date_ms })
    }

    /// Asks for something without saying more; gives the JSON text as it came (nothing for 204).
    pub(crate) async fn send_empty(&self, method: Method, path: &[&str]) -> CliResult<String> {
        self.response_text(self.request(method, path)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// The same, with a query.
    pub(crate) async fn send_empty_with_query(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> CliResult<String> {
        self.response_text(self.request_with(method, path, query)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// Asks for something; gives the JSON text as it came.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<String> {
        self.response_text(self.request(method, path)?.json(body).timeout(REQUEST_TIMEOUT)).await
    }

    /// Puts something in its place; gives whether it is new there.
    pub(crate) async fn put(&self, path: &[&str], body: &(impl Serialize + ?Sized)) -> CliResult<bool> {
        let request = self.request(Method::PUT, path)?.json(body).timeout(REQUEST_TIMEOUT);
        Ok(self.send_checked(request).await?.status() == StatusCode::CREATED)
    }

    /// The same of something that takes as long as it takes.
    pub(crate) async fn send_and_wait(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<String> {
        self.response_text(self.request(method, path)?.json(body)).await
    }

    /// Calls something that answers with events.
    pub(crate) async fn post_for_events(
        &self,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<GatewayEventStream> {
        let request = self.request(Method::POST, path)?.json(body);
        self.open_events(request).await
    }

    /// Listens to events.
    pub(crate) async fn subscribe(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> CliResult<GatewayEventStream> {
        self.open_events(self.request_with(Method::GET, path, query)?).await
    }

    async fn open_events(&self, request: RequestBuilder) -> CliResult<GatewayEventStream> {
        let response = self.send_checked(request.header(header::ACCEPT, "text/event-stream")).await?;
        Ok(GatewayEventStream::new(response))
    }

    fn request(&self, method: Method, path: &[&str]) -> CliResult<RequestBuilder> {
        self.request_with(method, path, &[])
    }

    fn request_with(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> CliResult<RequestBuilder> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| CliError::usage(format!("{} can't be a gateway's address", self.base)))?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut token = header::HeaderValue::from_str(&format!("Bearer {}", self.token.expose_secret()))
            .map_err(|_| CliError::new("the token has characters in it that no token has"))?;
        token.set_sensitive(true);
        Ok(self.http.request(method, url).header(header::AUTHORIZATION, token))
    }

    async fn response_text(&self, request: RequestBuilder) -> CliResult<String> {
        let response = self.send_checked(request).await?;
        response.text().await.map_err(|error| errors::transport_error(self.url(), &error))
    }

    /// Sends it; an answer that is no success becomes a failure in the gateway's own words.
    async fn send_checked(&self, request: RequestBuilder) -> CliResult<reqwest::Response> {
        let response = request.send().await.map_err(|error| errors::transport_error(self.url(), &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.text().await.unwrap_or_default();
        Err(errors::response_error(self.url(), status, &body, &self.token_place))
    }
}

/// Reads a response of the gateway.
pub(crate) fn parse_response<T: DeserializeOwned>(text: &str) -> CliResult<T> {
    serde_json::from_str(text).map_err(unreadable_response)
}

/// The gateway's response has an unexpected format.
pub(crate) fn unreadable_response(error: serde_json::Error) -> CliError {
    CliError::new(format!("the gateway's answer can't be understood: {error}"))
        .with_hint("bring this program and the gateway to the same version (`toolway version`)")
}
