//! Conversion of a provider's error to a [`ModelError`]: status and text become one of our kinds and a hint. The
//! provider's text is quoted and truncated, and a repeated key is removed from it.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use reqwest::Url;
use toolway_types::name::is_invisible;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};

mod classification;
mod hint;
mod provider_error;
mod redaction;
mod retry_after;
mod similar_models;

pub(crate) use provider_error::ProviderErrorBody;
pub(crate) use similar_models::with_similar_models;

use classification::FailureClass;
use redaction::redact_secrets;

/// Maximum length of a quote from a provider, in bytes.
const MAX_QUOTE_BYTES: usize = 600;

/// A failed attempt. It is retryable if the same request may succeed later, as long as there was no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptFailure {
    pub(crate) error: ModelError,
    pub(crate) is_retryable: bool,
}

impl AttemptFailure {
    /// Creates a failure that the next attempt would meet as well.
    pub(crate) fn permanent(error: ModelError) -> Self {
        Self { error, is_retryable: false }
    }
}

impl From<ModelError> for AttemptFailure {
    /// A failure is retryable if the kind of its error is.
    fn from(error: ModelError) -> Self {
        let again = error.is_retryable();
        Self { error, is_retryable: again }
    }
}

/// Returns the failure of a response with an error status. `model` is the requested model; empty if there was none.
pub(crate) fn from_response(
    config: &ProviderConfig,
    url: &Url,
    model: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> AttemptFailure {
    if status.is_redirection() {
        return from_redirect(config, status, headers);
    }
    let said = ProviderErrorBody::from_body(body);
    let meaning = classification::classify(Some(status), &said);
    let mut failure = explain(config, model, Some(url), &said, &meaning, Some(status));
    failure.error.retry_after = retry_after::retry_after(headers).or(said.retry_after);
    match retry_after::should_retry(headers) {
        Some(true) if meaning.kind != ModelErrorKind::Auth => failure.is_retryable = true,
        Some(false) => failure.is_retryable = false,
        _ => {}
    }
    failure
}

/// Returns the failure for an error in a response with a success status, in place of a stream or inside it.
pub(crate) fn from_stream_error(
    config: &ProviderConfig,
    model: &str,
    said: &ProviderErrorBody,
) -> AttemptFailure {
    let meaning = classification::classify(said.status(), said);
    let mut failure = explain(config, model, None, said, &meaning, said.status());
    failure.error.retry_after = said.retry_after;
    failure
}

/// Returns the failure for data that violates the API. `what` describes the problem; `shown` is a part of the data.
pub(crate) fn protocol_failure(config: &ProviderConfig, what: &str, shown: &str) -> AttemptFailure {
    let quoted = sanitize_quote(config, shown);
    let message = if quoted.is_empty() { what.to_owned() } else { format!("{what}: {quoted}") };
    let error = ModelError::new(ModelErrorKind::Protocol, Arc::clone(&config.name), message);
    AttemptFailure::permanent(error.with_hint("Check base_url and kind. The server may have another API."))
}

/// Returns the failure for a response that ended without a finish reason, so it is incomplete.
pub(crate) fn truncated_response(config: &ProviderConfig) -> AttemptFailure {
    let message = "the response is incomplete";
    let error = ModelError::new(ModelErrorKind::Network, Arc::clone(&config.name), message);
    AttemptFailure::from(error.with_hint("The text so far is kept. Retry, or let the model continue."))
}

/// Returns the failure for a response that ended before the model said anything.
pub(crate) fn empty_response(config: &ProviderConfig) -> AttemptFailure {
    let message = "the response is empty";
    let error = ModelError::new(ModelErrorKind::Network, Arc::clone(&config.name), message);
    AttemptFailure::from(error.with_hint("Retry. If it stays empty, read the log of the model server."))
}

/// Returns the failure for a timeout of `waited`. `setting` is the setting that configures it.
pub(crate) fn timed_out(
    config: &ProviderConfig,
    what: &str,
    waited: Duration,
    setting: &str,
) -> AttemptFailure {
    let message = format!("{what} within {} s", waited.as_secs_f64());
    let error = ModelError::new(ModelErrorKind::Timeout, Arc::clone(&config.name), message);
    let hint = format!("If this model needs more time, increase timeouts.{setting} of {:?}.", &*config.name);
    AttemptFailure::from(error.with_hint(hint))
}

fn from_redirect(config: &ProviderConfig, status: StatusCode, headers: &HeaderMap) -> AttemptFailure {
    let to = headers.get(http::header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
    let message =
        format!("responded with {} and redirects to {}", status.as_u16(), sanitize_quote(config, to));
    let mut error = ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message);
    error.status = Some(status.as_u16());
    AttemptFailure::permanent(
        error.with_hint("Redirects are not followed, to protect the key. Correct base_url."),
    )
}

fn explain(
    config: &ProviderConfig,
    model: &str,
    url: Option<&Url>,
    said: &ProviderErrorBody,
    meaning: &FailureClass,
    status: Option<StatusCode>,
) -> AttemptFailure {
    let quoted = sanitize_quote(config, &said.message);
    let what = meaning.description(model);
    let message = match (status, quoted.is_empty()) {
        (Some(status), true) => format!("{what} (HTTP {})", status.as_u16()),
        (Some(status), false) => format!("{what} (HTTP {}): {quoted}", status.as_u16()),
        (None, true) => what,
        (None, false) => format!("{what}: {quoted}"),
    };
    let mut error = ModelError::new(meaning.kind, Arc::clone(&config.name), message);
    error.status = status.map(|status| status.as_u16());
    error.hint = hint::hint_for(config, meaning, url);
    AttemptFailure { error, is_retryable: meaning.is_retryable }
}

/// Puts a quote on one line, removes the key and truncates it.
fn sanitize_quote(config: &ProviderConfig, text: &str) -> String {
    let text = redact_secrets(config, text);
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || is_invisible(c)).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MAX_QUOTE_BYTES {
            line.truncate(line.floor_char_boundary(MAX_QUOTE_BYTES));
            line.push('…');
            break;
        }
    }
    line
}

/// Returns an address without its query, which may contain secrets.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests;
