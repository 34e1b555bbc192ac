use std::collections::BTreeSet;

use super::*;
use crate::tests::support::{call, keyed};

fn calls(count: usize) -> Vec<Arc<OpenedCall>> {
    (0..count).map(|_| Arc::new(call("a/b"))).collect()
}

fn ids<'c>(calls: impl IntoIterator<Item = &'c Arc<OpenedCall>>) -> BTreeSet<CallId> {
    calls.into_iter().map(|call| call.id).collect()
}

#[test]
fn a_slot_is_used_again_when_all_its_calls_have_ended() {
    let mut log = StartLog::default();
    let (first, second) = (calls(2), calls(1));
    assert_eq!(log.next_slot(), 0);
    log.add(0, first.iter().cloned());
    assert_eq!(log.next_slot(), 1);
    log.add(1, second.iter().cloned());
    log.remove(first[0].id);
    assert_eq!(log.next_slot(), 2);
    log.remove(first[1].id);
    assert_eq!(log.next_slot(), 0);
    assert_eq!(ids(log.calls()), ids(&second));
    log.add(0, calls(1).into_iter());
    log.remove(second[0].id);
    assert_eq!(log.next_slot(), 1);
    // A call that has no start here changes nothing.
    log.remove(CallId::new());
    assert_eq!(log.calls().count(), 1);
    assert!(!log.is_stored());
    log.mark_stored();
    assert!(log.is_stored());
}

#[test]
fn the_oldest_slot_is_taken_if_all_are_in_use() {
    let mut log = StartLog::default();
    let batches: Vec<_> = (0..MAX_SLOTS).map(|_| calls(3)).collect();
    for batch in &batches {
        log.add(log.next_slot(), batch.iter().cloned());
    }
    // The calls of the second slot end, so the third one is the next after the first.
    log.remove(batches[0][1].id);
    assert_eq!(log.next_slot(), 0);
    assert_eq!(ids(log.calls_in(0)), ids([&batches[0][0], &batches[0][2]]));
    log.add(0, calls(1).into_iter());
    assert_eq!(log.calls().count(), (MAX_SLOTS - 1) * 3 + 1);
    for call in &batches[1] {
        log.remove(call.id);
    }
    assert_eq!((log.next_slot(), log.calls_in(1).count()), (1, 0));
    log.add(1, calls(1).into_iter());
    assert_eq!(log.next_slot(), 2);
    assert_eq!(ids(log.calls_in(2)), ids(&batches[2]));
    // The end of a call whose slot was taken changes nothing.
    log.remove(batches[0][0].id);
    assert_eq!(log.next_slot(), 2);
    log.clear();
    assert_eq!((log.next_slot(), log.calls().count(), log.is_stored()), (0, 0, false));
}

#[test]
fn large_awaited_and_keyed_starts_need_rows() {
    let entry = |record, weight, done| QueueEntry { record, weight, done };
    let start = || QueuedCall::Opened(Arc::new(call("a/b")));
    assert!(is_for_slot(&entry(start(), MAX_START_BYTES, None)));
    assert!(!is_for_slot(&entry(start(), MAX_START_BYTES + 1, None)));
    assert!(!is_for_slot(&entry(start(), 0, Some(tokio::sync::oneshot::channel().0))));
    assert!(!is_for_slot(&entry(QueuedCall::Opened(Arc::new(keyed("a/b", "k"))), 0, None)));
}
