//! HTTP client for the gateway's REST API.

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
use toolway_types::foreign_json;

use crate::error::{CliError, CliResult};
pub(crate) use body_stream::BodyStream;
pub(crate) use sse::{GatewayEvent, GatewayEventStream};
pub(crate) use target::{ConnectArgs, GatewayAddress, GatewayTarget, TokenLocation};
pub(crate) use websocket::GatewayWebSocket;

/// Timeout for connecting to the gateway.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a response, unless the request runs a tool.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// `User-Agent` header of all requests.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));

/// A response with the time at which the gateway sent it.
#[derive(Debug)]
pub(crate) struct DatedResponse {
    /// The JSON text, unchanged.
    pub(crate) text: String,
    /// The gateway's time in milliseconds since the epoch, if the response has a `Date` header.
    pub(crate) date_ms: Option<i64>,
}

/// Client of one gateway with one token.
#[derive(Debug)]
pub(crate) struct GatewayClient {
    http: reqwest::Client,
    base: Url,
    token: SecretString,
    token_place: TokenLocation,
}

/// Adds the time zone of this computer to a request that runs tools.
fn with_time_zone(request: RequestBuilder) -> RequestBuilder {
    let zone = jiff::tz::TimeZone::system();
    match zone.iana_name() {
        Some(name) => request.header(toolway_wire::TIME_ZONE_HEADER, name),
        None => request,
    }
}

impl GatewayClient {
    /// Creates a client for this gateway.
    pub(crate) fn new(target: GatewayTarget) -> CliResult<Self> {
        let base = Url::parse(&target.url)
            .map_err(|error| CliError::usage(format!("invalid address {:?}: {error}", target.url)))?;
        // Also needed for plain HTTP: without a configuration, reqwest looks for a default crypto provider, which is
        // not installed.
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

    /// Address of the gateway, without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Location that the token was read from.
    pub(crate) fn token_place(&self) -> &TokenLocation {
        &self.token_place
    }

    /// True if the token has the prefix of an owner's token. Only used to offer nothing that the gateway would reject;
    /// the gateway decides.
    pub(crate) fn is_owner(&self) -> bool {
        self.token.expose_secret().starts_with("twy_o_")
    }

    /// Sends a GET request and returns the JSON text.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> CliResult<String> {
        self.response_text(self.request_with(Method::GET, path, query)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// Sends a GET request and streams the body.
    pub(crate) async fn get_stream(&self, path: &[&str], query: &[(&str, String)]) -> CliResult<BodyStream> {
        Ok(BodyStream::new(self.send_checked(self.request_with(Method::GET, path, query)?).await?))
    }

    /// Sends a GET request and also returns the gateway's time.
    pub(crate) async fn get_dated(&self, path: &[&str]) -> CliResult<DatedResponse> {
        let response = self.send_checked(self.request(Method::GET, path)?.timeout(REQUEST_TIMEOUT)).await?;
        let date = response.headers().get(header::DATE).and_then(|value| value.to_str().ok());
        let date_ms = date
            .and_then(|text| jiff::fmt::rfc2822::parse(text).ok())
            .map(|it| it.timestamp().as_millisecond());
        let text = response.text().await.map_err(|error| errors::transport_error(self.url(), &error))?;
        Ok(DatedResponse { text, date_ms })
    }

    /// Sends a request without a body and returns the JSON text (empty for 204).
    pub(crate) async fn send_empty(&self, method: Method, path: &[&str]) -> CliResult<String> {
        self.response_text(self.request(method, path)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// Sends a request with a query and without a body.
    pub(crate) async fn send_empty_with_query(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> CliResult<String> {
        self.response_text(self.request_with(method, path, query)?.timeout(REQUEST_TIMEOUT)).await
    }

    /// Sends a request with a JSON body and returns the JSON text.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<String> {
        self.response_text(self.request(method, path)?.json(body).timeout(REQUEST_TIMEOUT)).await
    }

    /// Creates or replaces a resource. Returns true if it is new.
    pub(crate) async fn put(&self, path: &[&str], body: &(impl Serialize + ?Sized)) -> CliResult<bool> {
        let request = self.request(Method::PUT, path)?.json(body).timeout(REQUEST_TIMEOUT);
        Ok(self.send_checked(request).await?.status() == StatusCode::CREATED)
    }

    /// Sends a request without a timeout, for requests that run a tool.
    pub(crate) async fn send_and_wait(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<String> {
        self.response_text(with_time_zone(self.request(method, path)?.json(body))).await
    }

    /// Sends a POST request whose response is an event stream.
    pub(crate) async fn post_for_events(
        &self,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> CliResult<GatewayEventStream> {
        let request = with_time_zone(self.request(Method::POST, path)?.json(body));
        self.open_events(request).await
    }

    /// Subscribes to an event stream.
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
            .map_err(|()| CliError::usage(format!("invalid gateway address {}", self.base)))?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut token = header::HeaderValue::from_str(&format!("Bearer {}", self.token.expose_secret()))
            .map_err(|_| CliError::new("the token contains invalid characters"))?;
        token.set_sensitive(true);
        Ok(self.http.request(method, url).header(header::AUTHORIZATION, token))
    }

    async fn response_text(&self, request: RequestBuilder) -> CliResult<String> {
        let response = self.send_checked(request).await?;
        response.text().await.map_err(|error| errors::transport_error(self.url(), &error))
    }

    /// Sends a request. Turns any other status than success into an error with the gateway's message.
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

/// Parses a response of the gateway.
pub(crate) fn parse_response<T: DeserializeOwned>(text: &str) -> CliResult<T> {
    foreign_json::from_str(text).map_err(unreadable_response)
}

/// Creates the error for a response with an unexpected format.
pub(crate) fn unreadable_response(error: serde_json::Error) -> CliError {
    CliError::new(format!("cannot parse the gateway's response: {error}"))
        .with_hint("use the same version of this program and the gateway (`toolway version`)")
}
