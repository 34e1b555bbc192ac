//! What a model provider's refusal means: its status and its words become one of our kinds, with what to do about
//! it. What it said is quoted and cut; a key that it repeats is taken out.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use reqwest::Url;
use toolway_types::name::is_invisible;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};

mod close;
mod hint;
mod kind;
mod redact;
mod said;
mod wait;

pub(crate) use close::with_close_names;
pub(crate) use said::Said;

use kind::Meaning;
use redact::redacted;

/// How much of what a provider said is quoted, in bytes.
const QUOTED: usize = 600;

/// A failure, and whether the same request is worth another attempt as long as nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) again: bool,
}

impl Failure {
    /// One that the next attempt would meet as well.
    pub(crate) fn last(error: ModelError) -> Self {
        Self { error, again: false }
    }
}

impl From<ModelError> for Failure {
    /// One that is worth another attempt where its kind is.
    fn from(error: ModelError) -> Self {
        let again = error.is_retryable();
        Self { error, again }
    }
}

/// Of an answer whose status is no success. `model` is the one that was asked for; empty where none was.
pub(crate) fn of_answer(
    config: &ProviderConfig,
    url: &Url,
    model: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    if status.is_redirection() {
        return of_redirect(config, status, headers);
    }
    let said = Said::in_body(body);
    let meaning = kind::of(Some(status), &said);
    let mut failure = explain(config, model, Some(url), &said, &meaning, Some(status));
    failure.error.retry_after = wait::told(headers).or(said.retry_after);
    match wait::should_retry(headers) {
        Some(true) if meaning.kind != ModelErrorKind::Auth => failure.again = true,
        Some(false) => failure.again = false,
        _ => {}
    }
    failure
}

/// Of an error that came in place of an answer, or in the middle of one, with a status of success.
pub(crate) fn in_stream(config: &ProviderConfig, model: &str, said: &Said) -> Failure {
    let meaning = kind::of(said.status(), said);
    let mut failure = explain(config, model, None, said, &meaning, said.status());
    failure.error.retry_after = said.retry_after;
    failure
}

/// What came is not what the API promises. `what` says what it is, `shown` is some of it.
pub(crate) fn protocol(config: &ProviderConfig, what: &str, shown: &str) -> Failure {
    let quoted = quoted(config, shown);
    let message = if quoted.is_empty() { what.to_owned() } else { format!("{what}: {quoted}") };
    let error = ModelError::new(ModelErrorKind::Protocol, Arc::clone(&config.name), message);
    Failure::last(
        error.with_hint("Check base_url and kind: this may be another API, or a page in its place."),
    )
}

/// The answer ended without a word on why: what came of it is not the whole.
pub(crate) fn cut_off(config: &ProviderConfig) -> Failure {
    let message = "the answer ended in the middle";
    let error = ModelError::new(ModelErrorKind::Network, Arc::clone(&config.name), message);
    Failure::from(error.with_hint("What came of it is kept. Ask again, or let the model go on."))
}

/// Nothing came for `waited`; `setting` is what says how long to wait.
pub(crate) fn too_slow(config: &ProviderConfig, what: &str, waited: Duration, setting: &str) -> Failure {
    let message = format!("{what} within {} s", waited.as_secs_f64());
    let error = ModelError::new(ModelErrorKind::Timeout, Arc::clone(&config.name), message);
    let hint =
        format!("Where this model needs longer, set timeouts.{setting} of {:?} higher.", &*config.name);
    Failure::from(error.with_hint(hint))
}

fn of_redirect(config: &ProviderConfig, status: StatusCode, headers: &HeaderMap) -> Failure {
    let to = headers.get(http::header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
    let message = format!("answered {} and leads to {}", status.as_u16(), quoted(config, to));
    let mut error = ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message);
    error.status = Some(status.as_u16());
    Failure::last(
        error.with_hint("Redirects are not followed, so that no key goes astray: correct base_url."),
    )
}

fn explain(
    config: &ProviderConfig,
    model: &str,
    url: Option<&Url>,
    said: &Said,
    meaning: &Meaning,
    status: Option<StatusCode>,
) -> Failure {
    let quoted = quoted(config, &said.message);
    let what = meaning.words(model);
    let message = match (status, quoted.is_empty()) {
        (Some(status), true) => format!("{what} (HTTP {})", status.as_u16()),
        (Some(status), false) => format!("{what} (HTTP {}): {quoted}", status.as_u16()),
        (None, true) => what,
        (None, false) => format!("{what}: {quoted}"),
    };
    let mut error = ModelError::new(meaning.kind, Arc::clone(&config.name), message);
    error.status = status.map(|status| status.as_u16());
    error.hint = hint::of(config, meaning, url);
    Failure { error, again: meaning.again }
}

/// What somebody else said, on one line, without the key, and cut.
fn quoted(config: &ProviderConfig, text: &str) -> String {
    let text = redacted(config, text);
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || is_invisible(c)).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > QUOTED {
            line.truncate(line.floor_char_boundary(QUOTED));
            line.push('…');
            break;
        }
    }
    line
}

/// An address, without what may be secret in it.
fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

#[cfg(test)]
mod tests;
