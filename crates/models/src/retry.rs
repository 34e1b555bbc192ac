//! When a request is made again, and after how long: only where nothing came of it and the same may succeed later,
//! with waits that double and are spread by chance, or those that the provider asks for.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use crate::config::Retries;
use crate::error::ModelError;
use crate::failure::Failure;

/// The longest wait that we choose ourselves.
const LONGEST_OWN_WAIT: Duration = Duration::from_secs(30);
/// Which part of a wait is left to chance, so that those who failed together do not return together.
const SPREAD: f64 = 0.25;

/// What becomes of a failure before anything came of the request.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is made again after so long.
    Again(Duration, ModelError),
    /// It is not.
    Over(ModelError),
}

/// Decides about the failure of attempt number `attempt`, from 1. `fraction` is chance, from 0 to 1.
pub(crate) fn decide(retries: &Retries, attempt: u32, failure: Failure, fraction: f64) -> Verdict {
    let Failure { error, again } = failure;
    if !again {
        return Verdict::Over(error);
    }
    if attempt >= retries.attempts {
        return Verdict::Over(match attempt {
            1 => error,
            count => with_more(error, &format!("It was asked {count} times.")),
        });
    }
    match error.retry_after {
        Some(wanted) if wanted > retries.longest_wait => {
            let hint = format!("It wants to be left alone for {}.", in_words(wanted));
            Verdict::Over(with_more(error, &hint))
        }
        // A little later than asked for, never sooner.
        Some(wanted) => Verdict::Again(wanted.mul_f64(1.0 + fraction * SPREAD / 5.0), error),
        None => {
            let doubled = retries.first_wait.saturating_mul(1 << (attempt - 1).min(16));
            let bounded = doubled.min(LONGEST_OWN_WAIT).min(retries.longest_wait);
            Verdict::Again(bounded.mul_f64(1.0 - fraction * SPREAD), error)
        }
    }
}

/// A number from 0 to 1 that nobody foresees. Not for secrets.
pub(crate) fn any_fraction() -> f64 {
    // The hasher's keys are chosen at random in each process, and differ from one to the next.
    let bits = RandomState::new().build_hasher().finish() >> 11;
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = bits as f64 / (1u64 << 53) as f64;
    fraction
}

fn with_more(mut error: ModelError, more: &str) -> ModelError {
    error.hint = Some(match error.hint.take() {
        Some(hint) => format!("{hint} {more}"),
        None => more.to_owned(),
    });
    error
}

fn in_words(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests;
