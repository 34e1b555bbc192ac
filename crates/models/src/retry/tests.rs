use std::sync::Arc;

use super::*;
use crate::error::ModelErrorKind;

fn failure(kind: ModelErrorKind, retry_after: Option<u64>) -> AttemptFailure {
    let mut error = ModelError::new(kind, Arc::from("p"), "failed");
    error.retry_after = retry_after.map(Duration::from_secs);
    AttemptFailure::from(error)
}

fn wait(retries: &RetryPolicy, attempt: u32, retry_after: Option<u64>, fraction: f64) -> Option<Duration> {
    match decide(retries, attempt, failure(ModelErrorKind::Overloaded, retry_after), fraction) {
        RetryVerdict::Retry(wait, _) => Some(wait),
        RetryVerdict::GiveUp(_) => None,
    }
}

#[test]
fn delays_double_and_have_jitter() {
    let retries = RetryPolicy { max_attempts: 20, ..RetryPolicy::default() };
    let waits: Vec<_> =
        (1..=8).map(|attempt| wait(&retries, attempt, None, 0.0).unwrap().as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(wait(&retries, 3, None, 1.0), Some(Duration::from_secs(3)));
    assert_eq!(wait(&retries, 3, None, 0.5), Some(Duration::from_millis(3500)));
}

#[test]
fn the_providers_retry_delay_is_used_up_to_a_limit() {
    let retries = RetryPolicy::default();
    assert_eq!(wait(&retries, 1, Some(20), 0.0), Some(Duration::from_secs(20)));
    assert_eq!(wait(&retries, 1, Some(20), 1.0), Some(Duration::from_secs(21)));
    let RetryVerdict::GiveUp(error) =
        decide(&retries, 1, failure(ModelErrorKind::RateLimited, Some(3600)), 0.0)
    else {
        panic!("that is too long");
    };
    assert_eq!(error.hint.unwrap(), "The provider asks to wait for 60 min.");
}

#[test]
fn attempts_are_limited_and_permanent_failures_are_not_retried() {
    let retries = RetryPolicy::default();
    assert!(wait(&retries, 3, None, 0.0).is_some());
    let RetryVerdict::GiveUp(error) = decide(&retries, 4, failure(ModelErrorKind::Network, None), 0.0) else {
        panic!("four are enough");
    };
    assert_eq!(error.hint.unwrap(), "4 attempts failed.");
    for kind in [ModelErrorKind::Auth, ModelErrorKind::InvalidRequest, ModelErrorKind::Protocol] {
        assert!(matches!(decide(&retries, 1, failure(kind, None), 0.0), RetryVerdict::GiveUp(_)), "{kind:?}");
    }
    let never = RetryPolicy { max_attempts: 1, ..retries };
    let RetryVerdict::GiveUp(error) = decide(&never, 1, failure(ModelErrorKind::Network, None), 0.0) else {
        panic!("one is all");
    };
    assert_eq!(error.hint, None);
}

#[test]
fn the_random_fraction_is_from_0_to_1_and_changes() {
    let some: Vec<_> = (0..100).map(|_| random_fraction()).collect();
    assert!(some.iter().all(|fraction| (0.0..1.0).contains(fraction)));
    assert!(some.windows(2).any(|pair| pair[0] != pair[1]));
}
