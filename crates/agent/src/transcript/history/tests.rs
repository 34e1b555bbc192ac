use std::sync::Arc;

use super::*;
use serde_json::json;
use toolway_core::caller::EntryPoint;
use toolway_core::record::{CallDurations, ClosedCall, OpenedCall};
use toolway_models::ToolResult;
use toolway_store::{NewTurn, StoreOptions, TurnOpening};
use toolway_types::{PrincipalId, RawJson, Role, SystemClock, ToolOutput};

async fn store(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("data"), Arc::new(SystemClock), StoreOptions::default()).await.unwrap()
}

async fn begin(store: &Store, turn: &str, text: &str) {
    let turn = NewTurn {
        id: turn.to_owned(),
        session: "s".to_owned(),
        principal: "t-1".to_owned(),
        agent: "default".to_owned(),
        started_ms: 1,
        opening: TurnOpening::Message(stored_message(&ModelMessage::user(text), false)),
    };
    store.sessions().begin(turn).await.unwrap();
}

fn call(id: CallId) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id,
        name: "phone__battery".to_owned(),
        arguments: "{}".to_owned(),
        is_cut: false,
        opaque: None,
    })
}

fn texts(messages: &[ModelMessage]) -> Vec<String> {
    messages.iter().map(ModelMessage::text).collect()
}

#[tokio::test]
async fn stored_messages_are_loaded_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    begin(&store, "t", "How full is it?").await;
    let id = CallId::new();
    let answer =
        ModelMessage { role: MessageRole::Assistant, parts: vec![MessagePart::text("I look"), call(id)] };
    let outcome = Arc::new(Outcome::Success(ToolOutput::text("87")));
    let result = MessagePart::ToolResult(ToolResult::new(id, "phone__battery".to_owned(), outcome));
    let results = ModelMessage { role: MessageRole::Tool, parts: vec![result] };
    let end = ModelMessage::assistant("87 %, I th");
    let new =
        vec![stored_message(&answer, false), stored_message(&results, false), stored_message(&end, true)];
    // The text for searches is that of the messages.
    assert_eq!(new.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["I look", "", "87 %, I th"]);
    store.sessions().append("t", new, vec![], 5).await.unwrap();

    let entries = load(&store.sessions(), "s").await.unwrap();
    let expected = [ModelMessage::user("How full is it?"), answer, results, end];
    assert_eq!(entries.iter().map(|it| it.message.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(entries.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let last = &entries[3];
    assert_eq!(
        (last.turn.as_str(), last.is_cut, last.created_ms, last.summary_through),
        ("t", true, 5, None)
    );
    assert_eq!(for_model(&entries), expected);
}

#[tokio::test]
async fn summarized_messages_are_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    begin(&store, "t", "1").await;
    let say = |text: &str| stored_message(&ModelMessage::assistant(text), false);
    let new = vec![
        say("2"),
        say("3"),
        summary_message("one", 2, &[]),
        say("5"),
        summary_message("one and three", 3, &[]),
        say("7"),
    ];
    store.sessions().append("t", new, vec![], 5).await.unwrap();
    let entries = load(&store.sessions(), "s").await.unwrap();
    // The newest summary covers the first three, but the person's last message stays; the older summary is
    // among the rest.
    assert_eq!(entries.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 4, 5, 6, 7]);
    let told = for_model(&entries);
    assert_eq!(texts(&told), [&format!("{SUMMARY_PREFIX}\none and three"), "1", "5", "7"]);
    assert_eq!(told[0].role, MessageRole::User);
}

#[tokio::test]
async fn a_long_session_is_loaded_from_its_newest_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    begin(&store, "t", "1").await;
    let many =
        (2..=600).map(|number| stored_message(&ModelMessage::assistant(number.to_string()), false)).collect();
    store.sessions().append("t", many, vec![], 5).await.unwrap();
    let entries = load(&store.sessions(), "s").await.unwrap();
    assert_eq!(entries.iter().map(|it| it.seq).collect::<Vec<_>>(), (1..=600).collect::<Vec<u64>>());

    // Limited, but always with the person's last message.
    for number in 0..3 {
        let large = ModelMessage::assistant(format!("{number}{}", "x".repeat(3000)));
        store.sessions().append("t", vec![stored_message(&large, false)], vec![], 5).await.unwrap();
    }
    let entries = load_within(&store.sessions(), "s", 7000).await.unwrap();
    assert_eq!(entries.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 602, 603]);
    assert_eq!(load(&store.sessions().for_principal("t-2"), "s").await.unwrap(), []);
}

#[tokio::test]
async fn call_records_have_lost_outcomes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    let [ended, unknown, said] = [CallId::new(), CallId::new(), CallId::new()];
    let outcome = Outcome::Success(ToolOutput::text("87"));
    let opened = Arc::new(OpenedCall {
        id: ended,
        name: "phone__battery".into(),
        tool: None,
        principal: PrincipalId::from("t-1"),
        role: Role::Client,
        via: EntryPoint::Agent,
        agent: None,
        session: None,
        turn: None,
        arguments: None,
        started_ms: 1,
        key: None,
    });
    drop(store.recorder().close(ClosedCall {
        opened,
        outcome: Arc::new(outcome.clone()),
        durations: CallDurations::default(),
        attempts: 1,
        notes: None,
    }));
    let result = ToolResult::new(said, "x".to_owned(), Arc::new(Outcome::Success(ToolOutput::text("1"))));
    let entry = |message: ModelMessage| {
        let new = stored_message(&message, false);
        entry_from_record(&MessageRecord {
            seq: 1,
            turn: "t".to_owned(),
            role: new.role,
            parts: new.parts,
            is_cut: false,
            created_ms: 0,
        })
    };
    let calls =
        ModelMessage { role: MessageRole::Assistant, parts: vec![call(ended), call(unknown), call(said)] };
    let results = ModelMessage { role: MessageRole::Tool, parts: vec![MessagePart::ToolResult(result)] };
    let found = lost_outcomes(&store, &[entry(calls), entry(results)]).await.unwrap();
    assert_eq!(found, HashMap::from([(ended, outcome)]));
}

#[test]
fn a_message_of_a_newer_version_becomes_text() {
    let record = MessageRecord {
        seq: 1,
        turn: "t".to_owned(),
        role: StoredRole::Assistant,
        parts: RawJson::from(&json!([{"type": "dance", "text": "waltz"}])),
        is_cut: false,
        created_ms: 0,
    };
    let text = entry_from_record(&record).message.text();
    assert!(text.contains("\"dance\"") && text.ends_with("waltz"), "{text}");
}
