//! Decides whether and when a request is retried. Only failures without output are retried, and only if the same
//! request may succeed later. Delays double, with random jitter; a provider's own `retry-after` takes precedence.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use crate::config::RetryPolicy;
use crate::error::ModelError;
use crate::failure::AttemptFailure;

/// Maximum delay, unless the provider asks for a longer one.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Random fraction of a delay, so that clients that failed together do not retry together.
const JITTER_FRACTION: f64 = 0.25;

/// Decision about a failure without output.
#[derive(Debug, PartialEq)]
pub(crate) enum RetryVerdict {
    /// Retry after this delay.
    Retry(Duration, ModelError),
    /// Do not retry.
    GiveUp(ModelError),
}

/// Decides about the failure of attempt number `attempt`, counted from 1. `fraction` is random, from 0 to 1.
pub(crate) fn decide(
    retries: &RetryPolicy,
    attempt: u32,
    failure: AttemptFailure,
    fraction: f64,
) -> RetryVerdict {
    let AttemptFailure { error, is_retryable: again } = failure;
    if !again {
        return RetryVerdict::GiveUp(error);
    }
    if attempt >= retries.max_attempts {
        return RetryVerdict::GiveUp(match attempt {
            1 => error,
            count => append_to_message(error, &format!("{count} attempts failed.")),
        });
    }
    match error.retry_after {
        Some(wanted) if wanted > retries.max_backoff => {
            let hint = format!("The provider asks to wait for {}.", format_duration(wanted));
            RetryVerdict::GiveUp(append_to_message(error, &hint))
        }
        // A little later than asked for, never sooner.
        Some(wanted) => RetryVerdict::Retry(wanted.mul_f64(1.0 + fraction * JITTER_FRACTION / 5.0), error),
        None => {
            let doubled = retries.initial_backoff.saturating_mul(1 << (attempt - 1).min(16));
            let bounded = doubled.min(MAX_BACKOFF).min(retries.max_backoff);
            RetryVerdict::Retry(bounded.mul_f64(1.0 - fraction * JITTER_FRACTION), error)
        }
    }
}

/// Returns a random number from 0 to 1. Not for secrets.
pub(crate) fn random_fraction() -> f64 {
    // The hasher's keys are chosen at random in each process, and differ from one to the next.
    let bits = RandomState::new().build_hasher().finish() >> 11;
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = bits as f64 / (1u64 << 53) as f64;
    fraction
}

fn append_to_message(mut error: ModelError, more: &str) -> ModelError {
    error.hint = Some(match error.hint.take() {
        Some(hint) => format!("{hint} {more}"),
        None => more.to_owned(),
    });
    error
}

fn format_duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests;
