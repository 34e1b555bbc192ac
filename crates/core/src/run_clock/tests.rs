use std::sync::Arc;

use proptest::prelude::*;
use tokio::time::sleep;

use super::*;
use crate::testkit::{millis, secs, yield_to_tasks};

/// Waits until the clock expires, and returns the reason and the time.
async fn wait_for_expiry(clock: &RunClock) -> (ExpiryReason, Duration) {
    let expiry = clock.wait_until_expired().await;
    (expiry, clock.elapsed())
}

#[tokio::test(start_paused = true)]
async fn the_clock_expires_after_its_limit() {
    let clock = RunClock::start(secs(30), None, secs(120));
    assert_eq!(clock.remaining(), secs(30));
    sleep(secs(12)).await;
    assert_eq!(clock.remaining(), secs(18));
    assert_eq!(wait_for_expiry(&clock).await, (ExpiryReason::Deadline, secs(30)));
    assert_eq!(clock.remaining(), Duration::ZERO);
    sleep(secs(1)).await;
    assert_eq!(clock.remaining(), Duration::ZERO);
    assert_eq!(clock.wait_until_expired().await, ExpiryReason::Deadline, "asked again it says so at once");
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_move_the_deadline() {
    let clock = Arc::new(RunClock::start(secs(10), None, secs(120)));
    let working = clock.clone();
    tokio::spawn(async move {
        loop {
            sleep(millis(700)).await;
            working.note_activity();
        }
    });
    assert_eq!(wait_for_expiry(&clock).await, (ExpiryReason::Deadline, secs(10)));
}

#[tokio::test(start_paused = true)]
async fn the_clock_pauses_while_a_person_is_asked() {
    let clock = Arc::new(RunClock::start(secs(10), None, secs(120)));
    let ended = tokio::spawn({
        let clock = clock.clone();
        async move { wait_for_expiry(&clock).await }
    });
    sleep(secs(4)).await;
    clock.pause();
    for _ in 0..3 {
        assert_eq!(clock.remaining(), secs(6));
        sleep(secs(20)).await;
    }
    assert_eq!(clock.person_time_used(), secs(60));
    clock.note_activity();
    assert_eq!((clock.person_time_used(), clock.remaining()), (secs(60), secs(6)));
    sleep(secs(1)).await;
    assert_eq!((clock.person_time_used(), clock.remaining()), (secs(60), secs(5)));
    assert_eq!(ended.await.unwrap(), (ExpiryReason::Deadline, secs(70)));
}

#[tokio::test(start_paused = true)]
async fn the_total_time_for_persons_is_limited() {
    let clock = Arc::new(RunClock::start(secs(10), None, secs(120)));
    let ended = tokio::spawn({
        let clock = clock.clone();
        async move { wait_for_expiry(&clock).await }
    });
    clock.pause();
    sleep(secs(100)).await;
    clock.note_activity();
    sleep(secs(2)).await;
    clock.pause();
    sleep(secs(19)).await;
    assert_eq!((clock.person_time_used(), clock.remaining()), (secs(119), secs(8)));
    sleep(secs(3)).await;
    assert_eq!(
        (clock.person_time_used(), clock.remaining()),
        (secs(120), secs(6)),
        "by itself it runs again"
    );
    clock.pause();
    sleep(secs(2)).await;
    assert_eq!(
        (clock.person_time_used(), clock.remaining()),
        (secs(120), secs(4)),
        "and can't be stopped any more"
    );
    assert_eq!(ended.await.unwrap(), (ExpiryReason::Deadline, secs(130)));
}

#[tokio::test(start_paused = true)]
async fn the_limit_for_persons_applies_without_polling() {
    let clock = RunClock::start(secs(300), None, secs(120));
    sleep(secs(10)).await;
    clock.pause();
    sleep(secs(200)).await;
    clock.note_activity();
    assert_eq!((clock.person_time_used(), clock.remaining()), (secs(120), secs(300 - 10 - 80)));
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_still_expires() {
    let clock = RunClock::start(secs(30), Some(secs(5)), secs(120));
    sleep(secs(3)).await;
    clock.pause();
    assert_eq!(wait_for_expiry(&clock).await, (ExpiryReason::Silence, secs(125)));
}

#[tokio::test(start_paused = true)]
async fn pausing_twice_equals_pausing_once() {
    let clock = RunClock::start(secs(10), None, secs(120));
    clock.pause();
    sleep(secs(5)).await;
    clock.pause();
    sleep(secs(5)).await;
    clock.note_activity();
    clock.note_activity();
    assert_eq!((clock.person_time_used(), clock.remaining()), (secs(10), secs(10)));
}

#[tokio::test(start_paused = true)]
async fn without_time_for_persons_the_clock_does_not_pause() {
    let clock = RunClock::start(secs(10), None, Duration::ZERO);
    clock.pause();
    sleep(secs(4)).await;
    assert_eq!((clock.person_time_used(), clock.remaining()), (Duration::ZERO, secs(6)));
    assert_eq!(wait_for_expiry(&clock).await, (ExpiryReason::Deadline, secs(10)));
}

#[tokio::test(start_paused = true)]
async fn silence_is_limited_within_the_deadline() {
    let clock = RunClock::start(secs(60), Some(secs(10)), secs(120));
    assert_eq!(wait_for_expiry(&clock).await, (ExpiryReason::Silence, secs(10)));

    let clock = Arc::new(RunClock::start(secs(60), Some(secs(10)), secs(120)));
    let ended = tokio::spawn({
        let clock = clock.clone();
        async move { wait_for_expiry(&clock).await }
    });
    for _ in 0..3 {
        sleep(secs(9)).await;
        clock.note_activity();
    }
    assert_eq!(ended.await.unwrap(), (ExpiryReason::Silence, secs(37)));

    let clock = Arc::new(RunClock::start(secs(30), Some(secs(10)), secs(120)));
    let working = clock.clone();
    tokio::spawn(async move {
        loop {
            sleep(secs(9)).await;
            working.note_activity();
        }
    });
    assert_eq!(
        wait_for_expiry(&clock).await,
        (ExpiryReason::Deadline, secs(30)),
        "signs of life do not move the deadline"
    );

    let clock = RunClock::start(secs(10), Some(secs(10)), secs(120));
    assert_eq!(
        wait_for_expiry(&clock).await,
        (ExpiryReason::Deadline, secs(10)),
        "where both pass at once it is the deadline"
    );
}

#[tokio::test(start_paused = true)]
async fn silence_does_not_count_while_a_person_is_asked() {
    let clock = Arc::new(RunClock::start(secs(300), Some(secs(10)), secs(120)));
    let ended = tokio::spawn({
        let clock = clock.clone();
        async move { wait_for_expiry(&clock).await }
    });
    sleep(secs(6)).await;
    clock.pause();
    sleep(secs(50)).await;
    assert!(!ended.is_finished());
    clock.note_activity();
    assert_eq!(ended.await.unwrap(), (ExpiryReason::Silence, secs(66)));
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_silence_can_be_set_later() {
    let clock = Arc::new(RunClock::start(secs(60), None, secs(120)));
    let ended = tokio::spawn({
        let clock = clock.clone();
        async move { wait_for_expiry(&clock).await }
    });
    sleep(secs(20)).await;
    clock.set_silence_limit(secs(5));
    yield_to_tasks().await;
    assert_eq!(ended.await.unwrap(), (ExpiryReason::Silence, secs(25)));
}

#[tokio::test(start_paused = true)]
async fn very_large_limits_are_clamped() {
    let clock = RunClock::start(Duration::MAX, Some(Duration::MAX), Duration::MAX);
    clock.pause();
    sleep(secs(5)).await;
    clock.note_activity();
    clock.set_silence_limit(Duration::MAX);
    assert_eq!(clock.person_time_used(), secs(5));
    assert!(clock.remaining() > secs(99 * 365 * 24 * 3600));
}

/// Actions on a clock, each after a delay.
#[derive(Debug, Clone, Copy)]
enum ClockAction {
    Stop,
    Touch,
}

/// Computes the expected result by counting down in steps of 50 ms.
fn expected_expiry(
    limit: u64,
    silence: Option<u64>,
    person: u64,
    acts: &[(u64, ClockAction)],
) -> (ExpiryReason, u64) {
    const TICK: u64 = 50;
    let (mut left, mut quiet, mut asked, mut stopped, mut now) = (limit, silence, person, false, 0);
    let mut acts = acts.iter();
    let mut next = acts.next().map(|(after, act)| (*after, *act));
    loop {
        while let Some((at, act)) = next.filter(|(at, _)| *at <= now) {
            match act {
                ClockAction::Stop => stopped = asked > 0,
                ClockAction::Touch => (stopped, quiet) = (false, silence),
            }
            next = acts.next().map(|(after, act)| (at + after, *act));
        }
        now += TICK;
        if stopped {
            asked -= TICK;
            stopped = asked > 0;
            continue;
        }
        left -= TICK;
        quiet = quiet.map(|quiet| quiet - TICK);
        match (left, quiet) {
            (0, _) => return (ExpiryReason::Deadline, now),
            (_, Some(0)) => return (ExpiryReason::Silence, now),
            _ => {}
        }
    }
}

proptest! {
    // Actions fall on half seconds, and limits are chosen so that nothing expires at the moment of an action.
    #[test]
    fn the_clock_expires_as_computed_by_counting_down(
        limit in 1u64..40,
        silence in prop::option::of(1u64..15),
        person in 0u64..30,
        acts in prop::collection::vec((0u64..12, prop_oneof![Just(ClockAction::Stop), Just(ClockAction::Touch)]), 0..12),
    ) {
        let (limit, person) = (limit * 1000, person * 1000);
        let silence = silence.map(|silence| silence * 1000 + 250);
        let mut acts: Vec<_> = acts.into_iter().map(|(after, act)| (after * 1000, act)).collect();
        if let Some(first) = acts.first_mut() {
            first.0 += 500;
        }
        let expected = expected_expiry(limit, silence, person, &acts);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let seen = runtime.unwrap().block_on(async {
            let clock = Arc::new(RunClock::start(millis(limit), silence.map(millis), millis(person)));
            let acting = clock.clone();
            tokio::spawn(async move {
                for (after, act) in acts {
                    sleep(millis(after)).await;
                    match act {
                        ClockAction::Stop => acting.pause(),
                        ClockAction::Touch => acting.note_activity(),
                    }
                }
            });
            wait_for_expiry(&clock).await
        });
        prop_assert_eq!(seen, (expected.0, millis(expected.1)));
    }
}
