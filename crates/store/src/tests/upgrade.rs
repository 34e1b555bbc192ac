//! Tests of upgrades, on databases with rows as earlier versions wrote them.

use toolway_core::caller::EntryPoint;
use toolway_types::{CallId, Code, PrincipalId, Role};

use super::support::{NOW, StoreHarness, call, json, number, record, success, turn};
use crate::{CallFilter, CallRow, CallStatus, SessionRecordFilter, SourceRecord, StoreError, TurnState};

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
        via: EntryPoint::WebSocket,
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
    // Idempotency keys are found, and new rows come after the old ones.
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

/// Truncated texts as version 0.1 stored them, and texts that only look like those.
const VERSION_4: &str = r#"
    INSERT INTO calls VALUES (1, x'0198f3a100007000800000000000000d', 1800000000000, 1, NULL, 'a__b', 'a', 'b', 't-4', 1,
        3, 'home', 's', 't', NULL, NULL, 'k', zeroblob(32), 4, 1, 2, 3, 1,
        '{"cut":true,"kept":13,"of":5000,"start":"{\"t\":\"é\\\"\",\""}',
        '{"cut":true,"kept":3,"of":17,"start":"{\"a"}',
        '{"status":"success","cut":true,"kept":50,"of":90000,"start":"{\"cut\":true,\"kept\":50,\"of\":90000,\"start\":\"\\u00e9 \"}"}');
    INSERT INTO calls VALUES (2, x'0198f3a100007000800000000000000e', 1800000000001, 2, 'timeout', 'a__b', 'a', 'b', 't-4',
        1, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, 1, 2, 3, 1,
        '{"cut":true,"kept":4,"of":9,"start":"abc"}',
        '{"cut":true,"kept":3,"of":9,"start":"abc","more":1.0}',
        '{"status":"error","error_type":"execution_error","code":"timeout","cut":true,"kept":1,"of":7,"start":"{"}');
    INSERT INTO calls VALUES (3, x'0198f3a100007000800000000000000f', 1800000000002, 1, NULL, 'a__b', 'a', 'b', 't-4', 1, 0,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, 1, 2, 3, 1, '"no object"', '{"cut":true,"kept":3,"of":3,"start":"abc"}',
        '{"status":"success","result":{"cut":true,"kept":3,"of":9,"start":"abc"}}');
    INSERT INTO sessions VALUES ('s', 't-4', 'home', 'Title', 2, 1, 2, 2, 100);
    INSERT INTO turns VALUES ('t', 's', 1, 1, 0, 1, 2, NULL, NULL, 'stop', 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO messages VALUES ('s', 1, 0, 0, 1, 't', 'hello', '[{"type":"text","text":"Hello"}]');
    INSERT INTO messages VALUES ('s', 2, 1, 1, 2, 't', '', '[{"type":"tool_call","cut":true,"opaque":{"b":1.0,"a":1e3}}]');
    INSERT INTO tool_specs VALUES ('a', 'b', zeroblob(32), x'0101010101010101010101010101010101010101010101010101010101010101', 7);
"#;

#[tokio::test]
async fn in_a_version_4_database_truncated_texts_get_their_new_names() {
    let folder = StoreHarness::new();
    folder.create_at_version(4, VERSION_4).await;
    let store = folder.open().await;
    let calls = store.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls;
    let texts = |call: &CallRow| {
        [&call.arguments, &call.ran_with, &call.outcome].map(|text| text.as_ref().unwrap().get().to_owned())
    };
    let [third, second, first] = [texts(&calls[0]), texts(&calls[1]), texts(&calls[2])];
    assert_eq!(
        first,
        [
            r#"{"truncated":true,"kept_bytes":13,"total_bytes":5000,"preview":"{\"t\":\"é\\\"\",\""}"#,
            r#"{"truncated":true,"kept_bytes":3,"total_bytes":17,"preview":"{\"a"}"#,
            concat!(
                r#"{"status":"success","truncated":true,"kept_bytes":50,"total_bytes":90000,"#,
                r#""preview":"{\"cut\":true,\"kept\":50,\"of\":90000,\"start\":\"\\u00e9 \"}"}"#
            ),
        ]
    );
    assert_eq!(
        second,
        [
            r#"{"cut":true,"kept":4,"of":9,"start":"abc"}"#,
            r#"{"cut":true,"kept":3,"of":9,"start":"abc","more":1.0}"#,
            concat!(
                r#"{"status":"error","error_type":"execution_error","code":"timeout","#,
                r#""truncated":true,"kept_bytes":1,"total_bytes":7,"preview":"{"}"#
            ),
        ],
        "arguments of a caller that only look like a truncated text stay"
    );
    assert_eq!(
        third[1..],
        [
            r#"{"cut":true,"kept":3,"of":3,"start":"abc"}"#,
            r#"{"status":"success","result":{"cut":true,"kept":3,"of":9,"start":"abc"}}"#,
        ]
    );
    assert_eq!((calls[2].via, calls[2].waiting_us), (EntryPoint::Mcp, 1));

    let session = store.sessions().get("s").await.unwrap().unwrap();
    assert_eq!((session.messages, session.title.as_deref()), (2, Some("Title")));
    let turn = store.sessions().turn("t").await.unwrap().unwrap();
    assert_eq!((turn.answers, turn.state, turn.finish.as_deref()), (1, TurnState::Done, Some("stop")));
    let messages = store.sessions().messages_after("s", 0, 10).await.unwrap().messages;
    assert_eq!(messages.iter().map(|it| it.is_cut).collect::<Vec<_>>(), [false, true]);
    let signed = r#"[{"type":"tool_call","cut":true,"opaque":{"b":1.0,"a":1e3}}]"#;
    assert_eq!(messages[1].parts.get(), signed, "a model provider's own data stays byte for byte");
    let changed = "SELECT count(*) FROM tool_specs WHERE accepted = zeroblob(32) AND current <> accepted";
    assert_eq!(number(&folder.database(), changed).await, 1);
    store.check().await.unwrap();
}

const VERSION_5: &str = "
    INSERT INTO calls (seq, id, started_ms, status, name, principal, role, via, total_us, user_wait_us, queued_us,
        running_us, attempts) VALUES (7, x'0198f3a1000070008000000000000010', 1800000000000, 0, 'a__b', 't-1', 1, 0, 0, 0, 0, 0, 0);
";

#[tokio::test]
async fn a_running_call_of_version_5_is_closed_and_starts_share_rows_afterwards() {
    let folder = StoreHarness::new();
    folder.create_at_version(5, VERSION_5).await;
    let store = folder.open().await;
    assert_eq!(store.closed_at_open(), 1);
    let id: CallId = "0198f3a1-0000-7000-8000-000000000010".parse().unwrap();
    assert_eq!(store.calls().get(id).await.unwrap().unwrap().code, Some(Code::GatewayRestarted));
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM started_calls").await, 0);
    store.check().await.unwrap();
}
