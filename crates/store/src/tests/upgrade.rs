//! Databases of earlier versions, with rows in them as those versions wrote them.

use toolway_core::caller::EntryPoint;
use toolway_types::{CallId, Code, PrincipalId, Role};

use super::support::{NOW, StoreHarness, call, json, number, record, success, turn};
use crate::{CallFilter, CallRow, CallStatus, SessionRecordFilter, SourceRecord, StoreError};

const VERSION_1: &str = "
    INSERT INTO tokens (id, hash, role, label, created_ms) VALUES ('t-1', zeroblob(32), 'client', 'old', 1);
    INSERT INTO sources VALUES ('phone', 't-1', 'device:1', 'device', 'Phone', 'android', NULL, 1, 2, '[\"battery\"]', NULL);
    INSERT INTO calls VALUES (3, x'0198f3a100007000800000000000000a', 1800000000000, 1, NULL, 'phone__battery', 'phone',
        'battery', 't-1', 1, 1, 'home', 'k', zeroblob(32), 4, 1, 2, 3, 1, '{\"a\": 1.0}', '{\"status\":\"success\",\"result\":\"87\"}');
    INSERT INTO calls VALUES (5, x'0198f3a100007000800000000000000b', 1800000000001, 0, NULL, 'nothing', NULL,
        NULL, 'owner', 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL);
";

#[tokio::test]
async fn a_version_1_database_with_rows_is_brought_up_to_date() {
    let folder = StoreHarness::new();
    folder.create_at_version(1, VERSION_1).await;

    let store = folder.open().await;
    assert_eq!(store.closed_at_open(), 1);
    let copy = folder.path().join("backups").join("toolway-1-20270115T080000Z.db");
    assert_eq!(number(&copy, "SELECT count(*) FROM calls").await, 2);
    let id: CallId = "0198f3a1-0000-7000-8000-00000000000a".parse().unwrap();
    let old = CallRow {
        call_id: id,
        name: "phone__battery".to_owned(),
        tool: Some("phone/battery".parse().unwrap()),
        principal: PrincipalId::from("t-1"),
        role: Role::Client,
        door: EntryPoint::WebSocket,
        agent: Some("home".to_owned()),
        session: None,
        turn: None,
        approved_by: None,
        hooks: vec![],
        rule: None,
        arguments: Some(json(r#"{"a": 1.0}"#)),
        ran_with: None,
        status: CallStatus::Success,
        code: None,
        outcome: Some(json(r#"{"status":"success","result":"87"}"#)),
        started_ms: NOW,
        total_us: 4,
        waiting_us: 1,
        queued_us: 2,
        running_us: 3,
        attempts: 1,
    };
    assert_eq!(store.calls().get(id).await.unwrap(), Some(old));
    let open: CallId = "0198f3a1-0000-7000-8000-00000000000b".parse().unwrap();
    assert_eq!(store.calls().get(open).await.unwrap().unwrap().code, Some(Code::GatewayRestarted));
    // Keys are found, and new rows come after the old.
    let earlier = store.recorder().find_by_key(&PrincipalId::from("t-1"), "k", 0).await.unwrap();
    assert_eq!(earlier.id, id);
    record(&store, call("a/new"), success(""));
    store.flush().await.unwrap();
    assert_eq!(number(&folder.database(), "SELECT max(seq) FROM calls").await, 6);
    assert_eq!(store.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls.len(), 3);
    assert_eq!(store.tokens().list().await.unwrap()[0].label, "old");
    assert_eq!(store.sources().all().await.unwrap()[0].tools, ["battery"]);
    let objects = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%calls\\_2%' ESCAPE '\\' OR sql LIKE '%calls\\_2%' ESCAPE '\\'";
    assert_eq!(number(&folder.database(), objects).await, 0);
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_version_1_backup_is_brought_up_to_date_before_it_is_put_in_place() {
    let old = StoreHarness::new();
    old.create_at_version(1, VERSION_1).await;

    let folder = StoreHarness::new();
    let store = folder.open().await;
    record(&store, call("a/gone"), success(""));
    store.restore_from(&old.database()).await.unwrap();
    let names: Vec<String> = store
        .calls()
        .list(&CallFilter::default(), None, 10)
        .await
        .unwrap()
        .calls
        .into_iter()
        .map(|call| call.name)
        .collect();
    assert_eq!(names, ["nothing", "phone__battery"]);
}

const VERSION_2: &str = "
    INSERT INTO tokens (id, hash, role, label, created_ms) VALUES ('t-2', zeroblob(32), 'client', 'newer', 1);
    INSERT INTO rules VALUES ('night', 0, '{\"effect\":\"deny\"}', 7);
    INSERT INTO calls VALUES (4, x'0198f3a100007000800000000000000c', 1800000000000, 1, NULL, 'phone__battery', 'phone',
        'battery', 't-2', 1, 2, 'home', 's-1', 'turn-1', 'grant:g', '{\"hooks\":[\"h\"]}', NULL, NULL, 4, 1, 2, 3, 1,
        '{}', NULL, '{\"status\":\"success\",\"result\":\"87\"}');
";

#[tokio::test]
async fn a_version_2_database_with_rows_is_brought_up_to_date() {
    let folder = StoreHarness::new();
    folder.create_at_version(2, VERSION_2).await;
    let store = folder.open().await;
    assert_eq!((store.closed_at_open(), store.interrupted_at_open()), (0, 0));
    let copy = folder.path().join("backups").join("toolway-2-20270115T080000Z.db");
    assert_eq!(number(&copy, "SELECT count(*) FROM rules").await, 1);
    let id: CallId = "0198f3a1-0000-7000-8000-00000000000c".parse().unwrap();
    let call = store.calls().get(id).await.unwrap().unwrap();
    assert_eq!((call.session.as_deref(), call.hooks), (Some("s-1"), vec!["h".to_owned()]));
    assert_eq!(store.rules().list().await.unwrap()[0].name, "night");
    assert_eq!(store.tokens().list().await.unwrap()[0].label, "newer");
    assert_eq!(store.agents().list().await.unwrap(), []);
    assert_eq!(store.sessions().count().await.unwrap(), 0);
    store.check().await.unwrap();
}

#[tokio::test]
async fn a_version_2_backup_takes_the_conversations_of_now_away() {
    let old = StoreHarness::new();
    old.create_at_version(2, VERSION_2).await;

    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.agents().put("home", &json("{}"), NOW).await.unwrap();
    store.sessions().begin(turn("s", "t", "hello")).await.unwrap();
    store.restore_from(&old.database()).await.unwrap();
    assert_eq!(store.agents().list().await.unwrap(), []);
    assert_eq!(store.sessions().list(&SessionRecordFilter::default(), None, 10).await.unwrap().sessions, []);
    assert_eq!(store.sessions().turn("t").await.unwrap(), None);
    assert_eq!(store.rules().list().await.unwrap()[0].name, "night");
    assert_eq!(number(&old.database(), "PRAGMA user_version").await, 2);
}

const VERSION_3: &str = "
    INSERT INTO sources VALUES ('phone', 't-3', 'id:1', 'device', 'Phone', NULL, NULL, 1, 2, '[]', 3);
    INSERT INTO sources VALUES ('desk', 't-3', 'id:2', 'device', 'Desk', NULL, NULL, 1, 2, '[]', NULL);
";

#[tokio::test]
async fn in_a_version_3_database_the_identity_of_a_removed_source_becomes_free() {
    let folder = StoreHarness::new();
    folder.create_at_version(3, VERSION_3).await;
    let store = folder.open().await;
    let sources = store.sources();
    let [desk, phone]: [SourceRecord; 2] = sources.all().await.unwrap().try_into().unwrap();
    assert_eq!((phone.removed_ms, desk.removed_ms), (Some(3), None));
    let again = |record: &SourceRecord, slug: &str| SourceRecord {
        slug: slug.parse().unwrap(),
        removed_ms: None,
        ..record.clone()
    };
    let refused = sources.upsert(&again(&desk, "desk-2")).await;
    assert!(matches!(refused, Err(StoreError::SlugTaken { .. })));
    let phone_2 = again(&phone, "phone-2");
    sources.upsert(&phone_2).await.unwrap();
    assert_eq!(sources.all().await.unwrap(), [desk, phone, phone_2]);
    store.check().await.unwrap();
}
