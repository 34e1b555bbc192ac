use std::sync::Arc;

use super::*;
use crate::tests::support::{NOW, StoreHarness, ending, number as read_number, request, said, turn};
use crate::{ModelUsageGrouping, Store, UsageFilter};

async fn texts(store: &Store, session: &str) -> Vec<(u64, StoredRole, String)> {
    let page = store.sessions().messages_after(session, 0, 1000).await.unwrap();
    let text = |parts: &toolway_types::RawJson| parts.to_value()[0]["text"].as_str().unwrap().to_owned();
    page.messages.iter().map(|it| (it.seq, it.role, text(&it.parts))).collect()
}

fn again(session: &str, id: &str, answers: u64) -> NewTurn {
    NewTurn { opening: TurnOpening::Regenerate { answers }, started_ms: NOW + 50, ..turn(session, id, "") }
}

#[tokio::test]
async fn messages_of_a_turn_are_stored_in_order() {
    use StoredRole::{Assistant, Tool, User};
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    let begun = sessions.begin(turn("s", "one", "How full is it?")).await.unwrap();
    assert_eq!(begun, StartedTurn { answers: 1, next: 2, is_new_session: true });
    let running = sessions.turn("one").await.unwrap().unwrap();
    assert_eq!((running.state, running.answers, running.ended_ms), (TurnState::Running, 1, None));

    let mut asked = request("t-1", NOW + 1, Some(0.25));
    asked.turn = Some("one".to_owned());
    asked.session = Some("s".to_owned());
    let call = vec![said(Assistant, "calls battery")];
    let appended = sessions.append("one", call, vec![asked.clone()], NOW + 2).await.unwrap();
    assert_eq!(appended, AppendedMessages { first: 2, next: 3 });
    let results = vec![said(Tool, "87")];
    assert_eq!(sessions.append("one", results, vec![], NOW + 3).await.unwrap().next, 4);
    let tokens = TokenCounts { input: Some(200), output: Some(20), ..TokenCounts::default() };
    let end = TurnEnding {
        messages: vec![said(Assistant, "87 %")],
        requests: vec![asked],
        rounds: 2,
        calls: 1,
        tokens,
        cost: Some(0.5),
        currency: Some("USD".to_owned()),
        ..ending("one", TurnState::Done)
    };
    assert_eq!(sessions.end(end).await.unwrap(), AppendedMessages { first: 4, next: 5 });

    let second = NewTurn { agent: "home".to_owned(), started_ms: NOW + 20, ..turn("s", "two", "Thanks") };
    assert_eq!(
        sessions.begin(second).await.unwrap(),
        StartedTurn { answers: 5, next: 6, is_new_session: false }
    );
    store.close().await;

    let store = folder.open().await;
    let expected = [
        (1, User, "How full is it?"),
        (2, Assistant, "calls battery"),
        (3, Tool, "87"),
        (4, Assistant, "87 %"),
        (5, User, "Thanks"),
    ];
    assert_eq!(texts(&store, "s").await, expected.map(|(seq, role, text)| (seq, role, text.to_owned())));
    let done = TurnRecord {
        id: "one".to_owned(),
        session: "s".to_owned(),
        answers: 1,
        state: TurnState::Done,
        is_replaced: false,
        started_ms: NOW,
        ended_ms: Some(NOW + 9),
        code: None,
        message: None,
        finish: Some("stop".to_owned()),
        rounds: 2,
        calls: 1,
        tokens,
        cost: Some(0.5),
        currency: Some("USD".to_owned()),
    };
    let turns = store.sessions().turns("s", 10).await.unwrap();
    assert_eq!((turns.len(), &turns[0]), (2, &done));
    assert_eq!(store.sessions().turns("s", 1).await.unwrap()[0].id, "two");
    let session = store.sessions().get("s").await.unwrap().unwrap();
    assert_eq!((session.messages, session.agent.as_str(), session.updated_ms), (5, "home", NOW + 20));
    let usage = store.usage().report(ModelUsageGrouping::Session, &UsageFilter::default()).await.unwrap();
    assert_eq!((usage[0].key.as_deref(), usage[0].requests, usage[0].cost), (Some("s"), 2, Some(0.5)));
}

#[tokio::test]
async fn a_persons_message_is_stored_before_the_model_is_asked() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.sessions().begin(turn("s", "t", "Hello")).await.unwrap();
    let after = folder.copy_after_crash();
    assert_eq!(texts(&after.open().await, "s").await.len(), 1);
    store.sessions().append("t", vec![said(StoredRole::Assistant, "Hi")], vec![], NOW).await.unwrap();
    let after = folder.copy_after_crash();
    assert_eq!(texts(&after.open().await, "s").await.len(), 2);
}

#[tokio::test]
async fn a_replaced_answer_keeps_its_cost() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "zero", "First")).await.unwrap();
    let end =
        TurnEnding { messages: vec![said(StoredRole::Assistant, "Yes")], ..ending("zero", TurnState::Done) };
    sessions.end(end).await.unwrap();
    sessions.begin(NewTurn { started_ms: NOW + 10, ..turn("s", "one", "Second") }).await.unwrap();
    let end = TurnEnding {
        messages: vec![
            said(StoredRole::Assistant, "calls"),
            said(StoredRole::Tool, "No"),
            said(StoredRole::Assistant, "No"),
        ],
        requests: vec![request("t-1", NOW + 11, Some(0.25))],
        cost: Some(0.25),
        ..ending("one", TurnState::Done)
    };
    sessions.end(end).await.unwrap();
    let full = sessions.get("s").await.unwrap().unwrap();

    let begun = sessions.begin(again("s", "two", 3)).await.unwrap();
    assert_eq!(begun, StartedTurn { answers: 3, next: 4, is_new_session: false });
    let left: Vec<String> = texts(&store, "s").await.into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(left, ["First", "Yes", "Second"]);
    let session = sessions.get("s").await.unwrap().unwrap();
    let took = |text: &str| (text.len() + r#"[{"text":"","type":"text"}]"#.len() + text.len()) as u64;
    assert_eq!(full.bytes - session.bytes, took("calls") + took("No") * 2);
    let sums = "SELECT (SELECT sum(octet_length(parts) + octet_length(text)) FROM messages) - sum(bytes) FROM sessions";
    assert_eq!(read_number(&folder.database(), sums).await, 0);

    let turns = sessions.turns("s", 10).await.unwrap();
    let replaced: Vec<_> = turns.iter().map(|turn| (turn.id.as_str(), turn.is_replaced, turn.cost)).collect();
    assert_eq!(replaced, [("zero", false, None), ("one", true, Some(0.25)), ("two", false, None)]);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 0.25);

    // Only an existing message of a person can be answered again.
    for (session, answers) in [("s", 2), ("s", 9), ("s", 0), ("other", 1)] {
        let refused = sessions.begin(again(session, "three", answers)).await;
        assert!(matches!(refused, Err(StoreError::Missing { .. })), "{refused:?}");
    }
    assert_eq!(sessions.turn("three").await.unwrap(), None);
    assert_eq!(sessions.get("s").await.unwrap().unwrap().messages, 3);
}

#[tokio::test]
async fn a_turn_in_another_principals_session_is_refused() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.sessions().begin(turn("s", "one", "Hello")).await.unwrap();
    let stranger = NewTurn { principal: "t-2".to_owned(), ..turn("s", "two", "Me too") };
    let refused = store.sessions().begin(stranger).await;
    assert!(matches!(refused, Err(StoreError::SessionTaken { id }) if id == "s"));
    assert_eq!(store.sessions().turn("two").await.unwrap(), None);
    assert_eq!(texts(&store, "s").await.len(), 1);
}

#[tokio::test]
async fn an_ended_turn_accepts_only_usage_records() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "t", "Hello")).await.unwrap();
    sessions.end(ending("t", TurnState::Aborted)).await.unwrap();
    let late = vec![said(StoredRole::Assistant, "late")];
    let refused = sessions.append("t", late, vec![request("t-1", NOW, Some(1.0))], NOW).await;
    assert!(matches!(refused, Err(StoreError::Missing { what: "running turn", .. })));
    let refused = sessions.end(ending("t", TurnState::Done)).await;
    assert!(matches!(refused, Err(StoreError::Missing { .. })));
    assert_eq!(texts(&store, "s").await.len(), 1);
    assert_eq!(sessions.turn("t").await.unwrap().unwrap().state, TurnState::Aborted);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 1.0);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_with_a_reason() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    let mut large = said(StoredRole::User, "");
    let frame = large.bytes();
    large = said(StoredRole::User, &"x".repeat(MAX_MESSAGE_BYTES - frame));
    large.text.clear();
    assert_eq!(large.bytes(), MAX_MESSAGE_BYTES);
    let mut larger = large.clone();
    larger.text.push('x');
    let opening = TurnOpening::Message(larger.clone());
    let refused = sessions.begin(NewTurn { opening, ..turn("s", "t", "") }).await.unwrap_err();
    assert!(matches!(refused, StoreError::MessageTooLarge { bytes } if bytes == MAX_MESSAGE_BYTES + 1));
    assert!(refused.to_string().contains("33554433 bytes is too large"), "{refused}");
    assert_eq!(sessions.get("s").await.unwrap(), None);
    let opening = TurnOpening::Message(large);
    sessions.begin(NewTurn { opening, ..turn("s", "t", "") }).await.unwrap();

    // A turn whose last message is refused has ended, and its cost is stored.
    let end = TurnEnding {
        messages: vec![larger],
        requests: vec![request("t-1", NOW, Some(2.0))],
        ..ending("t", TurnState::Done)
    };
    assert!(matches!(sessions.end(end).await, Err(StoreError::MessageTooLarge { .. })));
    assert_eq!(sessions.turn("t").await.unwrap().unwrap().state, TurnState::Done);
    assert_eq!(sessions.get("s").await.unwrap().unwrap().messages, 1);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 2.0);
}

#[tokio::test]
async fn a_full_session_refuses_messages() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "one", "Hello")).await.unwrap();
    let almost = i64::try_from(MAX_SESSION_BYTES).unwrap() - 10;
    let fill = sqlx::query("UPDATE sessions SET bytes = ?").bind(almost);
    store.database().change("test", fill).await.unwrap();
    let refused = sessions.append("one", vec![said(StoredRole::Assistant, "Hi")], vec![], NOW).await;
    assert!(matches!(refused, Err(StoreError::SessionFull { .. })));
    let refused = sessions.begin(turn("s", "two", "More")).await.unwrap_err();
    assert!(refused.to_string().contains("Start a new one"), "{refused}");
    assert_eq!(texts(&store, "s").await.len(), 1);
}

#[tokio::test]
async fn a_draft_exists_until_its_answer_is_stored() {
    const DRAFTS: &str = "SELECT coalesce(sum(length(text) * 100 + seq), 0) FROM drafts";
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    let next = sessions.begin(turn("s", "t", "Hello")).await.unwrap().next;
    let id: Arc<str> = "t".into();
    let drafts = async || {
        store.flush().await.unwrap();
        read_number(&folder.database(), DRAFTS).await
    };
    sessions.draft(&id, next, "H");
    sessions.draft(&id, next, "Hi th");
    assert_eq!(drafts().await, 502);
    sessions.draft(&id, next, "Hi there");
    // Usage is stored while the answer is unfinished.
    sessions.append("t", vec![], vec![request("t-1", NOW, None)], NOW).await.unwrap();
    assert_eq!(drafts().await, 802);
    let answer =
        sessions.append("t", vec![said(StoredRole::Assistant, "Hi there")], vec![], NOW).await.unwrap();
    assert_eq!(drafts().await, 0);
    // A late draft belongs to no answer.
    sessions.draft(&id, next, "Hi the");
    assert_eq!(drafts().await, 0);
    sessions.draft(&id, answer.next, "And");
    assert_eq!(drafts().await, 303);
    sessions.end(ending("t", TurnState::Aborted)).await.unwrap();
    assert_eq!(drafts().await, 0);
    sessions.draft(&id, answer.next, "And more");
    sessions.draft(&"nobody's".into(), 1, "x");
    assert_eq!(drafts().await, 0);
}

#[tokio::test]
async fn a_draft_is_written_without_a_flush() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let next = store.sessions().begin(turn("s", "t", "Hello")).await.unwrap().next;
    // A change that may wait a second longer is queued first.
    store.tokens().touch(&"t-1".into(), NOW);
    store.sessions().draft(&"t".into(), next, "Hi");
    let there = async {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(5));
        while read_number(&folder.database(), "SELECT count(*) FROM drafts").await == 0 {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_millis(900), there).await.unwrap();
}
