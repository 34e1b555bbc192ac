use toolway_core::record::OpenedCall;
use toolway_types::PrincipalId;

use super::*;
use crate::tests::support::{NOW, StoreHarness, call, ending, number, record, request, said, success, turn};
use crate::{
    CallFilter, ModelRequestRecord, ModelUsageGrouping, NewTurn, StoredRole, TurnEnding, TurnState,
    UsageFilter,
};

fn inside(session: &str, principal: &str) -> OpenedCall {
    OpenedCall {
        principal: PrincipalId::from(principal),
        session: Some(session.into()),
        ..call("phone/battery")
    }
}

#[tokio::test]
async fn removing_a_session_keeps_only_its_usage_records() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    for (session, id) in [("gone", "one"), ("stays", "two")] {
        sessions.begin(turn(session, id, "Hello")).await.unwrap();
        let asked = ModelRequestRecord {
            session: Some(session.to_owned()),
            turn: Some(id.to_owned()),
            ..request("t-1", NOW, Some(0.5))
        };
        let messages = vec![said(StoredRole::Assistant, "Hi")];
        sessions
            .end(TurnEnding { messages, requests: vec![asked], ..ending(id, TurnState::Done) })
            .await
            .unwrap();
        record(&store, inside(session, "t-1"), success("87"));
    }
    // A call of another principal that names the session is not removed.
    record(&store, inside("gone", "t-9"), success("87"));
    let next =
        sessions.begin(NewTurn { started_ms: NOW + 1, ..turn("gone", "three", "More") }).await.unwrap().next;
    sessions.draft(&"three".into(), next, "I was");
    store.flush().await.unwrap();

    let removed = sessions.remove("gone", true).await.unwrap();
    assert_eq!(removed, Some(RemovedSession { messages: 3, turns: 2, calls: 1 }));
    assert_eq!(sessions.remove("gone", true).await.unwrap(), None);
    assert_eq!(sessions.get("gone").await.unwrap(), None);
    let left = "SELECT (SELECT count(*) FROM messages WHERE session = 'gone') + (SELECT count(*) FROM turns WHERE \
         session = 'gone') + (SELECT count(*) FROM drafts) + (SELECT count(*) FROM model_requests WHERE turn = 'one')";
    assert_eq!(number(&folder.database(), left).await, 0);
    let usage = store.usage().report(ModelUsageGrouping::Session, &UsageFilter::default()).await.unwrap();
    let keys: Vec<_> = usage.iter().map(|row| (row.key.as_deref(), row.cost)).collect();
    assert_eq!(keys, [(None, Some(0.5)), (Some("stays"), Some(0.5))]);
    assert_eq!(sessions.get("stays").await.unwrap().unwrap().messages, 2);
    let calls = store.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls;
    let mut of: Vec<_> =
        calls.iter().map(|call| (call.session.as_deref().unwrap(), &*call.principal.0)).collect();
    of.sort_unstable();
    assert_eq!(of, [("gone", "t-9"), ("stays", "t-1")]);

    // The running turn can no longer write, and the id is free for any principal.
    let asked = ModelRequestRecord {
        session: Some("gone".to_owned()),
        turn: Some("three".to_owned()),
        ..request("t-1", NOW, Some(0.25))
    };
    let end = TurnEnding { requests: vec![asked], ..ending("three", TurnState::Done) };
    assert!(matches!(sessions.end(end).await, Err(StoreError::Missing { .. })));
    let named = "SELECT count(*) FROM model_requests WHERE session = 'gone' OR turn IN ('one', 'three')";
    assert_eq!(number(&folder.database(), named).await, 0);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 1.25);
    let anew = NewTurn { principal: "t-2".to_owned(), ..turn("gone", "four", "Anew") };
    assert!(sessions.begin(anew).await.unwrap().is_new_session);
    assert_eq!(sessions.messages_after("gone", 0, 10).await.unwrap().messages.len(), 1);
}

#[tokio::test]
async fn calls_are_kept_unless_their_removal_is_requested() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.sessions().begin(turn("s", "t", "Hello")).await.unwrap();
    record(&store, inside("s", "t-1"), success("87"));
    let removed = store.sessions().remove("s", false).await.unwrap().unwrap();
    assert_eq!(removed, RemovedSession { messages: 1, turns: 1, calls: 0 });
    assert_eq!(store.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls.len(), 1);
}

#[tokio::test]
async fn a_large_session_is_removed_in_steps_and_frees_its_space() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "t", "Hello")).await.unwrap();
    for _ in 0..12 {
        let messages = (0..100).map(|_| said(StoredRole::Tool, &"x".repeat(10_000))).collect();
        sessions.append("t", messages, vec![], NOW).await.unwrap();
    }
    // 1,200 messages of about 20,000 bytes: one step reduces both count and size.
    assert!(sessions.remove_newest("s").await.unwrap());
    let session = sessions.get("s").await.unwrap().unwrap();
    let gone = 1201 - session.messages;
    assert!((400..=500).contains(&gone), "{gone}");
    let sums = "SELECT (SELECT sum(octet_length(parts) + octet_length(text)) FROM messages) - sum(bytes) FROM sessions";
    assert_eq!(number(&folder.database(), sums).await, 0);
    assert_eq!(number(&folder.database(), "SELECT max(seq) FROM messages").await as u64, session.messages);

    let pages = number(&folder.database(), "PRAGMA page_count").await;
    assert_eq!(sessions.remove("s", false).await.unwrap().unwrap().messages, session.messages);
    assert!(number(&folder.database(), "PRAGMA page_count").await < pages / 4);
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM messages").await, 0);
}
