use std::sync::Arc;

use tokio::time::advance;
use toolway_types::SystemClock;

use super::*;

fn counters() -> RecordingCounters {
    RecordingCounters::new(Arc::new(SystemClock))
}

fn fail(faults: &mut WriteFaults, counters: &RecordingCounters) -> Duration {
    let now = Instant::now();
    faults.record_failure(now, &sqlx::Error::WorkerCrashed, counters, 3);
    faults.next_attempt(now) - now
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_to_a_limit_and_reset_after_a_success() {
    let (mut faults, counters) = (WriteFaults::new(Duration::from_secs(1)), counters());
    let pauses: Vec<u128> = (0..9).map(|_| fail(&mut faults, &counters).as_millis()).collect();
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert!(counters.health(0).failing);
    assert!(faults.record_recovery(&counters));
    assert!(!faults.record_recovery(&counters));
    assert!(!counters.health(0).failing);
    assert!(counters.health(0).last_error.is_some());
    assert_eq!(fail(&mut faults, &counters).as_millis(), 50);
}

#[tokio::test(start_paused = true)]
async fn the_duration_of_a_failure_starts_with_the_first_attempt() {
    let (mut faults, counters) = (WriteFaults::new(Duration::from_secs(1)), counters());
    let began = Instant::now();
    advance(Duration::from_millis(600)).await;
    faults.record_failure(began, &sqlx::Error::WorkerCrashed, &counters, 3);
    assert!(!faults.is_lasting());
    advance(Duration::from_millis(400)).await;
    assert!(faults.is_lasting());
    faults.record_recovery(&counters);
    assert!(!faults.is_lasting());
}

#[tokio::test(start_paused = true)]
async fn a_lasting_failure_is_logged_at_intervals() {
    let mut said = None;
    assert!(is_due(&mut said, Instant::now()));
    advance(Duration::from_secs(29)).await;
    assert!(!is_due(&mut said, Instant::now()));
    advance(Duration::from_secs(1)).await;
    assert!(is_due(&mut said, Instant::now()));
}
