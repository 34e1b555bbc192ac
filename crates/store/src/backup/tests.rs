use std::fs;

use super::*;
use crate::tests::support::{StoreHarness, call, number, record, success};

#[tokio::test]
async fn a_backup_during_calls_is_complete() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for _ in 0..500 {
        record(&store, call("a/before"), success("kept"));
    }
    let other = store.clone();
    let going_on = tokio::spawn(async move {
        for _ in 0..300 {
            record(&other, call("a/during"), success(""));
            other.flush().await.unwrap();
        }
    });
    let to = folder.sibling_path("copy.db");
    store.backup(&to).await.unwrap();
    going_on.await.unwrap();
    // All records queued before the backup are included, although they were not written yet.
    assert_eq!(number(&to, "SELECT count(*) FROM calls WHERE tool = 'before'").await, 500);
    let (verdict,): (String,) = sqlx::query_as("PRAGMA integrity_check")
        .fetch_one(&mut crate::tests::support::other_connection(&to).await)
        .await
        .unwrap();
    assert_eq!(verdict, "ok");
    assert_eq!(
        fs::read_dir(folder.sibling_path("")).unwrap().count(),
        2,
        "the folder and the copy, nothing else"
    );
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 800);
}

#[tokio::test]
async fn a_file_that_exists_is_not_overwritten() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let to = folder.sibling_path("mine.txt");
    fs::write(&to, "mine").unwrap();
    let refused = store.backup(&to).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })));
    assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
}

#[tokio::test]
async fn a_backup_that_fails_leaves_nothing_behind() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let refused = store.backup(&folder.sibling_path("no such folder").join("copy.db")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    assert!(refused.to_string().contains("no such folder"), "{refused}");
    assert_eq!(fs::read_dir(folder.sibling_path("")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_backup_opens_as_a_data_folder() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    record(&store, call("a/b"), success(""));
    let fresh = StoreHarness::new();
    fs::create_dir(fresh.path()).unwrap();
    store.backup(&fresh.database()).await.unwrap();
    let opened = fresh.open().await;
    record(&opened, call("a/c"), success(""));
    opened.close().await;
    assert_eq!(number(&fresh.database(), "SELECT count(*) FROM calls").await, 2);
}
