//! Growing delays between requests for a token that fail without a person.

use std::time::Duration;

use tokio::time::Instant;

use crate::oauth::error::OauthError;

/// The first and the longest delay after an authorization server that does not answer.
const UNREACHABLE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The first and the longest delay after a refusal. The same request is likely refused again, and some servers lock
/// clients that repeat it.
const REFUSED: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

/// The last failed attempts of one server with the same settings.
#[derive(Debug, Default)]
pub(super) struct FailedAttempts {
    last: Option<FailedAttempt>,
}

#[derive(Debug)]
struct FailedAttempt {
    settings: String,
    problem: String,
    is_transient: bool,
    next: Instant,
    count: u32,
}

impl FailedAttempts {
    /// Checks that an attempt with these settings may be made now.
    ///
    /// # Errors
    /// [`OauthError::Postponed`] with the problem of the last attempt.
    pub(super) fn check(&self, settings: &str) -> Result<(), OauthError> {
        let last = self.last.as_ref().filter(|last| last.settings == settings);
        let wait = last.map_or(Duration::ZERO, |last| last.next.saturating_duration_since(Instant::now()));
        match last {
            Some(last) if !wait.is_zero() => Err(OauthError::Postponed {
                problem: last.problem.clone(),
                seconds: wait.as_secs() + 1,
                is_transient: last.is_transient,
            }),
            _ => Ok(()),
        }
    }

    /// Records a failure.
    pub(super) fn record(&mut self, settings: String, error: &OauthError) {
        let before = self.last.take().filter(|last| last.settings == settings);
        let is_transient = error.is_transient();
        let count = before.filter(|last| last.is_transient == is_transient).map_or(0, |last| last.count + 1);
        let (first, longest) = if is_transient { UNREACHABLE } else { REFUSED };
        let wait = first.saturating_mul(1 << count.min(16)).min(longest);
        let next = Instant::now() + wait;
        self.last = Some(FailedAttempt { settings, problem: error.to_string(), is_transient, next, count });
    }

    /// Forgets the failures after a success.
    pub(super) fn clear(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests;
