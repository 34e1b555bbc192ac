use std::time::Duration;

use serde_json::{Value, json};
use toolway_agent::event::{TurnFailure, TurnFailureCode};
use toolway_types::{Outcome, ToolOutput};

use super::super::completion::tests::{ID, call, end, head};
use super::*;

/// Returns the chunks of these events without the common head.
fn pieces(include_usage: bool, events: Vec<TurnEvent>) -> Vec<Value> {
    let mut pieces = ChunkQueue::new(head(), include_usage);
    let last = events.len();
    for (at, event) in events.into_iter().enumerate() {
        assert_eq!(pieces.push_event(event), at + 1 == last, "only the last is the last");
    }
    let made = pieces.ready.into_iter().map(|piece| {
        if piece == DONE {
            return json!(DONE);
        }
        let mut piece: Value = serde_json::from_str(&piece).unwrap();
        if piece.get("error").is_none() {
            let fields = piece.as_object_mut().unwrap();
            assert_eq!(fields.remove("id"), Some(json!("chatcmpl-t1")));
            assert_eq!(fields.remove("object"), Some(json!("chat.completion.chunk")));
            assert_eq!(fields.remove("created"), Some(json!(1_700_000_000)));
            assert_eq!(fields.remove("model"), Some(json!("toolway/home")));
        }
        piece
    });
    made.collect()
}

fn choice(delta: Value, finish: Value) -> Value {
    json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}])
}

fn delta(delta: Value) -> Value {
    json!({"choices": choice(delta, Value::Null)})
}

fn first() -> Value {
    delta(json!({"role": "assistant", "content": ""}))
}

fn last(finish: &str) -> Value {
    json!({"choices": choice(json!({}), json!(finish)),
           "toolway": {"event": "done", "turn_id": "t1", "rounds": 2, "tool_calls": 1, "cost": 0.25, "currency": "USD"}})
}

fn text(text: &str) -> TurnEvent {
    TurnEvent::Chunk(text.to_owned())
}

#[test]
fn text_is_streamed_and_usage_sent_on_request() {
    let said =
        || vec![TurnEvent::Thinking("hm".to_owned()), text("Hel"), text("lo."), TurnEvent::Ended(end())];
    let expected = [
        first(),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo."})),
        last("stop"),
        json!(DONE),
    ];
    assert_eq!(pieces(false, said()), expected);
    let with_usage = pieces(true, said());
    assert_eq!(with_usage[..5], expected[..5]);
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15,
                       "prompt_tokens_details": {"cached_tokens": 0}});
    assert_eq!(with_usage[5..], [json!({"choices": [], "usage": usage}), json!(DONE)]);
}

#[test]
fn events_of_the_agents_tools_use_the_extension_field() {
    let id = || ID.parse().unwrap();
    let events = vec![
        TurnEvent::ToolCall { id: id(), name: "camera".to_owned(), arguments: RawJson::empty_object() },
        TurnEvent::ToolResult {
            id: id(),
            name: "camera".to_owned(),
            outcome: Arc::new(Outcome::Success(ToolOutput::text("taken"))),
            duration: Duration::from_micros(1500),
        },
        TurnEvent::Ended(end()),
    ];
    let note = |note: Value| json!({"choices": choice(json!({}), Value::Null), "toolway": note});
    assert_eq!(
        pieces(false, events),
        [
            first(),
            note(json!({"event": "tool_call", "id": ID, "name": "camera", "args": {}})),
            note(
                json!({"event": "tool_result", "id": ID, "name": "camera", "output": "taken", "duration_ms": 1.5,
                        "status": "success", "result": "taken"})
            ),
            last("stop"),
            json!(DONE),
        ]
    );
}

#[test]
fn calls_of_the_callers_tools_are_complete_and_numbered() {
    let called = TurnEnd { client_calls: vec![call(), call()], ..end() };
    let one = |index: usize| {
        delta(json!({"tool_calls": [{"index": index, "id": ID, "type": "function",
                                     "function": {"name": "look_up", "arguments": "{\"a\":1}"}}]}))
    };
    let expected = [first(), one(0), one(1), last("tool_calls"), json!(DONE)];
    assert_eq!(pieces(false, vec![TurnEvent::Ended(called)]), expected);
}

#[test]
fn a_mid_stream_failure_sends_an_error_and_no_finish_event_m12() {
    let why = TurnFailure { code: TurnFailureCode::Provider, message: "it broke off".to_owned(), hint: None };
    let failed = TurnEnd { status: TurnStatus::Failed(why), ..end() };
    let error = json!({"error": {"message": "it broke off", "type": "server_error", "param": null,
                                 "code": "provider_failed"}});
    let expected = [first(), delta(json!({"content": "Hel"})), error];
    assert_eq!(pieces(true, vec![text("Hel"), TurnEvent::Ended(failed)]), expected);
    let stopped = TurnEnd { status: TurnStatus::Aborted, ..end() };
    let ended = pieces(true, vec![TurnEvent::Ended(stopped)]);
    assert_eq!(ended[1]["error"]["code"], "aborted");
    assert_eq!(ended.len(), 2);
}
