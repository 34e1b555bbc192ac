//! Hooks that are addresses: the question is the body of a POST, signed; the decision is the body of the
//! answer. The address is the owner's choice, so it may be a private one; redirects are not followed.

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
    /// A client that trusts whom the builder trusts. It follows no redirects, and takes no proxy from the
    /// environment.
    ///
    /// # Errors
    /// Where the builder can't make one.
    pub fn new(builder: ClientBuilder) -> Result<Self, reqwest::Error> {
        let agent = concat!("toolway/", env!("CARGO_PKG_VERSION"));
        builder.redirect(Policy::none()).referer(false).no_proxy().user_agent(agent).build().map(Self)
    }
}

/// An address that is asked.
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
        // One question has one id, whoever may send it again.
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

/// The body, as far as it is no longer than an answer may be.
async fn read(mut response: Response) -> Result<String, HookError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| not_sent(&error))? {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            return Err(HookError(format!("its answer is longer than {MAX_ANSWER_BYTES} bytes")));
        }
        body.extend_from_slice(&piece);
    }
    String::from_utf8(body).map_err(|_| HookError("its answer is not UTF-8".to_owned()))
}

/// What went wrong on the way. The address is left out: it may have a secret in it.
fn not_sent(error: &reqwest::Error) -> HookError {
    let what = if error.is_connect() {
        "it can't be reached"
    } else if error.is_timeout() {
        "it took too long"
    } else if error.is_body() || error.is_decode() {
        "its answer broke off"
    } else {
        "it can't be asked"
    };
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    let mut reasons = String::new();
    while let Some(reason) = cause {
        reasons = reason.to_string();
        cause = reason.source();
    }
    HookError(if reasons.is_empty() { what.to_owned() } else { format!("{what}: {reasons}") })
}
