use std::fs;
use std::sync::Arc;

use super::*;
use crate::migrations::{MIGRATIONS, Migration};
use crate::tests::support::{
    NOW, StoreHarness, call, end, ending, execute, json, keyed, number, record, request, said, success, turn,
    within,
};
use crate::tokens::TokenRecord;
use crate::{
    CallFilter, CallStatus, GrantDecision, GrantKind, GrantRecord, RegisteredSpec, SourceRecord, StoredRole,
    TurnEnding, TurnState,
};
use toolway_types::{Code, Role};

const NEXT: &[Migration] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    MIGRATIONS[3],
    MIGRATIONS[4],
    MIGRATIONS[5],
    Migration { version: 7, sql: "ALTER TABLE sources ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';" },
];

fn token(id: &str, hash: u8) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        hash: [hash; 32],
        role: Role::Owner,
        label: String::new(),
        agent: None,
        device_id: None,
        device_name: None,
        platform: None,
        created_ms: NOW,
        expires_ms: None,
        revoked_ms: None,
        last_used_ms: None,
    }
}

fn source(slug: &str) -> SourceRecord {
    SourceRecord {
        slug: slug.parse().unwrap(),
        token_id: "owner".to_owned(),
        identity_key: slug.to_owned(),
        kind: "device".to_owned(),
        label: slug.to_owned(),
        platform: None,
        app_version: None,
        created_ms: NOW,
        last_seen_ms: NOW,
        tools: vec!["t".to_owned()],
        removed_ms: None,
    }
}

async fn tools(store: &Store) -> Vec<(String, CallStatus)> {
    let page = store.calls().list(&CallFilter::default(), None, 1000).await.unwrap();
    let mut tools: Vec<_> =
        page.calls.into_iter().map(|call| (call.tool.unwrap().to_string(), call.status)).collect();
    tools.sort_by(|one, other| one.0.cmp(&other.0));
    tools
}

#[tokio::test]
async fn a_restore_brings_back_the_state_of_the_backup() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("owner", 1)).await.unwrap();
    store.sources().upsert(&source("phone")).await.unwrap();
    record(&store, call("a/old"), success("kept"));
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    let bytes = fs::read(&backup).unwrap();

    store.tokens().replace_hash("owner", [2; 32]).await.unwrap();
    store.tokens().insert(&token("late", 3)).await.unwrap();
    store.sources().remove(&"phone".parse().unwrap(), NOW + 1).await.unwrap();
    store.sources().upsert(&source("desk")).await.unwrap();
    record(&store, call("a/late"), success(""));

    store.restore_from(&backup).await.unwrap();
    assert_eq!(store.tokens().list().await.unwrap(), [token("owner", 1)]);
    assert_eq!(store.sources().all().await.unwrap(), [source("phone")]);
    assert_eq!(tools(&store).await, [("a/old".to_owned(), CallStatus::Success)]);
    // The store continues to work, and no temporary files remain.
    record(&store, call("a/new"), success(""));
    assert_eq!(tools(&store).await.len(), 2);
    assert!(fs::read(&backup).unwrap() == bytes);
    assert!(!folder.path().join("restore.part").exists());
}

#[tokio::test]
async fn a_restore_brings_back_grants_rules_and_specs() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let phone = "phone".parse().unwrap();
    let grant = |id: &str| GrantRecord {
        id: id.to_owned(),
        kind: GrantKind::Approval,
        permission: None,
        source: "phone".to_owned(),
        tool: "t".to_owned(),
        principal: None,
        agent: None,
        decision: GrantDecision::Granted,
        created_ms: NOW,
        created_by: "owner".to_owned(),
        expires_ms: None,
        revoked_ms: None,
    };
    let spec = |number: u8| RegisteredSpec {
        tool: "t".to_owned(),
        fingerprint: [number; 32],
        document: number.to_string().into(),
    };
    store.grants().insert(&grant("a")).await.unwrap();
    store.rules().put("one", &json("{}"), NOW).await.unwrap();
    store.rules().put("two", &json("{}"), NOW).await.unwrap();
    let before = store.specs().register(&phone, &[spec(1)], NOW).await.unwrap();
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();

    store.grants().revoke("a", NOW).await.unwrap();
    store.grants().insert(&grant("b")).await.unwrap();
    store.rules().move_to("two", 0).await.unwrap();
    store.rules().put("three", &json("{}"), NOW).await.unwrap();
    store.specs().register(&phone, &[spec(2)], NOW).await.unwrap();

    store.restore_from(&backup).await.unwrap();
    assert_eq!(store.grants().list().await.unwrap(), [grant("a")]);
    let rules: Vec<String> = store.rules().list().await.unwrap().into_iter().map(|rule| rule.name).collect();
    assert_eq!(rules, ["one", "two"]);
    assert_eq!(store.specs().of_source(&phone).await.unwrap(), before);
    assert_eq!(store.specs().document(&[1; 32]).await.unwrap().as_deref(), Some("1"));
    assert_eq!(store.specs().document(&[2; 32]).await.unwrap(), None);
}

#[tokio::test]
async fn a_restore_brings_back_agents_conversations_and_costs() {
    use StoredRole::{Assistant, User};
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    store.agents().put("home", &json("{}"), NOW).await.unwrap();
    sessions.begin(turn("kept", "one", "Hello")).await.unwrap();
    let end = TurnEnding {
        messages: vec![said(Assistant, "Hi")],
        requests: vec![request("t-1", NOW, Some(0.5))],
        ..ending("one", TurnState::Done)
    };
    sessions.end(end).await.unwrap();
    // A turn that runs during the backup, with a draft.
    let next = sessions.begin(turn("kept", "two", "More")).await.unwrap().next;
    sessions.draft(&"two".into(), next, "There");
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();

    store.agents().remove("home").await.unwrap();
    let end = TurnEnding { messages: vec![said(Assistant, "There was")], ..ending("two", TurnState::Done) };
    sessions.end(end).await.unwrap();
    sessions.begin(turn("kept", "three", "And now?")).await.unwrap();
    sessions.begin(turn("late", "four", "Hello")).await.unwrap();
    store.usage().record(vec![request("t-1", NOW, Some(9.0))]).await.unwrap();

    store.restore_from(&backup).await.unwrap();
    assert_eq!(store.agents().list().await.unwrap()[0].name, "home");
    assert_eq!((sessions.count().await.unwrap(), sessions.get("late").await.unwrap()), (1, None));
    let messages = sessions.messages_after("kept", 0, 10).await.unwrap().messages;
    let there: Vec<_> = messages.iter().map(|it| (it.role, it.is_cut)).collect();
    assert_eq!(there, [(User, false), (Assistant, false), (User, false), (Assistant, true)]);
    assert!(messages[3].parts.get().contains("\"There\""));
    let states: Vec<_> = sessions.turns("kept", 10).await.unwrap().into_iter().map(|it| it.state).collect();
    assert_eq!(states, [TurnState::Done, TurnState::Interrupted]);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 0.5);
    // Writes of a turn that no longer exists fail.
    let late = sessions.append("three", vec![said(Assistant, "Now")], vec![], NOW).await;
    assert!(matches!(late, Err(StoreError::Missing { .. })));
    let late = sessions.end(ending("two", TurnState::Done)).await;
    assert!(matches!(late, Err(StoreError::Missing { .. })));
    assert_eq!(sessions.get("kept").await.unwrap().unwrap().messages, 4);
}

#[tokio::test]
async fn a_call_that_runs_during_a_restore_has_one_record() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let recorder = store.recorder();
    // One call runs across backup and restore, one starts in between, one is only in the backup.
    let across = Arc::new(call("a/across"));
    let gone = Arc::new(call("a/gone"));
    for opened in [&across, &gone] {
        drop(recorder.open(Arc::clone(opened)));
    }
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    drop(recorder.close(end(&gone, success(""))));
    let between = Arc::new(keyed("a/between", "k"));
    within(recorder.open(Arc::clone(&between)).wait()).await;
    store.restore_from(&backup).await.unwrap();

    use CallStatus::{Error, Open, Success};
    let named = |list: [(&str, CallStatus); 3]| list.map(|(tool, status)| (tool.to_owned(), status));
    assert_eq!(tools(&store).await, named([("a/across", Open), ("a/between", Open), ("a/gone", Error)]));
    let earlier = recorder.find_by_key(&between.principal, "k", 0).await.unwrap();
    assert_eq!(earlier.id, between.id);
    for opened in [&across, &between] {
        drop(recorder.close(end(opened, success("done"))));
    }
    assert_eq!(
        tools(&store).await,
        named([("a/across", Success), ("a/between", Success), ("a/gone", Error)])
    );
    let gone = store.calls().get(gone.id).await.unwrap().unwrap();
    assert_eq!(gone.code, Some(Code::GatewayRestarted));
}

#[tokio::test]
async fn records_written_during_a_restore_are_kept() {
    let folder = StoreHarness::new();
    let store = folder.open_with(crate::StoreOptions::default()).await;
    for _ in 0..2000 {
        record(&store, call("a/old"), success(&"x".repeat(500)));
    }
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    let opened: Vec<_> = (0..200).map(|_| Arc::new(call("a/during"))).collect();
    for call in &opened {
        drop(store.recorder().open(Arc::clone(call)));
    }
    store.flush().await.unwrap();
    let other = store.clone();
    let ending = tokio::spawn(async move {
        for call in &opened {
            drop(other.recorder().close(end(call, success(""))));
            tokio::task::yield_now().await;
        }
    });
    store.restore_from(&backup).await.unwrap();
    ending.await.unwrap();
    store.flush().await.unwrap();
    let count = "SELECT count(*) FROM calls WHERE status = 1 AND tool = ";
    assert_eq!(number(&folder.database(), &format!("{count}'old'")).await, 2000);
    let during = number(&folder.database(), &format!("{count}'during'")).await;
    // Calls that ended before the transaction are replaced like everything else; none remains open.
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls WHERE status = 0").await, 0);
    assert!(during <= 200);
    assert_eq!(store.health().records_lost, 0);
}

#[tokio::test]
async fn an_older_backup_is_upgraded_first() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.sources().upsert(&source("phone")).await.unwrap();
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    store.close().await;

    let store = folder.open_migrated(NEXT).await.unwrap();
    store.restore_from(&backup).await.unwrap();
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM sources WHERE colour = 'grey'").await, 1);
    assert_eq!(number(&backup, "PRAGMA user_version").await, 6);
}

#[tokio::test]
async fn an_invalid_backup_changes_nothing() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("owner", 1)).await.unwrap();
    for _ in 0..300 {
        record(&store, call("a/b"), success(&"x".repeat(300)));
    }
    let good = folder.sibling_path("good.db");
    store.backup(&good).await.unwrap();
    let whole = fs::read(&good).unwrap();

    let file = |name: &str, bytes: &[u8]| {
        let path = folder.sibling_path(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut torn = whole.clone();
    torn.truncate(whole.len() / 2);
    let mut scribbled = whole.clone();
    let middle = whole.len() / 8192 * 4096;
    scribbled[middle..middle + 4096].fill(0xAA);
    let newer = file("newer.db", &whole);
    execute(&newer, "PRAGMA user_version = 7").await;
    let foreign = folder.sibling_path("foreign.db");
    execute(&foreign, "CREATE TABLE theirs (x)").await;

    let refusals = [
        (folder.sibling_path("missing.db"), "not a SQLite database"),
        (file("empty.db", b""), "not a SQLite database"),
        (file("letter.db", b"dear friend"), "not a SQLite database"),
        (foreign, "not one of Toolway's"),
        (file("torn.db", &torn), "damaged"),
        (file("scribbled.db", &scribbled), "damaged"),
        (newer, "newer Toolway"),
    ];
    for (path, words) in refusals {
        let error = store.restore_from(&path).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        assert!(!folder.path().join("restore.part").exists());
    }
    assert_eq!(store.tokens().list().await.unwrap(), [token("owner", 1)]);
    assert_eq!(tools(&store).await.len(), 300);
    store.restore_from(&good).await.unwrap();
}

#[tokio::test]
async fn a_restore_that_fails_midway_changes_nothing() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for _ in 0..200 {
        record(&store, call("a/large"), success(&"x".repeat(20_000)));
    }
    let backup = folder.sibling_path("backup.db");
    store.backup(&backup).await.unwrap();
    store.calls().remove_all(&CallFilter::default()).await.unwrap();
    store.tokens().insert(&token("owner", 1)).await.unwrap();
    let limit = |pages: i64| {
        let sql = AssertSqlSafe(format!("PRAGMA main.max_page_count = {pages}"));
        store.database().write(move |conn| {
            Box::pin(async move {
                sqlx::raw_sql(sql).execute(conn).await.unwrap();
                Ok(())
            })
        })
    };
    limit(300).await.unwrap();
    let error = store.restore_from(&backup).await.unwrap_err();
    assert!(matches!(error, StoreError::Database { doing: "restoring", .. }), "{error}");
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(store.tokens().list().await.unwrap(), [token("owner", 1)]);
    assert_eq!(tools(&store).await, []);

    limit(1_000_000).await.unwrap();
    store.restore_from(&backup).await.unwrap();
    assert_eq!(store.tokens().list().await.unwrap(), []);
    assert_eq!(tools(&store).await.len(), 200);
}
