use std::sync::Arc;

use super::*;
use crate::error::ModelErrorKind;

fn failure(kind: ModelErrorKind, retry_after: Option<u64>) -> Failure {
    let mut error = ModelError::new(kind, Arc::from("p"), "failed");
    error.retry_after = retry_after.map(Duration::from_secs);
    Failure::from(error)
}

fn wait(retries: &Retries, attempt: u32, retry_after: Option<u64>, fraction: f64) -> Option<Duration> {
    match decide(retries, attempt, failure(ModelErrorKind::Overloaded, retry_after), fraction) {
        Verdict::Again(wait, _) => Some(wait),
        Verdict::Over(_) => None,
    }
}

#[test]
fn waits_double_and_are_spread_by_chance() {
    let retries = Retries { attempts: 20, ..Retries::default() };
    let waits: Vec<_> =
        (1..=8).map(|attempt| wait(&retries, attempt, None, 0.0).unwrap().as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(wait(&retries, 3, None, 1.0), Some(Duration::from_secs(3)));
    assert_eq!(wait(&retries, 3, None, 0.5), Some(Duration::from_millis(3500)));
}

#[test]
fn what_the_provider_asks_for_counts_and_is_bounded() {
    let retries = Retries::default();
    assert_eq!(wait(&retries, 1, Some(20), 0.0), Some(Duration::from_secs(20)));
    assert_eq!(wait(&retries, 1, Some(20), 1.0), Some(Duration::from_secs(21)));
    let Verdict::Over(error) = decide(&retries, 1, failure(ModelErrorKind::RateLimited, Some(3600)), 0.0)
    else {
        panic!("that is too long");
    };
    assert_eq!(error.hint.unwrap(), "It wants to be left alone for 60 min.");
}

#[test]
fn attempts_are_counted_and_what_can_t_help_is_not_done() {
    let retries = Retries::default();
    assert!(wait(&retries, 3, None, 0.0).is_some());
    let Verdict::Over(error) = decide(&retries, 4, failure(ModelErrorKind::Network, None), 0.0) else {
        panic!("four are enough");
    };
    assert_eq!(error.hint.unwrap(), "It was asked 4 times.");
    for kind in [ModelErrorKind::Auth, ModelErrorKind::InvalidRequest, ModelErrorKind::Protocol] {
        assert!(matches!(decide(&retries, 1, failure(kind, None), 0.0), Verdict::Over(_)), "{kind:?}");
    }
    let never = Retries { attempts: 1, ..retries };
    let Verdict::Over(error) = decide(&never, 1, failure(ModelErrorKind::Network, None), 0.0) else {
        panic!("one is all");
    };
    assert_eq!(error.hint, None);
}

#[test]
fn chance_is_from_0_to_1_and_changes() {
    let some: Vec<_> = (0..100).map(|_| any_fraction()).collect();
    assert!(some.iter().all(|fraction| (0.0..1.0).contains(fraction)));
    assert!(some.windows(2).any(|pair| pair[0] != pair[1]));
}
