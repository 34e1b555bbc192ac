//! Asks a running gateway over its REST API.

mod body;
mod errors;
pub(crate) mod find;
mod sse;
mod websocket;

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode, Url, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::report::{Done, Failure};
pub(crate) use body::Body;
pub(crate) use find::{ConnectArgs, Place, Target, TokenPlace};
pub(crate) use sse::{Event, Events};
pub(crate) use websocket::Socket;

/// How long the gateway may take to take the connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may take to answer where it is not asked to run a tool.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the program calls itself.
const USER_AGENT: &str = concat!("toolway/", env!("CARGO_PKG_VERSION"));

/// An answer with when it was given.
#[derive(Debug)]
pub(crate) struct Dated {
    /// The JSON text as it came.
    pub(crate) text: String,
    /// The gateway's time, in milliseconds since the epoch, where it said it.
    pub(crate) date_ms: Option<i64>,
}

/// One gateway, reached with one token.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: SecretString,
    token_place: TokenPlace,
}

impl Client {
    /// For a gateway that was found.
    pub(crate) fn new(target: Target) -> Done<Self> {
        let base = Url::parse(&target.url)
            .map_err(|error| Failure::usage(format!("{:?} is not an address: {error}", target.url)))?;
        // Also where nothing is encrypted: without one, the library looks for a provider that isn't there.
        let config = toolway_device::trust::rustls_config(&target.trust)
            .map_err(|error| Failure::new(error.to_string()).code("tls"))?;
        let http = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .tls_backend_preconfigured(config)
            .build()
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self { http, base, token: target.token, token_place: target.token_place })
    }

    /// The gateway's address.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Where the token came from.
    pub(crate) fn token_place(&self) -> &TokenPlace {
        &self.token_place
    }

    /// Whether the token is an owner's, going by how it is written. The gateway decides by itself; this is for
    /// offering nothing that it would refuse.
    pub(crate) fn is_owner(&self) -> bool {
        self.token.expose_secret().starts_with("twy_o_")
    }

    /// Reads something; gives the JSON text as it came.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> Done<String> {
        self.answer(self.request_with(Method::GET, path, query)?.timeout(PATIENCE)).await
    }

    /// Reads something that may be long, as it comes.
    pub(crate) async fn get_body(&self, path: &[&str], query: &[(&str, String)]) -> Done<Body> {
        Ok(Body::of(self.sent(self.request_with(Method::GET, path, query)?).await?))
    }

    /// Reads something; also gives the gateway's time.
    pub(crate) async fn get_dated(&self, path: &[&str]) -> Done<Dated> {
        let response = self.sent(self.request(Method::GET, path)?.timeout(PATIENCE)).await?;
        let date = response.headers().get(header::DATE).and_then(|value| value.to_str().ok());
        let date_ms = date
            .and_then(|text| jiff::fmt::rfc2822::parse(text).ok())
            .map(|it| it.timestamp().as_millisecond());
        let text = response.text().await.map_err(|error| errors::of_transport(self.url(), &error))?;
        Ok(Dated { text, date_ms })
    }

    /// Asks for something without saying more; gives the JSON text as it came (nothing for 204).
    pub(crate) async fn ask(&self, method: Method, path: &[&str]) -> Done<String> {
        self.answer(self.request(method, path)?.timeout(PATIENCE)).await
    }

    /// The same, with a query.
    pub(crate) async fn ask_with(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Done<String> {
        self.answer(self.request_with(method, path, query)?.timeout(PATIENCE)).await
    }

    /// Asks for something; gives the JSON text as it came.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> Done<String> {
        self.answer(self.request(method, path)?.json(body).timeout(PATIENCE)).await
    }

    /// Puts something in its place; gives whether it is new there.
    pub(crate) async fn put(&self, path: &[&str], body: &(impl Serialize + ?Sized)) -> Done<bool> {
        let request = self.request(Method::PUT, path)?.json(body).timeout(PATIENCE);
        Ok(self.sent(request).await?.status() == StatusCode::CREATED)
    }

    /// The same of something that takes as long as it takes.
    pub(crate) async fn send_and_wait(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> Done<String> {
        self.answer(self.request(method, path)?.json(body)).await
    }

    /// Calls something that answers with events.
    pub(crate) async fn post_for_events(
        &self,
        path: &[&str],
        body: &(impl Serialize + ?Sized),
    ) -> Done<Events> {
        let request = self.request(Method::POST, path)?.json(body);
        self.events(request).await
    }

    /// Listens to events.
    pub(crate) async fn listen(&self, path: &[&str], query: &[(&str, String)]) -> Done<Events> {
        self.events(self.request_with(Method::GET, path, query)?).await
    }

    async fn events(&self, request: RequestBuilder) -> Done<Events> {
        let response = self.sent(request.header(header::ACCEPT, "text/event-stream")).await?;
        Ok(Events::of(response))
    }

    fn request(&self, method: Method, path: &[&str]) -> Done<RequestBuilder> {
        self.request_with(method, path, &[])
    }

    fn request_with(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> Done<RequestBuilder> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Failure::usage(format!("{} can't be a gateway's address", self.base)))?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut token = header::HeaderValue::from_str(&format!("Bearer {}", self.token.expose_secret()))
            .map_err(|_| Failure::new("the token has characters in it that no token has"))?;
        token.set_sensitive(true);
        Ok(self.http.request(method, url).header(header::AUTHORIZATION, token))
    }

    async fn answer(&self, request: RequestBuilder) -> Done<String> {
        let response = self.sent(request).await?;
        response.text().await.map_err(|error| errors::of_transport(self.url(), &error))
    }

    /// Sends it; an answer that is no success becomes a failure in the gateway's own words.
    async fn sent(&self, request: RequestBuilder) -> Done<reqwest::Response> {
        let response = request.send().await.map_err(|error| errors::of_transport(self.url(), &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.text().await.unwrap_or_default();
        Err(errors::of_answer(self.url(), status, &body, &self.token_place))
    }
}

/// Reads an answer of the gateway into what is shown of it.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Done<T> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("the gateway's answer can't be understood: {error}"))
            .hint("bring this program and the gateway to the same version (`toolway version`)")
    })
}
