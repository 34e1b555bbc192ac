use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_agent::event::NoticeCode;
use toolway_core::ProgressReport;
use toolway_models::{ModelError, ModelErrorKind};
use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use super::*;

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn id() -> CallId {
    ID.parse().unwrap()
}

#[track_caller]
fn shown(event: TurnEvent, version: u32) -> Option<Value> {
    let frame = event_frame(event, version)?;
    let value: Value = serde_json::from_str(&frame.text).unwrap();
    assert_eq!(value["type"], frame.kind);
    Some(value)
}

fn end(status: TurnStatus) -> TurnEvent {
    TurnEvent::Ended(TurnEnd {
        status,
        full_response: "Hello.".to_owned(),
        usage: toolway_models::ModelUsage { input: Some(12), output: Some(3), ..Default::default() },
        cost: Some(0.25),
        currency: Some("USD".to_owned()),
        rounds: 2,
        tool_calls: 1,
        finish: Some(FinishReason::Stop),
        client_calls: Vec::new(),
    })
}

fn failed(code: TurnFailureCode) -> TurnEvent {
    end(TurnStatus::Failed(TurnFailure {
        code,
        message: "it failed".to_owned(),
        hint: Some("do this".to_owned()),
    }))
}

fn result(outcome: Outcome) -> TurnEvent {
    let duration = Duration::from_micros(1500);
    TurnEvent::ToolResult { id: id(), name: "camera".to_owned(), outcome: Arc::new(outcome), duration }
}

/// Returns one of every event, for properties that hold for all.
fn every_event() -> Vec<TurnEvent> {
    let progress = ProgressReport { progress: 0.5, total: None, message: None, content: Vec::new() };
    vec![
        TurnEvent::Chunk("a".to_owned()),
        TurnEvent::Thinking("b".to_owned()),
        TurnEvent::ChunkReset,
        TurnEvent::ToolCall { id: id(), name: "camera".to_owned(), arguments: RawJson::empty_object() },
        TurnEvent::ToolProgress { id: id(), name: "camera".to_owned(), progress },
        result(Outcome::Success(ToolOutput::text("taken"))),
        result(Outcome::Error(ToolError::new(Code::Denied, "no"))),
        TurnEvent::Retrying {
            attempt: 1,
            wait: Duration::from_millis(1500),
            error: ModelError::new(ModelErrorKind::Overloaded, "fake", "too much to do"),
        },
        TurnEvent::Notice { code: NoticeCode::ContextCompacted, message: "shortened".to_owned() },
        TurnEvent::DebugPrompt(vec![RawJson::parse(r#"{"role":"user","content":"hi"}"#).unwrap()]),
        end(TurnStatus::Done),
        end(TurnStatus::Aborted),
        failed(TurnFailureCode::Provider),
        TurnEvent::TitleGenerated("Greetings".to_owned()),
    ]
}

/// The fields of version 1, from the protocol document.
const KNOWN_TO_1: &[(&str, &[&str])] = &[
    ("chunk", &["content"]),
    ("thinking", &["content"]),
    ("chunk_reset", &[]),
    ("tool_call", &["id", "name", "args"]),
    ("tool_result", &["id", "name", "output"]),
    ("debug_prompt", &["messages", "estimated_tokens"]),
    ("done", &["full_response"]),
    ("aborted", &[]),
    ("error", &["message", "code"]),
    ("title_updated", &["title"]),
];

#[test]
fn version_1_gets_only_its_own_fields_and_never_null() {
    let mut kinds = Vec::new();
    for event in every_event() {
        let Some(frame) = shown(event, 1) else { continue };
        let kind = frame["type"].as_str().unwrap().to_owned();
        let (_, fields) =
            KNOWN_TO_1.iter().find(|(known, _)| *known == kind).unwrap_or_else(|| panic!("{kind}"));
        for (name, value) in frame.as_object().unwrap() {
            assert!(name == "type" || fields.contains(&name.as_str()), "{kind}.{name}");
            assert!(!value.is_null(), "{kind}.{name}");
        }
        let strings = ["content", "output", "full_response", "message", "code", "title", "id", "name"];
        for name in strings {
            assert!(frame.get(name).is_none_or(Value::is_string), "{frame}");
        }
        assert!(frame.get("args").is_none_or(Value::is_object), "{frame}");
        kinds.push(kind);
    }
    for (kind, _) in KNOWN_TO_1 {
        assert!(kinds.iter().any(|seen| seen == kind), "{kind} is shown");
    }
}

#[test]
fn omitted_tools_are_told_to_version_1_beside_the_answer() {
    let notice = || TurnEvent::Notice { code: NoticeCode::ToolsLeftOut, message: "21 of 61".to_owned() };
    assert_eq!(shown(notice(), 1).unwrap(), json!({"type": "thinking", "content": "[21 of 61]\n"}));
    assert_eq!(
        shown(notice(), 2).unwrap(),
        json!({"type": "notice", "code": "tools_left_out", "message": "21 of 61"})
    );
}

#[test]
fn version_2_gets_every_event() {
    assert!(every_event().into_iter().all(|event| shown(event, 2).is_some()));
    assert_eq!(
        shown(end(TurnStatus::Done), 2).unwrap(),
        json!({"type": "done", "full_response": "Hello.",
               "usage": {"input": 12, "output": 3, "cached": null, "reasoning": null},
               "cost": 0.25, "currency": "USD", "rounds": 2, "tool_calls": 1, "finish_reason": "stop"})
    );
    assert_eq!(
        shown(end(TurnStatus::Aborted), 2).unwrap(),
        json!({"type": "aborted", "usage": {"input": 12, "output": 3, "cached": null, "reasoning": null},
               "cost": 0.25, "currency": "USD"})
    );
    let events = every_event();
    let retrying = events.iter().find(|event| matches!(event, TurnEvent::Retrying { .. })).unwrap().clone();
    assert_eq!(
        shown(retrying, 2).unwrap(),
        json!({"type": "notice", "code": "retrying",
               "message": "attempt 1 failed (fake: too much to do); retrying in 1.5 s"})
    );
    let notice = events.iter().find(|event| matches!(event, TurnEvent::Notice { .. })).unwrap().clone();
    assert_eq!(
        shown(notice, 2).unwrap(),
        json!({"type": "notice", "code": "context_compacted", "message": "shortened"})
    );
    let taken = result(Outcome::Success(ToolOutput::text("taken")));
    assert_eq!(
        shown(taken, 2).unwrap(),
        json!({"type": "tool_result", "id": ID, "name": "camera", "output": "taken", "duration_ms": 1.5,
               "status": "success", "result": "taken"})
    );
}

#[test]
fn a_failure_has_a_version_1_code_and_a_specific_reason() {
    for (code, known, reason) in [
        (TurnFailureCode::NoModel, "NO_MODEL", "no_model"),
        (TurnFailureCode::Auth, "AUTH_ERROR", "auth"),
        (TurnFailureCode::Provider, "PROVIDER_ERROR", "provider"),
        (TurnFailureCode::LimitReached, "AGENT_ERROR", "limit_reached"),
        (TurnFailureCode::BudgetExceeded, "AGENT_ERROR", "budget_exceeded"),
        (TurnFailureCode::ContextTooLong, "AGENT_ERROR", "context_too_long"),
        (TurnFailureCode::ShuttingDown, "AGENT_ERROR", "shutting_down"),
        (TurnFailureCode::Internal, "AGENT_ERROR", "internal"),
    ] {
        let in_1 = json!({"type": "error", "message": "it failed", "code": known});
        assert_eq!(shown(failed(code), 1).unwrap(), in_1);
        let in_2 = json!({"type": "error", "message": "it failed", "code": known, "hint": "do this", "reason": reason});
        assert_eq!(shown(failed(code), 2).unwrap(), in_2);
    }
}

#[test]
fn an_unknown_finish_reason_is_passed_on() {
    assert_eq!(finish_reason_name(&FinishReason::Other("safety".to_owned())), "safety");
    assert_eq!(finish_reason_name(&FinishReason::ToolCalls), "tool_calls");
}
