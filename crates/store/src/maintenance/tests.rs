use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::tests::support::{StoreHarness, call, end, number, options, record, success};
use crate::{Store, StoreError};

const OPEN_CALLS: &str = "SELECT count(*) FROM calls WHERE status = 0";

async fn beside(folder: &StoreHarness) -> Store {
    Store::open_existing(&folder.path(), folder.clock.clone(), options()).await.unwrap()
}

#[tokio::test]
async fn open_existing_leaves_open_calls_open() {
    let folder = StoreHarness::new();
    let gateway = folder.open().await;
    let opened = Arc::new(call("pc/a"));
    drop(gateway.recorder().open(Arc::clone(&opened)));
    gateway.flush().await.unwrap();
    let other = beside(&folder).await;
    assert_eq!(number(&folder.database(), OPEN_CALLS).await, 1);
    assert!(other.is_current().await.unwrap());
    let copy = folder.sibling_path("copy.db");
    other.backup(&copy).await.unwrap();
    other.close().await;
    assert_eq!(number(&copy, OPEN_CALLS).await, 1);
    drop(gateway.recorder().close(end(&opened, success("done"))));
    gateway.close().await;
    assert_eq!(number(&folder.database(), OPEN_CALLS).await, 0);
}

#[tokio::test]
async fn a_restore_works_while_a_gateway_runs() {
    let folder = StoreHarness::new();
    let gateway = folder.open().await;
    record(&gateway, call("pc/kept"), success("1"));
    gateway.flush().await.unwrap();
    let copy = folder.sibling_path("copy.db");
    gateway.backup(&copy).await.unwrap();
    record(&gateway, call("pc/later"), success("2"));
    gateway.flush().await.unwrap();

    let other = beside(&folder).await;
    other.restore_from(&copy).await.unwrap();
    other.close().await;
    record(&gateway, call("pc/after"), success("3"));
    gateway.close().await;
    let count = |tool: &str| format!("SELECT count(*) FROM calls WHERE name = 'pc__{tool}'");
    let mut found = Vec::new();
    for tool in ["kept", "later", "after"] {
        found.push(number(&folder.database(), &count(tool)).await);
    }
    assert_eq!(found, [1, 0, 1]);
}

#[tokio::test]
async fn open_existing_creates_no_database() {
    let folder = StoreHarness::new();
    let opened = Store::open_existing(&folder.path(), folder.clock.clone(), options()).await;
    assert!(matches!(opened, Err(StoreError::NotADatabase { .. })), "{opened:?}");
    assert!(!folder.path().exists());
}

#[tokio::test]
async fn the_check_reports_damage() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for number in 0..200 {
        record(&store, call("pc/a"), success(&format!("result {number} {}", "x".repeat(500))));
    }
    store.close().await;
    let whole = beside(&folder).await;
    whole.check().await.unwrap();
    whole.close().await;

    let path: PathBuf = folder.database();
    let mut bytes = fs::read(&path).unwrap();
    // Damages the calls, which are last in the file and are not read at opening.
    let place = bytes.len() * 3 / 4 / 4096 * 4096;
    bytes[place..place + 2048].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let damaged = beside(&folder).await;
    let found = damaged.check().await;
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
}
