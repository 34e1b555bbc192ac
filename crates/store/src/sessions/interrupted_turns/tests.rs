use std::sync::Arc;

use toolway_core::record::OpenedCall;

use super::*;
use crate::tests::support::{NOW, StoreHarness, call, ending, number, record, request, said, success, turn};
use crate::{ModelRequestRecord, Store, TokenCounts, TurnState};

async fn last(store: &Store, session: &str) -> (u64, StoredRole, bool, String) {
    let page = store.sessions().messages_before(session, None, 1).await.unwrap();
    let it = &page.messages[0];
    (it.seq, it.role, it.is_cut, it.parts.get().to_owned())
}

#[tokio::test]
async fn turns_interrupted_by_a_crash_are_marked_and_keep_their_text() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    // One turn is answering, one runs tools, one has ended.
    let next = sessions.begin(turn("speaks", "one", "Tell me a story")).await.unwrap().next;
    sessions.draft(&Arc::from("one"), next, "Once \"upon\" a");
    sessions.begin(turn("runs", "two", "How full is it?")).await.unwrap();
    let asked = ModelRequestRecord {
        turn: Some("two".to_owned()),
        session: Some("runs".to_owned()),
        tokens: TokenCounts { cached: Some(7), ..request("", 0, None).tokens },
        ..request("t-1", NOW, Some(0.5))
    };
    let calls = vec![said(StoredRole::Assistant, "calls battery")];
    let unanswered = ModelRequestRecord {
        status: crate::RequestStatus::Failed,
        tokens: TokenCounts::default(),
        cost: None,
        ..asked.clone()
    };
    sessions.append("two", calls, vec![asked, unanswered], NOW + 1).await.unwrap();
    let inside = |turn: &str| OpenedCall {
        session: Some("runs".into()),
        turn: Some(turn.into()),
        started_ms: NOW + 1,
        ..call("phone/battery")
    };
    record(&store, inside("two"), success("87"));
    record(&store, inside("another"), success("87"));
    sessions.begin(turn("done", "three", "Hi")).await.unwrap();
    sessions.end(ending("three", TurnState::Done)).await.unwrap();
    store.flush().await.unwrap();

    let after = folder.copy_after_crash();
    after.clock.set(NOW + 1000);
    let store = after.open().await;
    assert_eq!(store.interrupted_at_open(), 2);
    assert_eq!(number(&after.database(), "SELECT count(*) FROM drafts").await, 0);
    let draft = (2, StoredRole::Assistant, true, r#"[{"type":"text","text":"Once \"upon\" a"}]"#.to_owned());
    assert_eq!(last(&store, "speaks").await, draft);
    assert_eq!(last(&store, "runs").await.0, 2);
    assert!(!last(&store, "runs").await.2);
    let state = async |id: &str| store.sessions().turn(id).await.unwrap().unwrap();
    let one = state("one").await;
    assert_eq!((one.state, one.ended_ms, one.rounds, one.cost), (TurnState::Interrupted, None, 0, None));
    let two = state("two").await;
    assert_eq!((two.state, two.rounds, two.calls), (TurnState::Interrupted, 2, 1));
    assert_eq!((two.cost, two.currency.as_deref()), (Some(0.5), Some("USD")));
    let tokens =
        TokenCounts { input: Some(100), output: Some(10), cached: Some(7), ..TokenCounts::default() };
    assert_eq!(two.tokens, tokens);
    assert_eq!(state("three").await.state, TurnState::Done);
    let session = store.sessions().get("speaks").await.unwrap().unwrap();
    assert_eq!((session.messages, session.updated_ms), (2, NOW + 1000));
    // The conversation can continue, and its text is found.
    assert_eq!(store.sessions().begin(turn("speaks", "four", "Go on")).await.unwrap().answers, 3);
    store.close().await;
    let store = after.open().await;
    assert_eq!(store.interrupted_at_open(), 1);
}

#[tokio::test]
async fn an_unknown_cost_of_one_request_makes_the_turns_cost_unknown() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.sessions().begin(turn("s", "t", "Hi")).await.unwrap();
    let asked = |cost| ModelRequestRecord {
        turn: Some("t".to_owned()),
        session: Some("s".to_owned()),
        ..request("t-1", NOW, cost)
    };
    store.sessions().append("t", vec![], vec![asked(Some(0.5)), asked(None)], NOW).await.unwrap();
    let after = folder.copy_after_crash();
    let store = after.open().await;
    let turn = store.sessions().turn("t").await.unwrap().unwrap();
    assert_eq!((turn.rounds, turn.cost, turn.tokens.input), (2, None, Some(200)));
}
