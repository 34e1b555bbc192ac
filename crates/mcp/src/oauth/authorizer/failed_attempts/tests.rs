use super::*;

fn refused() -> OauthError {
    OauthError::Refused { code: "invalid_client".to_owned(), description: None }
}

fn unreachable() -> OauthError {
    OauthError::Unreachable { url: "https://a.example".to_owned(), problem: "it is down".to_owned() }
}

/// The seconds until the next attempt.
fn wait(failed: &FailedAttempts) -> Option<u64> {
    match failed.check("one") {
        Err(OauthError::Postponed { seconds, .. }) => Some(seconds - 1),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn delays_grow_to_a_minute_or_an_hour_and_end_with_a_success_or_other_settings() {
    for (error, waits) in [
        (unreachable(), [1, 2, 4, 8, 16, 32, 60, 60].as_slice()),
        (refused(), &[60, 120, 240, 480, 960, 1920, 3600, 3600]),
    ] {
        let mut failed = FailedAttempts::default();
        assert_eq!(wait(&failed), None);
        for expected in waits {
            failed.record("one".to_owned(), &error);
            assert_eq!(wait(&failed), Some(*expected), "{error}");
            assert!(failed.check("other").is_ok());
            tokio::time::advance(Duration::from_secs(*expected)).await;
            assert_eq!(wait(&failed), None);
        }
        failed.clear();
        failed.record("one".to_owned(), &error);
        assert_eq!(wait(&failed), Some(waits[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_an_outage_starts_its_own_delays() {
    let mut failed = FailedAttempts::default();
    failed.record("one".to_owned(), &unreachable());
    failed.record("one".to_owned(), &unreachable());
    failed.record("one".to_owned(), &refused());
    assert_eq!(wait(&failed), Some(60));
    let Err(OauthError::Postponed { problem, is_transient, .. }) = failed.check("one") else {
        panic!("postponed")
    };
    assert!(problem.contains("invalid_client") && !is_transient);
}
