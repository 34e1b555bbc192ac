use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, SqliteConnection};
use toolway_core::record::RecordCommit;
use toolway_types::PrincipalId;

use super::support::{
    StoreHarness, call, end, execute, keyed, number, options, other_connection, record, success, wait_until,
    within,
};
use crate::{Durability, Store, StoreError, StoreOptions};

/// Options with short timeouts.
fn short_timeouts() -> StoreOptions {
    StoreOptions {
        busy_timeout: Duration::from_millis(10),
        give_up_after: Duration::from_millis(50),
        ..StoreOptions::default()
    }
}

/// A connection of another program that holds the write lock until it is dropped.
async fn locked(folder: &StoreHarness) -> SqliteConnection {
    let mut other = other_connection(&folder.database()).await;
    sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
    other
}

async fn unlock(mut other: SqliteConnection) {
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
}

/// Limits the number of pages, like a full disk.
async fn limit_pages(store: &Store, pages: i64) {
    let sql = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    store
        .database()
        .write(|conn| {
            Box::pin(async move {
                sqlx::raw_sql(sql).execute(conn).await.unwrap();
                Ok(())
            })
        })
        .await
        .unwrap();
}

#[tokio::test]
async fn calls_continue_while_the_database_is_locked_and_no_record_is_lost() {
    let folder = StoreHarness::new();
    let store = folder.open_with(short_timeouts()).await;
    let other = locked(&folder).await;
    let recorder = store.recorder();
    let first = Arc::new(keyed("a/b", "k"));
    // The first call waits for its commit, up to the timeout.
    within(recorder.open(Arc::clone(&first)).wait()).await;
    // Later calls do not wait.
    within(wait_until(|| store.database().queue.is_degraded())).await;
    let second = Arc::new(keyed("a/b", "k2"));
    assert!(matches!(recorder.open(Arc::clone(&second)), RecordCommit::Queued));
    for _ in 0..100 {
        record(&store, call("a/b"), success(""));
    }
    let health = store.health();
    assert!(health.failing);
    assert!(health.last_error.unwrap().text.contains("locked"));
    assert_eq!(health.records_lost, 0);
    assert!(matches!(store.flush().await, Err(StoreError::Unwritten { waiting: 1.., .. })));
    // Unwritten records can be found.
    drop(recorder.close(end(&first, success("first"))));
    let earlier = recorder.find_by_key(&PrincipalId::from("owner"), "k", 0).await.unwrap();
    assert_eq!(*earlier.outcome.unwrap(), success("first"));

    unlock(other).await;
    within(wait_until(|| store.health().records_waiting == 0)).await;
    let health = store.health();
    assert_eq!((health.failing, health.records_lost), (false, 0));
    assert!(health.last_error.is_some());
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 101);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 0").await, 1);
    // Calls wait for commits again.
    let third = recorder.open(Arc::new(keyed("a/b", "k3")));
    assert!(matches!(third, RecordCommit::Pending(_)));
    within(third.wait()).await;
    assert_eq!(
        number(&folder.database(), "SELECT count(*) FROM calls WHERE idempotency_key = 'k3'").await,
        1
    );
}

#[tokio::test]
async fn records_beyond_the_queues_limit_are_lost_and_counted() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { queue_records: 10, ..short_timeouts() }).await;
    let other = locked(&folder).await;
    let calls: Vec<_> = (0..25).map(|_| Arc::new(call("a/b"))).collect();
    for opened in &calls {
        assert!(matches!(store.recorder().open(Arc::clone(opened)), RecordCommit::Queued));
    }
    assert_eq!((store.health().records_waiting, store.health().records_lost), (10, 15));
    unlock(other).await;
    within(wait_until(|| store.health().records_waiting == 0)).await;
    // Gives the running calls rows.
    store.flush().await.unwrap();
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 10);
    // The end of a call makes up for its lost start.
    drop(store.recorder().close(end(&calls[24], success(""))));
    store.flush().await.unwrap();
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 1);
}

#[tokio::test]
async fn calls_continue_while_the_disk_is_full() {
    let folder = StoreHarness::new();
    let store = folder.open_with(short_timeouts()).await;
    let pages = number(&folder.database(), "PRAGMA page_count").await;
    limit_pages(&store, pages + 4).await;
    let recorder = store.recorder();
    let large = "x".repeat(10_000);
    for _ in 0..20 {
        record(&store, call("a/b"), success(&large));
    }
    within(wait_until(|| store.health().failing)).await;
    assert!(store.health().last_error.unwrap().text.contains("full"));
    within(recorder.open(Arc::new(keyed("a/b", "k"))).wait()).await;
    // Tokens cannot be written either, and the caller gets an error.
    let revoked = store.tokens().revoke("owner", 1).await;
    assert!(matches!(revoked, Ok(false) | Err(StoreError::Database { .. })));

    limit_pages(&store, 1_000_000).await;
    within(wait_until(|| store.health().records_waiting == 0)).await;
    assert_eq!(store.health().records_lost, 0);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 20);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE idempotency_key = 'k'").await, 1);
}

#[tokio::test]
async fn calls_continue_with_durability_each_too() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { durability: Durability::Each, ..short_timeouts() }).await;
    let other = locked(&folder).await;
    let opened = Arc::new(call("a/b"));
    within(store.recorder().open(Arc::clone(&opened)).wait()).await;
    within(store.recorder().close(end(&opened, success(""))).wait()).await;
    unlock(other).await;
    within(wait_until(|| store.health().records_waiting == 0)).await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 1);
}

#[tokio::test]
async fn a_record_that_can_never_be_written_blocks_no_other() {
    let folder = StoreHarness::new();
    let store = folder.open_with(options()).await;
    let trap = "CREATE TRIGGER trap BEFORE INSERT ON calls WHEN new.name = 'bad__one' \
         BEGIN SELECT raise(ABORT, 'no'); END";
    execute(&folder.database(), trap).await;
    record(&store, call("bad/one"), success(""));
    store.flush().await.unwrap();
    record(&store, call("good/one"), success(""));
    store.flush().await.unwrap();
    let health = store.health();
    assert_eq!((health.records_lost, health.records_written, health.failing), (1, 1, false));
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 1);
}

#[tokio::test]
async fn closing_a_locked_database_ends_and_counts_lost_records() {
    let folder = StoreHarness::new();
    let store = folder.open_with(short_timeouts()).await;
    let other = locked(&folder).await;
    for _ in 0..5 {
        record(&store, call("a/b"), success(""));
    }
    within(store.close()).await;
    assert_eq!((store.health().records_lost, store.health().records_waiting), (5, 0));
    unlock(other).await;
}
