use std::sync::Arc;

use toolway_core::caller::EntryPoint;
use toolway_core::record::{CallNotes, ClosedCall, OpenedCall, RecordCommit};
use toolway_types::{Code, PrincipalId, Role};

use super::support::{
    NOW, StoreHarness, call, end, failure, json, keyed, number, options, record, success, wait_until, within,
};
use crate::{CallRow, CallStatus, Durability, StoreOptions};

#[tokio::test]
async fn a_call_is_read_back_as_it_was_recorded() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let arguments = r#"{"password":"[redacted]","b":1.0,"a":12345678901234567890123}"#;
    let opened = Arc::new(OpenedCall {
        principal: PrincipalId::from("0198-token"),
        role: Role::Companion,
        via: EntryPoint::Mcp,
        agent: Some("home".into()),
        session: Some("s-1".into()),
        turn: Some("s-1/4".into()),
        arguments: Some(json(arguments)),
        ..call("phone/battery")
    });
    drop(store.recorder().open(Arc::clone(&opened)));
    drop(store.recorder().close(end(&opened, success("87 %"))));

    let row = store.calls().get(opened.id).await.unwrap().unwrap();
    // Byte for byte: masked text stays masked, and nothing else changes.
    assert_eq!(row.arguments.as_ref().unwrap().get(), arguments);
    let expected = CallRow {
        call_id: opened.id,
        name: "phone__battery".to_owned(),
        tool: Some("phone/battery".parse().unwrap()),
        principal: PrincipalId::from("0198-token"),
        role: Role::Companion,
        via: EntryPoint::Mcp,
        agent: Some("home".to_owned()),
        session: Some("s-1".to_owned()),
        turn: Some("s-1/4".to_owned()),
        approved_by: None,
        hooks: vec![],
        rule: None,
        arguments: Some(json(arguments)),
        ran_with: None,
        status: CallStatus::Success,
        code: None,
        outcome: Some(json(r#"{"status":"success","result":"87 %"}"#)),
        started_ms: NOW,
        total_us: 4321,
        waiting_us: 1,
        queued_us: 20,
        running_us: 4300,
        attempts: 1,
    };
    assert_eq!(row, expected);
}

#[tokio::test]
async fn approvals_hooks_and_rules_are_read_back() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { record_bytes: 1000, ..options() }).await;
    let noted = |notes: CallNotes| {
        let opened = Arc::new(call("a/b"));
        // With and without an existing row of the call's start.
        let close = ClosedCall { notes: Some(Box::new(notes)), ..end(&opened, success("")) };
        (opened, close)
    };
    let all = CallNotes {
        approved_by: Some("grant:0198".into()),
        ran_with: Some(json(r#"{"a": 1.0}"#)),
        hooks: vec!["first".into(), "odd \"name\"".into()],
        rule: Some("night".into()),
    };
    for opened_before in [false, true] {
        let (opened, close) = noted(all.clone());
        if opened_before {
            drop(store.recorder().open(Arc::clone(&opened)));
            store.flush().await.unwrap();
        }
        drop(store.recorder().close(close));
        let row = store.calls().get(opened.id).await.unwrap().unwrap();
        assert_eq!(row.approved_by.as_deref(), Some("grant:0198"));
        assert_eq!(row.ran_with.unwrap().get(), r#"{"a": 1.0}"#);
        assert_eq!(row.hooks, ["first", "odd \"name\""]);
        assert_eq!(row.rule.as_deref(), Some("night"));
    }
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(5000));
    let (opened, close) = noted(CallNotes { ran_with: Some(json(&long)), ..CallNotes::default() });
    drop(store.recorder().close(close));
    let row = store.calls().get(opened.id).await.unwrap().unwrap();
    assert_eq!(row.ran_with.unwrap().to_value()["total_bytes"], long.len());
    assert_eq!((row.approved_by, row.hooks, row.rule), (None, vec![], None));
    let empty = "SELECT count(*) FROM calls WHERE notes IS NULL AND approved_by IS NULL";
    assert_eq!(number(&folder.database(), empty).await, 1);
}

#[tokio::test]
async fn every_role_entry_point_and_code_is_read_back() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for role in [Role::Owner, Role::Client, Role::Device, Role::Companion] {
        let id = record(&store, OpenedCall { role, ..call("a/b") }, success(""));
        assert_eq!(store.calls().get(id).await.unwrap().unwrap().role, role);
    }
    for via in
        [EntryPoint::Rest, EntryPoint::WebSocket, EntryPoint::Agent, EntryPoint::Mcp, EntryPoint::Local]
    {
        let id = record(&store, OpenedCall { via, ..call("a/b") }, success(""));
        assert_eq!(store.calls().get(id).await.unwrap().unwrap().via, via);
    }
    for code in Code::ALL {
        let id = record(&store, call("a/b"), failure(*code));
        let row = store.calls().get(id).await.unwrap().unwrap();
        assert_eq!(
            (row.status, row.code, row.error_type()),
            (CallStatus::Error, Some(*code), Some(code.kind()))
        );
    }
}

#[tokio::test]
async fn a_call_without_a_tool_or_arguments_is_recorded() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = OpenedCall { name: "no such\u{0} tool".into(), tool: None, arguments: None, ..call("a/b") };
    let id = record(&store, opened, failure(Code::ToolNotAvailable));
    let row = store.calls().get(id).await.unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.tool, row.arguments), ("no such\u{0} tool", None, None));
}

#[tokio::test]
async fn a_call_that_ends_within_the_window_is_one_row_written_once() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for _ in 0..300 {
        record(&store, call("a/b"), success(""));
    }
    assert_eq!(store.health().records_waiting, 600);
    store.flush().await.unwrap();
    let health = store.health();
    assert_eq!((health.records_written, health.records_waiting, health.records_lost), (300, 0, 0));
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 300);
}

#[tokio::test]
async fn the_end_of_a_call_completes_the_row_of_its_start() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = Arc::new(call("a/b"));
    drop(store.recorder().open(Arc::clone(&opened)));
    store.flush().await.unwrap();
    let row = store.calls().get(opened.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.outcome, row.total_us), (CallStatus::Open, None, 0));
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 0").await, 1);

    drop(store.recorder().close(end(&opened, failure(Code::Timeout))));
    store.flush().await.unwrap();
    let row = store.calls().get(opened.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.code, row.total_us), (CallStatus::Error, Some(Code::Timeout), 4321));
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 1);
}

#[tokio::test]
async fn the_start_of_a_call_never_overwrites_its_end() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = Arc::new(call("a/b"));
    drop(store.recorder().close(end(&opened, success("done"))));
    store.flush().await.unwrap();
    drop(store.recorder().open(Arc::clone(&opened)));
    store.flush().await.unwrap();
    assert_eq!(store.calls().get(opened.id).await.unwrap().unwrap().status, CallStatus::Success);
}

#[tokio::test]
async fn batches_of_every_size_are_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sizes = [1, 2, 7, 8, 9, 31, 33, 127, 128, 129, 1023, 1024, 1025, 2500];
    for size in sizes {
        for _ in 0..size {
            record(&store, call("a/b"), success(""));
        }
        store.flush().await.unwrap();
    }
    let all = i64::from(sizes.iter().sum::<i32>());
    assert_eq!(
        number(&folder.database(), "SELECT count(DISTINCT id) FROM calls WHERE status = 1").await,
        all
    );
}

/// Rows with and without optional columns are written together.
#[tokio::test]
async fn mixed_batches_are_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    for round in 0..3 {
        let calls: Vec<_> = (0..300)
            .map(|number| {
                let session = (number % 150 == 7).then(|| format!("s-{number}").into());
                Arc::new(OpenedCall { session, ..call("a/b") })
            })
            .collect();
        for opened in &calls {
            drop(recorder.open(Arc::clone(opened)));
        }
        if round > 0 {
            store.flush().await.unwrap();
        }
        for (number, opened) in calls.iter().enumerate() {
            let notes = (number == 200)
                .then(|| Box::new(CallNotes { approved_by: Some("owner".into()), ..CallNotes::default() }));
            drop(recorder.close(ClosedCall { notes, ..end(opened, success("")) }));
        }
        store.flush().await.unwrap();
    }
    let count = async |what: &str| {
        number(&folder.database(), &format!("SELECT count(*) FROM calls WHERE status = 1 AND {what}")).await
    };
    assert_eq!(count("true").await, 900);
    assert_eq!(count("session = 's-7'").await, 3);
    assert_eq!(count("session IS NOT NULL").await, 6);
    assert_eq!(count("approved_by = 'owner' AND session IS NULL").await, 3);
    assert_eq!(count("approved_by IS NOT NULL").await, 3);
}

#[tokio::test]
async fn records_are_written_without_a_flush() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions::default()).await;
    record(&store, call("a/b"), success(""));
    within(wait_until(|| store.health().records_written == 1)).await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 1);
    // Again after a pause.
    record(&store, call("a/b"), success(""));
    within(wait_until(|| store.health().records_written == 2)).await;
}

#[tokio::test]
async fn text_longer_than_a_record_is_truncated_and_marked() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { record_bytes: 1000, ..options() }).await;
    let arguments = format!(r#"{{"text":"{}"}}"#, "a".repeat(5000));
    let opened = OpenedCall { arguments: Some(json(&arguments)), ..call("a/b") };
    let id = record(&store, opened, success(&"\"é".repeat(2000)));

    let row = store.calls().get(id).await.unwrap().unwrap();
    let (kept_arguments, kept_outcome) = (row.arguments.unwrap(), row.outcome.unwrap());
    assert!(kept_arguments.get().len() <= 1000 && kept_outcome.get().len() <= 1000);
    let mark = kept_arguments.to_value();
    assert_eq!((&mark["truncated"], &mark["total_bytes"]), (&true.into(), &arguments.len().into()));
    let start = mark["preview"].as_str().unwrap();
    assert_eq!(mark["kept_bytes"], start.len());
    assert!(arguments.starts_with(start) && start.len() > 800);
    let mark = kept_outcome.to_value();
    assert_eq!((&mark["status"], &mark["truncated"]), (&"success".into(), &true.into()));
    assert!(mark["preview"].as_str().unwrap().starts_with(r#"{"status":"success","result":"\"é"#));
}

#[tokio::test]
async fn each_call_waits_for_its_commit_with_durability_each() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { durability: Durability::Each, ..options() }).await;
    let recorder = store.recorder();
    let mut waiting = Vec::new();
    let mut calls = Vec::new();
    for _ in 0..200 {
        let opened = Arc::new(call("a/b"));
        let commit = recorder.open(Arc::clone(&opened));
        assert!(matches!(commit, RecordCommit::Pending(_)));
        waiting.push(commit);
        calls.push(opened);
    }
    for commit in waiting {
        within(commit.wait()).await;
    }
    // Another program sees them, so they are committed.
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 0").await, 200);
    let commit = recorder.close(end(&calls[0], success("")));
    assert!(matches!(commit, RecordCommit::Pending(_)));
    within(commit.wait()).await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 1").await, 1);
}

#[tokio::test]
async fn only_durable_commits_are_synced() {
    async fn level(conn: &mut sqlx::SqliteConnection) -> Result<i64, crate::StoreError> {
        let (level,): (i64,) = sqlx::query_as("PRAGMA synchronous").fetch_one(conn).await.unwrap();
        Ok(level)
    }
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let folder = StoreHarness::new();
    let store = folder.open().await;
    assert_eq!(store.database().write(|conn| Box::pin(level(conn))).await.unwrap(), NORMAL);
    assert_eq!(store.database().write_durably(|conn| Box::pin(level(conn))).await.unwrap(), FULL);
    assert_eq!(store.database().write(|conn| Box::pin(level(conn))).await.unwrap(), NORMAL);
    store.close().await;
    let store = folder.open_with(StoreOptions { durability: Durability::Each, ..options() }).await;
    assert_eq!(store.database().write(|conn| Box::pin(level(conn))).await.unwrap(), FULL);
}

#[tokio::test]
async fn closing_the_store_writes_waiting_records() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    for _ in 0..50 {
        record(&store, call("a/b"), success(""));
    }
    store.close().await;
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 50);
    assert_eq!(store.health().records_lost, 0);

    // Later records are lost and counted, and no caller waits for them.
    let late = recorder.open(Arc::new(keyed("a/b", "k")));
    assert!(matches!(late, RecordCommit::Queued));
    assert_eq!(store.health().records_lost, 1);
    assert!(store.flush().await.is_err());
    within(store.close()).await;
}

#[tokio::test]
async fn dropping_the_store_writes_waiting_records() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    record(&store, call("a/b"), success(""));
    let counters = Arc::clone(&store.database().counters);
    drop(store);
    within(wait_until(|| counters.health(0).records_written == 1)).await;
}

#[tokio::test]
async fn checkpoints_run_in_parallel_with_the_writer() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let large = "x".repeat(200_000);
    for _ in 0..30 {
        record(&store, call("a/b"), success(&large));
    }
    store.flush().await.unwrap();
    let grown = || std::fs::metadata(folder.database()).unwrap().len() > 5_000_000;
    within(wait_until(grown)).await;
    assert_eq!(store.health().records_lost, 0);
}
