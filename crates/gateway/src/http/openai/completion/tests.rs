use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_agent::event::TurnStatus;
use toolway_types::{Outcome, ToolOutput};

use super::*;

pub(in super::super) const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(in super::super) fn end() -> TurnEnd {
    TurnEnd {
        status: TurnStatus::Done,
        full_response: "Hello.".to_owned(),
        usage: ModelUsage { input: Some(12), output: Some(3), cached: Some(0), ..ModelUsage::default() },
        cost: Some(0.25),
        currency: Some("USD".to_owned()),
        rounds: 2,
        tool_calls: 1,
        finish: Some(FinishReason::Stop),
        client_calls: Vec::new(),
    }
}

pub(in super::super) fn call() -> ToolCall {
    ToolCall {
        id: ID.parse().unwrap(),
        name: "look_up".to_owned(),
        arguments: "{\"a\":1}".to_owned(),
        is_cut: false,
        opaque: None,
    }
}

pub(in super::super) fn head() -> ChatCompletionHead {
    ChatCompletionHead::new("t1", "toolway/home".to_owned(), 1_700_000_000_999)
}

fn answer(end: &TurnEnd) -> Value {
    answer_after(end, CollectedEvents::default())
}

fn answer_after(end: &TurnEnd, mut calls: CollectedEvents) -> Value {
    calls.record_event(&TurnEvent::ToolResult {
        id: ID.parse().unwrap(),
        name: "pixel-8__camera".to_owned(),
        outcome: Arc::new(Outcome::Success(ToolOutput::text("taken"))),
        duration: Duration::from_micros(1500),
    });
    calls.record_event(&TurnEvent::Chunk("nothing of a tool".to_owned()));
    serde_json::to_value(ChatCompletion::new(&head(), end, &calls)).unwrap()
}

#[test]
fn an_answer_has_openais_form_and_the_extension_field() {
    assert_eq!(
        answer(&end()),
        json!({
            "id": "chatcmpl-t1", "object": "chat.completion", "created": 1_700_000_000, "model": "toolway/home",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello.", "refusal": null},
                         "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15,
                      "prompt_tokens_details": {"cached_tokens": 0}},
            "toolway": {"turn_id": "t1", "rounds": 2, "tool_calls": 1, "cost": 0.25, "currency": "USD",
                        "calls": [{"id": ID, "name": "pixel-8__camera", "status": "success", "duration_ms": 1.5}]},
        })
    );
}

#[test]
fn thinking_is_in_the_field_that_streams_use() {
    let mut events = CollectedEvents::default();
    for text in ["Hm", ", so."] {
        events.record_event(&TurnEvent::Thinking(text.to_owned()));
    }
    let message = answer_after(&end(), events)["choices"][0]["message"].clone();
    assert_eq!(
        message,
        json!({"role": "assistant", "content": "Hello.", "reasoning_content": "Hm, so.", "refusal": null})
    );
}

#[test]
fn calls_of_the_callers_tools_are_returned() {
    let end = TurnEnd { full_response: String::new(), client_calls: vec![call()], ..end() };
    let answer = answer(&end);
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(
        answer["choices"][0]["message"],
        json!({"role": "assistant", "content": null, "refusal": null,
               "tool_calls": [{"id": ID, "type": "function",
                               "function": {"name": "look_up", "arguments": "{\"a\":1}"}}]})
    );
}

#[test]
fn unknown_usage_is_omitted() {
    let usage = ModelUsage { input: Some(12), ..ModelUsage::default() };
    assert!(answer(&TurnEnd { usage, cost: None, ..end() }).get("usage").is_none());
    let usage = ModelUsage { input: Some(1), output: Some(2), reasoning: Some(1), ..ModelUsage::default() };
    let answer = answer(&TurnEnd { usage, cost: None, ..end() });
    assert_eq!(
        answer["usage"],
        json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3,
               "completion_tokens_details": {"reasoning_tokens": 1}})
    );
    assert!(answer["toolway"].get("cost").is_none() && answer["toolway"].get("currency").is_none());
}

#[test]
fn finish_reasons_have_openais_names() {
    for (finish, word) in [
        (Some(FinishReason::Stop), "stop"),
        (Some(FinishReason::Length), "length"),
        (Some(FinishReason::ContextExceeded), "length"),
        (Some(FinishReason::Refused), "content_filter"),
        (Some(FinishReason::ToolCalls), "stop"),
        (Some(FinishReason::Other("odd".to_owned())), "stop"),
        (None, "stop"),
    ] {
        assert_eq!(finish_reason(&TurnEnd { finish, ..end() }), word);
    }
    let called = TurnEnd { client_calls: vec![call()], finish: Some(FinishReason::Length), ..end() };
    assert_eq!(finish_reason(&called), "tool_calls");
}
