use toolway_types::{CallId, ToolOutput};

use super::*;
use crate::record::CallDurations;
use crate::testkit::secs;

const HASH: [u8; 32] = [7; 32];

fn key(text: &str) -> PrincipalKey {
    ("owner".into(), text.into())
}

fn settings(keys: usize) -> EngineSettings {
    EngineSettings { max_idempotency_keys: keys, ..EngineSettings::default() }
}

fn finished(bytes: usize) -> FinishedCall {
    let outcome = Arc::new(Outcome::Success(ToolOutput::text("x".repeat(bytes))));
    FinishedCall { id: CallId::new(), tool: None, outcome, durations: CallDurations::default() }
}

#[track_caller]
fn turn(taken: SlotAcquisition) -> KeyHolder {
    match taken {
        SlotAcquisition::Acquired(turn) => turn,
        SlotAcquisition::Joined(..) => panic!("joined"),
        SlotAcquisition::Full => panic!("full"),
    }
}

fn is_joined(taken: &SlotAcquisition) -> bool {
    matches!(taken, SlotAcquisition::Joined(..))
}

#[tokio::test(start_paused = true)]
async fn a_key_is_in_use_while_its_call_runs_and_for_a_time_after() {
    let (once, settings) = (IdempotencyKeys::default(), settings(10));
    let first = turn(once.acquire(&settings, &key("k"), HASH));
    tokio::time::sleep(settings.key_lifetime * 2).await;
    assert!(is_joined(&once.acquire(&settings, &key("k"), HASH)), "it runs");
    first.complete(&finished(10));
    tokio::time::sleep(settings.key_lifetime - secs(1)).await;
    assert!(is_joined(&once.acquire(&settings, &key("k"), HASH)), "it ended not long ago");
    tokio::time::sleep(secs(1)).await;
    turn(once.acquire(&settings, &key("k"), HASH));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_holder_frees_its_key() {
    let (once, settings) = (IdempotencyKeys::default(), settings(10));
    drop(turn(once.acquire(&settings, &key("k"), HASH)));
    let next = turn(once.acquire(&settings, &key("k"), HASH));
    next.complete(&finished(10));
    assert_eq!(once.slots.lock().by_key.len(), 1);
    assert_eq!(once.slots.lock().bytes, 10 + SLOT_BYTES);
}

#[tokio::test(start_paused = true)]
async fn running_calls_are_never_removed() {
    let (once, settings) = (IdempotencyKeys::default(), settings(4));
    let running: Vec<_> = (0..4).map(|n| turn(once.acquire(&settings, &key(&n.to_string()), HASH))).collect();
    assert!(matches!(once.acquire(&settings, &key("one more"), HASH), SlotAcquisition::Full));
    assert!(is_joined(&once.acquire(&settings, &key("0"), HASH)), "for a key in use no room is needed");
    drop(running);
    turn(once.acquire(&settings, &key("one more"), HASH)).complete(&finished(0));
    assert_eq!(once.slots.lock().by_key.len(), 1, "what was given up is forgotten first");
}

#[tokio::test(start_paused = true)]
async fn the_oldest_outcomes_are_removed_first() {
    let (once, settings) = (IdempotencyKeys::default(), settings(8));
    for n in 0..7 {
        turn(once.acquire(&settings, &key(&n.to_string()), HASH)).complete(&finished(100));
        tokio::time::sleep(secs(1)).await;
    }
    let running = turn(once.acquire(&settings, &key("running"), HASH));
    turn(once.acquire(&settings, &key("new"), HASH)).complete(&finished(100));
    let mut left: Vec<_> = once.slots.lock().by_key.keys().map(|(_, key)| key.to_string()).collect();
    left.sort();
    assert_eq!(left, ["2", "3", "4", "5", "6", "new", "running"]);
    assert_eq!(once.slots.lock().bytes, 6 * (100 + SLOT_BYTES));
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn the_size_of_all_outcomes_is_limited() {
    let (once, settings) = (IdempotencyKeys::default(), settings(1000));
    let large = finished(10 << 20);
    for n in 0..20 {
        turn(once.acquire(&settings, &key(&n.to_string()), HASH)).complete(&large);
        tokio::time::sleep(secs(1)).await;
        let slots = once.slots.lock();
        assert!(slots.bytes <= MAX_OUTCOME_BYTES, "{}", slots.bytes);
        assert_eq!(slots.bytes, slots.by_key.len() * ((10 << 20) + SLOT_BYTES));
        assert!(slots.by_key.contains_key(&key(&n.to_string())), "the newest stays");
    }
    // An outcome that is too large alone is only kept in the records.
    turn(once.acquire(&settings, &key("huge"), HASH)).complete(&finished(MAX_OUTCOME_BYTES + 1));
    assert_eq!(once.slots.lock().bytes, 0);
}
