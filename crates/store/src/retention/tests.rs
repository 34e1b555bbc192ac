use super::*;
use crate::call_log_size::{PAGES_KEPT, STEP_BYTES};
use crate::tests::support::{NOW, StoreHarness, call, options, record, said, success, turn};
use crate::{CallFilter, StoreOptions, StoredRole};
use std::sync::Arc;
use toolway_core::record::OpenedCall;

fn at(started_ms: i64) -> OpenedCall {
    OpenedCall { started_ms, ..call("a/b") }
}

async fn starts(store: &Store) -> Vec<i64> {
    let page = store.calls().list(&CallFilter::default(), None, 1000).await.unwrap();
    page.calls.into_iter().map(|call| call.started_ms).collect()
}

#[tokio::test]
async fn calls_older_than_the_retention_period_are_removed() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_days: 2, ..options() }).await;
    for started in [NOW - 2 * DAY_MS - 1, NOW - 2 * DAY_MS, NOW] {
        record(&store, at(started), success(""));
    }
    store.flush().await.unwrap();
    assert_eq!(store.enforce_retention().await.unwrap(), RemovedCalls { calls: 1, freed_bytes: 0 });
    assert_eq!(starts(&store).await, [NOW, NOW - 2 * DAY_MS]);
    folder.clock.set(NOW + DAY_MS);
    assert_eq!(store.enforce_retention().await.unwrap().calls, 1);
    assert_eq!(starts(&store).await, [NOW]);
}

#[tokio::test]
async fn the_oldest_calls_are_removed_if_the_database_is_too_large() {
    const LIMIT: i64 = 8 << 20;
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_bytes: LIMIT as u64, ..options() }).await;
    let large = "x".repeat(100_000);
    for number in 0..200 {
        record(&store, at(NOW + number), success(&large));
    }
    drop(store.recorder().open(Arc::new(at(NOW - 5))));
    store.flush().await.unwrap();
    let before = DatabasePages::read(store.database()).await.unwrap();
    assert!(before.used_bytes() > 20_000_000);

    let removed = store.enforce_retention().await.unwrap();
    let after = DatabasePages::read(store.database()).await.unwrap();
    assert!(after.used_bytes() <= LIMIT);
    // At most one step too many was removed.
    assert!(after.used_bytes() > LIMIT - 2 * STEP_BYTES, "{after:?}");
    let left = starts(&store).await;
    assert_eq!(left.len() as u64, 201 - removed.calls);
    // The newest calls and the running one remain.
    assert_eq!((left[0], left[left.len() - 1]), (NOW + 199, NOW - 5));
    assert_eq!(left[left.len() - 2], NOW + removed.calls as i64);
    assert!(removed.freed_bytes > 10_000_000);
    assert!(after.free <= PAGES_KEPT.max(after.all / 16));

    assert_eq!(store.enforce_retention().await.unwrap(), RemovedCalls::default());
}

#[tokio::test]
async fn records_are_written_between_the_steps() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_bytes: 1, ..options() }).await;
    for number in 0..3000 {
        record(&store, at(NOW + number), success(""));
    }
    store.flush().await.unwrap();
    let other = store.clone();
    let recording = tokio::spawn(async move {
        for number in 0..200 {
            record(&other, at(NOW + 1_000_000 + number), success(""));
            other.flush().await.unwrap();
        }
    });
    let removed = store
        .calls()
        .remove_all(&CallFilter { until_ms: Some(NOW + 1_000_000), ..CallFilter::default() })
        .await
        .unwrap();
    recording.await.unwrap();
    assert_eq!(removed.calls, 3000);
    assert_eq!(starts(&store).await.len(), 200);
    // With a limit of zero the loop still ends.
    assert_eq!(store.enforce_retention().await.unwrap().calls, 200);
}

#[tokio::test]
async fn nothing_is_a_bound_where_there_is_0() {
    let folder = StoreHarness::new();
    let unbounded = StoreOptions { retention_bytes: 0, retention_days: 0, ..options() };
    let store = folder.open_with(unbounded).await;
    record(&store, at(1), success(""));
    store.flush().await.unwrap();
    assert_eq!(store.enforce_retention().await.unwrap(), RemovedCalls::default());
    assert_eq!(starts(&store).await, [1]);
}

#[tokio::test]
async fn conversations_do_not_count_toward_the_limit_for_calls() {
    const LIMIT: u64 = 4 << 20;
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_bytes: LIMIT, ..options() }).await;
    for number in 0..10 {
        record(&store, at(NOW + number), success(&"x".repeat(100_000)));
    }
    store.sessions().begin(turn("s", "t", "look")).await.unwrap();
    for _ in 0..4 {
        let large = said(StoredRole::Assistant, &"y".repeat(2_000_000));
        store.sessions().append("t", vec![large], vec![], NOW).await.unwrap();
    }
    assert!(DatabasePages::read(store.database()).await.unwrap().used_bytes() > 2 * LIMIT as i64);
    assert_eq!(store.enforce_retention().await.unwrap().calls, 0);
    assert_eq!(starts(&store).await.len(), 10);
    assert_eq!(store.sessions().get("s").await.unwrap().unwrap().messages, 5);
}
