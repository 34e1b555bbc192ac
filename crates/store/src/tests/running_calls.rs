//! Tests of calls that run longer than one batch, whose starts share rows.

use std::sync::Arc;
use std::time::Duration;

use toolway_core::record::OpenedCall;
use toolway_types::Code;

use super::support::{StoreHarness, call, end, json, number, options, record, success, wait_until, within};
use crate::{CallFilter, CallStatus, Store, StoreOptions};

const ROWS: &str = "SELECT count(*) FROM calls";
const SLOTS: &str = "SELECT count(*) FROM started_calls";

/// Options with which each batch is written at once.
fn immediate() -> StoreOptions {
    StoreOptions { window: Duration::ZERO, ..options() }
}

async fn written(store: &Store) {
    within(wait_until(|| store.health().records_waiting == 0)).await;
}

async fn start(store: &Store, opened: OpenedCall) -> Arc<OpenedCall> {
    let opened = Arc::new(opened);
    drop(store.recorder().open(Arc::clone(&opened)));
    written(store).await;
    opened
}

#[tokio::test]
async fn a_call_gets_one_row_when_it_ends() {
    let folder = StoreHarness::new();
    let store = folder.open_with(immediate()).await;
    let first = start(&store, call("a/b")).await;
    assert_eq!(number(&folder.database(), ROWS).await, 0);
    assert_eq!(number(&folder.database(), SLOTS).await, 1);
    drop(store.recorder().close(end(&first, success(""))));
    written(&store).await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 1);
    // The slot of an ended call is used again.
    start(&store, call("a/b")).await;
    assert_eq!(number(&folder.database(), SLOTS).await, 1);
}

#[tokio::test]
async fn a_reader_sees_running_calls() {
    let folder = StoreHarness::new();
    let store = folder.open_with(immediate()).await;
    let first = start(&store, call("a/first")).await;
    let second = start(&store, call("a/second")).await;
    let page = store.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    assert_eq!(page.calls.iter().map(|call| call.status).collect::<Vec<_>>(), [CallStatus::Open; 2]);
    assert_eq!(number(&folder.database(), SLOTS).await, 0);

    for opened in [&first, &second] {
        drop(store.recorder().close(end(opened, success("done"))));
    }
    let row = store.calls().get(first.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.total_us), (CallStatus::Success, 4321));
    assert_eq!(number(&folder.database(), ROWS).await, 2);
}

#[tokio::test]
async fn calls_that_run_at_a_crash_are_closed_as_gateway_restarted_with_all_their_data() {
    let folder = StoreHarness::new();
    let store = folder.open_with(immediate()).await;
    let done = start(&store, call("phone/battery")).await;
    let arguments = json(r#"{"level": 1.0, "text":"é\u0000"}"#);
    let running = OpenedCall {
        session: Some("s-1".into()),
        turn: Some("s-1/1".into()),
        arguments: Some(arguments.clone()),
        ..call("phone/camera")
    };
    let running = start(&store, running).await;
    drop(store.recorder().close(end(&done, success("87"))));
    written(&store).await;

    let after = folder.copy_after_crash();
    let reopened = after.open().await;
    assert_eq!(reopened.closed_at_open(), 1);
    let row = reopened.calls().get(running.id).await.unwrap().unwrap();
    assert_eq!((row.code, row.name.as_str()), (Some(Code::GatewayRestarted), "phone__camera"));
    assert_eq!((row.session.as_deref(), row.turn.as_deref()), (Some("s-1"), Some("s-1/1")));
    assert_eq!((row.arguments, row.started_ms), (Some(arguments), running.started_ms));
    let row = reopened.calls().get(done.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.code), (CallStatus::Success, None));
    assert_eq!(number(&after.database(), SLOTS).await, 0);
    reopened.close().await;
    let again = after.open().await;
    assert_eq!(again.closed_at_open(), 0);
    assert_eq!(number(&after.database(), ROWS).await, 2);
}

#[tokio::test]
async fn a_removed_call_does_not_return_after_a_crash() {
    let folder = StoreHarness::new();
    let store = folder.open_with(immediate()).await;
    let opened = start(&store, call("a/b")).await;
    drop(store.recorder().close(end(&opened, success(""))));
    written(&store).await;
    assert_eq!(number(&folder.database(), SLOTS).await, 1);
    store.calls().remove(opened.id).await.unwrap();
    let after = folder.copy_after_crash();
    let reopened = after.open().await;
    assert_eq!(reopened.calls().get(opened.id).await.unwrap(), None);
}

#[tokio::test]
async fn slow_calls_get_rows_when_the_slots_are_full() {
    let folder = StoreHarness::new();
    let store = folder.open_with(immediate()).await;
    let mut calls = Vec::new();
    for _ in 0..100 {
        calls.push(start(&store, call("a/b")).await);
    }
    assert_eq!(number(&folder.database(), SLOTS).await, 64);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 0").await, 36);
    let after = folder.copy_after_crash();
    assert_eq!(after.open().await.closed_at_open(), 100);
    for opened in &calls {
        drop(store.recorder().close(end(opened, success(""))));
    }
    written(&store).await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 100);
}

#[tokio::test]
async fn a_restore_keeps_calls_whose_starts_share_a_row() {
    let folder = StoreHarness::new();
    let gateway = folder.open_with(immediate()).await;
    let copy = folder.sibling_path("copy.db");
    gateway.backup(&copy).await.unwrap();
    let running = start(&gateway, call("a/running")).await;
    let ended = start(&gateway, call("a/ended")).await;
    drop(gateway.recorder().close(end(&ended, success(""))));
    written(&gateway).await;

    // Another process restores, so the gateway's own bookkeeping is of no help.
    let other = Store::open_existing(&folder.path(), folder.clock.clone(), options()).await.unwrap();
    other.restore_from(&copy).await.unwrap();
    other.close().await;
    let after = folder.copy_after_crash();
    let reopened = after.open().await;
    assert_eq!(reopened.closed_at_open(), 1);
    assert_eq!(reopened.calls().get(ended.id).await.unwrap(), None);

    drop(gateway.recorder().close(end(&running, success("done"))));
    record(&gateway, call("a/later"), success(""));
    let page = gateway.calls().list(&CallFilter::default(), None, 10).await.unwrap();
    let names: Vec<_> = page.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["a__later", "a__running"]);
    assert_eq!(number(&folder.database(), ROWS).await, 2);
}
