use std::sync::Arc;

use super::*;
use serde_json::{Value, json};
use toolway_core::caller::EntryPoint;
use toolway_core::record::{CallDurations, ClosedCall, OpenedCall};
use toolway_models::{MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
use toolway_store::{NewTurn, StoreOptions, TitleBy, TokenCounts, TurnEnding, TurnOpening, TurnState};
use toolway_types::{Clock, Code, Outcome, PrincipalId, Role, ToolError, ToolOutput};

use crate::transcript::{stored_message, summary_message};

/// 2027-01-15 08:00 UTC.
const NOW: i64 = 1_800_000_000_000;

#[derive(Debug)]
struct FrozenExportClock;

impl Clock for FrozenExportClock {
    fn now_ms(&self) -> i64 {
        NOW
    }
}

fn id(number: u8) -> CallId {
    CallId::from_bytes([number; 16])
}

fn call(number: u8, arguments: &str) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id: id(number),
        name: format!("phone__tool_{number}"),
        arguments: arguments.to_owned(),
        is_cut: false,
        opaque: Some(OpaqueState { provider: "p".into(), data: RawJson::parse(r#"{"secret":1}"#).unwrap() }),
    })
}

fn result(number: u8, outcome: Outcome) -> MessagePart {
    let name = format!("phone__tool_{number}");
    MessagePart::ToolResult(ToolResult::new(id(number), name, Arc::new(outcome)))
}

fn said(role: MessageRole, parts: impl Into<Vec<MessagePart>>) -> ModelMessage {
    ModelMessage { role, parts: parts.into() }
}

fn record(store: &Store, number: u8, micros: u64) {
    let opened = Arc::new(OpenedCall {
        id: id(number),
        name: "x".into(),
        tool: None,
        principal: PrincipalId::from("t-1"),
        role: Role::Client,
        via: EntryPoint::Agent,
        agent: None,
        session: None,
        turn: None,
        arguments: None,
        started_ms: NOW,
        key: None,
    });
    let total = std::time::Duration::from_micros(micros);
    drop(store.recorder().close(ClosedCall {
        opened,
        outcome: Arc::new(Outcome::Success(ToolOutput::text(""))),
        durations: CallDurations { total, ..CallDurations::default() },
        attempts: 1,
        notes: None,
    }));
}

/// Creates a session with every kind of content.
async fn session(folder: &tempfile::TempDir) -> (Store, SessionRecord) {
    let store =
        Store::open(&folder.path().join("data"), Arc::new(FrozenExportClock), StoreOptions::default())
            .await
            .unwrap();
    let sessions = store.sessions();
    let turn = |id: &str, text: &str, started_ms| NewTurn {
        id: id.to_owned(),
        session: "s-1".to_owned(),
        principal: "t-1".to_owned(),
        agent: "home".to_owned(),
        started_ms,
        opening: TurnOpening::Message(stored_message(&ModelMessage::user(text), false)),
    };
    let ending = |id: &str, state| TurnEnding {
        turn: id.to_owned(),
        state,
        ended_ms: NOW + 4000,
        messages: vec![],
        requests: vec![],
        code: None,
        message: None,
        finish: None,
        rounds: 2,
        calls: 1,
        tokens: TokenCounts::default(),
        cost: None,
        currency: None,
    };
    sessions.begin(turn("one", "How full is it?\n# Not a heading", NOW)).await.unwrap();
    let thought = MessagePart::Thinking { text: "hm".to_owned(), opaque: None };
    let answer = said(
        MessageRole::Assistant,
        [thought, MessagePart::text("I look."), call(1, r#"{"b":1.0}"#), call(2, "{}")],
    );
    let failed = ToolError::new(Code::Timeout, "too long").with_hint("try again");
    let results = said(
        MessageRole::Tool,
        [result(1, Outcome::Success(ToolOutput::text("87\n```\n# Out"))), result(2, Outcome::Error(failed))],
    );
    record(&store, 1, 312_400);
    record(&store, 2, 30_000_000);
    sessions
        .append(
            "one",
            vec![stored_message(&answer, false), stored_message(&results, false)],
            vec![],
            NOW + 1000,
        )
        .await
        .unwrap();
    let end = TurnEnding {
        messages: vec![stored_message(&ModelMessage::assistant("87 %"), false)],
        tokens: TokenCounts { input: Some(1200), output: Some(34), ..TokenCounts::default() },
        cost: Some(0.0123),
        currency: Some("USD".to_owned()),
        ..ending("one", TurnState::Done)
    };
    sessions.end(end).await.unwrap();
    sessions.begin(turn("two", "More", NOW + 5000)).await.unwrap();
    let end = TurnEnding {
        messages: vec![
            summary_message("They spoke of a phone.", 3, &[]),
            stored_message(&ModelMessage::assistant("It is"), true),
        ],
        message: Some("*overloaded*".to_owned()),
        ..ending("two", TurnState::Failed)
    };
    sessions.end(end).await.unwrap();
    sessions.rename("s-1", Some("The *battery*"), TitleBy::Person).await.unwrap();
    let session = sessions.get("s-1").await.unwrap().unwrap();
    (store, session)
}

const MARKDOWN: &str = r"# The \*battery\*

- Agent: home
- Session: s\-1
- From 2027-01-15 08:00:00 UTC to 2027-01-15 08:00:05 UTC

## 1. Person · 2027-01-15 08:00:00 UTC

> How full is it?
> \# Not a heading

## 2. Answer · 2027-01-15 08:00:01 UTC

<details>
<summary>Thinking</summary>

```text
hm
```

</details>

> I look.

<details>
<summary>✓ phone__tool_1 · 313 ms</summary>

```json
{
  &quot;b&quot;: 1.0
}
```

````text
87
```
# Out
````

</details>

<details>
<summary>✗ phone__tool_2 · 30 s</summary>

```json
{}
```

```text
timeout: too long
try again
```

</details>

## 4. Answer · 2027-01-15 08:00:04 UTC

> 87 %

*2 requests, 1 call, 1200 tokens read, 34 written, 0.0123 USD*

## 5. Person · 2027-01-15 08:00:05 UTC

> More

## 6. Summary · 2027-01-15 08:00:04 UTC

*Of the messages up to 3:*

> They spoke of a phone.

## 7. Answer · 2027-01-15 08:00:04 UTC

> It is

*This message is incomplete.*

*It failed.* \*overloaded\*

*2 requests, 1 call*

";

#[tokio::test]
async fn a_session_is_exported_as_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = session(&folder).await;
    let text = markdown(&store, &session).await.unwrap();
    assert_eq!(text, MARKDOWN.replace("&quot;", "\""));
    // Also for a Markdown parser: only these headings, and only this HTML.
    use pulldown_cmark::{Event, Parser, Tag};
    let events: Vec<Event<'_>> = Parser::new(&text).collect();
    let quoted = |event: &Event<'_>| matches!(event, Event::Start(Tag::BlockQuote(_)));
    assert_eq!(events.iter().filter(|event| quoted(event)).count(), 6);
    let html = |event: &Event<'_>| matches!(event, Event::Html(_) | Event::InlineHtml(_));
    assert_eq!(events.iter().filter(|event| html(event)).count(), 3 * 3);
}

#[tokio::test]
async fn a_session_is_exported_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let (store, session) = session(&folder).await;
    let text = json(&store, &session).await.unwrap();
    assert!(!text.contains("secret") && text.contains("\"result\":\"87"), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["toolway_session"], 2);
    assert_eq!(value["session"]["title"], "The *battery*");
    assert_eq!(value.get("left_out"), None);
    let expected = json!({
        "seq": 3, "turn_id": "one", "role": "tool", "created_ms": NOW + 1000, "truncated": false,
        "parts": [
            {"type": "tool_result", "call_id": id(1), "name": "phone__tool_1", "status": "success",
             "result": "87\n```\n# Out", "duration_ms": 313},
            {"type": "tool_result", "call_id": id(2), "name": "phone__tool_2", "status": "error",
             "error_type": "timeout", "message": "too long", "code": "timeout", "hint": "try again",
             "dispatched": false, "retryable": true, "duration_ms": 30_000}
        ]
    });
    assert_eq!(value["messages"][2], expected);
    assert_eq!(value["messages"][6]["truncated"], true);
    assert_eq!(
        value["messages"][5]["parts"][0],
        json!({"type": "summary", "text": "They spoke of a phone.", "through": 3})
    );
    assert_eq!(value["turns"][0]["cost"], 0.0123);
    assert_eq!(value["turns"][1]["status"], "failed");
}

#[tokio::test]
async fn content_over_the_limit_is_omitted_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = session(&folder).await;
    let turn = NewTurn {
        id: "three".to_owned(),
        session: "s-1".to_owned(),
        principal: "t-1".to_owned(),
        agent: "home".to_owned(),
        started_ms: NOW,
        opening: TurnOpening::Message(stored_message(&ModelMessage::user("a picture"), false)),
    };
    store.sessions().begin(turn).await.unwrap();
    for _ in 0..9 {
        let picture = MessagePart::Image { data: "x".repeat(3000), mime_type: "image/png".to_owned() };
        let message = stored_message(&said(MessageRole::Assistant, [picture]), false);
        store.sessions().append("three", vec![message], vec![], NOW).await.unwrap();
    }
    let session = store.sessions().get("s-1").await.unwrap().unwrap();
    // Seventeen messages, eight of which are within the limit.
    let whole = SessionContents::read(&store, &session, 8 * 3060).await.unwrap();
    let text = markdown::write(&session, &whole);
    assert!(text.contains("*9 older messages are left out here.*"), "{text}");
    assert_eq!(text.matches("*A picture: image\\/png, 2250 bytes*").count(), 8);
}
