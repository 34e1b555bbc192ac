use std::sync::Arc;
use std::time::Duration;

use toolway_core::record::{IdempotencyKey, OpenedCall, RecordCommit};
use toolway_types::{Code, PrincipalId};

use super::support::{NOW, StoreHarness, call, end, failure, keyed, number, options, success, within};
use crate::StoreOptions;

fn owner() -> PrincipalId {
    PrincipalId::from("owner")
}

#[tokio::test]
async fn a_call_with_an_idempotency_key_is_committed_before_it_runs_r13() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = Arc::new(keyed("a/b", "k1"));
    let commit = store.recorder().open(Arc::clone(&opened));
    assert!(matches!(commit, RecordCommit::Pending(_)));
    within(commit.wait()).await;
    assert_eq!(
        number(&folder.database(), "SELECT count(*) FROM calls WHERE idempotency_key = 'k1'").await,
        1
    );

    // After a crash, a call with the same key does not run again.
    let after = folder.copy_after_crash();
    let reopened = after.open().await;
    let earlier = reopened.recorder().find_by_key(&owner(), "k1", NOW - 1000).await.unwrap();
    assert_eq!((earlier.id, earlier.hash), (opened.id, [7; 32]));
    let outcome = earlier.outcome.unwrap();
    let error = outcome.error().unwrap();
    assert_eq!((error.code, error.dispatched), (Code::GatewayRestarted, true));
}

#[tokio::test]
async fn an_earlier_call_with_the_key_is_found_in_any_record_state_r13() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    assert!(recorder.find_by_key(&owner(), "k", 0).await.is_none());

    let opened = Arc::new(keyed("a/b", "k"));
    let commit = recorder.open(Arc::clone(&opened));
    let queued = recorder.find_by_key(&owner(), "k", 0).await.unwrap();
    assert_eq!((queued.id, queued.outcome.is_none()), (opened.id, true));
    within(commit.wait()).await;
    let written = recorder.find_by_key(&owner(), "k", 0).await.unwrap();
    assert_eq!((written.id, written.outcome.is_none()), (opened.id, true));

    // The window is long, so the record is still in the queue.
    drop(recorder.close(end(&opened, success("done"))));
    assert_eq!(store.health().records_waiting, 1);
    let queued = recorder.find_by_key(&owner(), "k", 0).await.unwrap();
    assert_eq!(*queued.outcome.unwrap(), success("done"));
    store.flush().await.unwrap();
    let written = recorder.find_by_key(&owner(), "k", 0).await.unwrap();
    assert_eq!(*written.outcome.unwrap(), success("done"));
    assert_eq!((written.durations.total, written.durations.running), (micros(4321), micros(4300)));
}

fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

#[tokio::test]
async fn a_key_belongs_to_its_principal_and_expires() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    let first = Arc::new(keyed("a/b", "k"));
    let other = OpenedCall { principal: PrincipalId::from("other"), ..keyed("a/b", "k") };
    let other = Arc::new(other);
    let later = Arc::new(OpenedCall { started_ms: NOW + 600_000, ..keyed("a/b", "k") });
    for opened in [&first, &other] {
        within(recorder.open(Arc::clone(opened)).wait()).await;
    }
    drop(recorder.open(Arc::new(call("a/b"))));
    let find = async |principal: &str, since| {
        recorder.find_by_key(&PrincipalId::from(principal), "k", since).await.map(|earlier| earlier.id)
    };
    assert_eq!(find("owner", NOW).await, Some(first.id));
    assert_eq!(find("other", NOW).await, Some(other.id));
    assert_eq!(find("third", NOW).await, None);
    assert_eq!(find("owner", NOW + 1).await, None);

    // The newest call counts, even if an older one ends later.
    let commit = recorder.open(Arc::clone(&later));
    drop(recorder.close(end(&first, success("late"))));
    assert_eq!(find("owner", NOW).await, Some(later.id));
    within(commit.wait()).await;
    store.flush().await.unwrap();
    assert_eq!(find("owner", NOW).await, Some(later.id));
}

#[tokio::test]
async fn an_outcome_with_a_key_is_not_truncated() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { record_bytes: 500, ..options() }).await;
    let recorder = store.recorder();
    let opened = Arc::new(keyed("a/b", "k"));
    within(recorder.open(Arc::clone(&opened)).wait()).await;
    let long = success(&"long ".repeat(1000));
    drop(recorder.close(end(&opened, long.clone())));
    store.flush().await.unwrap();
    let earlier = recorder.find_by_key(&owner(), "k", 0).await.unwrap();
    assert_eq!(*earlier.outcome.unwrap(), long);
}

#[tokio::test]
async fn a_failed_outcome_is_found_again_as_it_was() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    let key = IdempotencyKey { key: "odd ' \" \u{0} key".into(), hash: [9; 32] };
    let opened = Arc::new(OpenedCall { key: Some(key), ..call("a/b") });
    within(recorder.open(Arc::clone(&opened)).wait()).await;
    drop(recorder.close(end(&opened, failure(Code::RateLimited))));
    store.flush().await.unwrap();
    let earlier = recorder.find_by_key(&owner(), "odd ' \" \u{0} key", 0).await.unwrap();
    assert_eq!(earlier.hash, [9; 32]);
    assert_eq!(*earlier.outcome.unwrap(), failure(Code::RateLimited));
}
