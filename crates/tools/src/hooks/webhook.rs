//! Hooks that are webhooks: the request is the signed body of a POST, and the decision is the body of the
//! response. The owner chose the URL, so it may be private; redirects are not followed.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url};
use toolway_core::HookError;
use toolway_types::Clock;

use super::request::HookRequest;
use super::signature::SigningKey;
use super::{HookTransport, MAX_ANSWER_BYTES};

/// Sends webhooks. Cheap to clone; all clones share their connections.
#[derive(Debug, Clone)]
pub struct WebhookClient(Client);

impl WebhookClient {
    /// Creates a client with the builder's trusted certificates. It follows no redirects and uses no proxy
    /// from the environment.
    ///
    /// # Errors
    /// Fails if the builder fails.
    pub fn new(builder: ClientBuilder) -> Result<Self, reqwest::Error> {
        let agent = concat!("toolway/", env!("CARGO_PKG_VERSION"));
        builder.redirect(Policy::none()).referer(false).no_proxy().user_agent(agent).build().map(Self)
    }
}

/// A URL that acts as a hook.
#[derive(Debug)]
pub(super) struct WebhookHook {
    name: Arc<str>,
    url: Url,
    key: SigningKey,
    client: WebhookClient,
    clock: Arc<dyn Clock>,
}

impl WebhookHook {
    pub(super) fn new(
        name: Arc<str>,
        url: Url,
        key: SigningKey,
        client: WebhookClient,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { name, url, key, client, clock }
    }
}

#[async_trait]
impl HookTransport for WebhookHook {
    async fn ask(&self, question: &HookRequest<'_>) -> Result<String, HookError> {
        let body = question.to_json();
        // A request keeps its id when it is sent again.
        let id = format!("msg_{}_{}_{}", question.call_id(), question.stage().as_str(), self.name);
        let timestamp = self.clock.now_ms().div_euclid(1000);
        let signature = self.key.sign(&id, timestamp, &body);
        let request = self
            .client
            .0
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature)
            .body(body);
        let response = request.send().await.map_err(|error| not_sent(&error))?;
        let status = response.status();
        if status == StatusCode::NO_CONTENT {
            return Ok(String::new());
        }
        if status.is_redirection() {
            return Err(HookError(format!("it answered {status}; redirects are not followed")));
        }
        if !status.is_success() {
            return Err(HookError(format!("it answered {status}")));
        }
        read(response).await
    }
}

/// Reads the body, up to the maximum length.
async fn read(mut response: Response) -> Result<String, HookError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| not_sent(&error))? {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            return Err(HookError(format!("its response is longer than {MAX_ANSWER_BYTES} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    String::from_utf8(body).map_err(|_| HookError("its response is not UTF-8".to_owned()))
}

/// Describes a failed request. The URL is omitted, because it may contain a secret.
fn not_sent(error: &reqwest::Error) -> HookError {
    let what = if error.is_connect() {
        "cannot connect"
    } else if error.is_timeout() {
        "it timed out"
    } else if error.is_body() || error.is_decode() {
        "its response is incomplete"
    } else {
        "the request cannot be sent"
    };
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    let mut reasons = String::new();
    while let Some(reason) = cause {
        reasons = reason.to_string();
        cause = reason.source();
    }
    HookError(if reasons.is_empty() { what.to_owned() } else { format!("{what}: {reasons}") })
}
