//! Recorded answers, and the events that each must come to (`golden/KIND/NAME.sse` and `NAME.events`).

use toolway_models::{
    FinishReason, MessagePart, ModelErrorKind, ModelEvent, ProviderKind, ResponseCollector, ToolCall,
};

use super::support::{check_golden, format_response, golden, replay_body};

/// The recorded answers of a kind: name and body.
pub(crate) fn recorded_responses(kind: ProviderKind) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(golden(kind.as_str())).unwrap() {
        let path = entry.unwrap().path();
        let is_whole = path.file_name().unwrap().to_str().unwrap().starts_with("whole");
        if path.extension().is_some_and(|extension| extension == "sse")
            || is_whole && path.extension().unwrap() == "json"
        {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            all.push((name, std::fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[track_caller]
pub(crate) fn replay_recorded(kind: ProviderKind, name: &str) -> toolway_models::replay::ReplayedResponse {
    let found = recorded_responses(kind).into_iter().find(|(known, _)| known == name);
    replay_body(kind, &found.unwrap_or_else(|| panic!("{name} was not recorded")).1, 4096)
}

pub(crate) fn calls(events: &[ModelEvent]) -> Vec<&ToolCall> {
    let parts = events.iter().filter_map(|event| match event {
        ModelEvent::Part(MessagePart::ToolCall(call)) => Some(call),
        _ => None,
    });
    parts.collect()
}

#[test]
fn recorded_responses_decode_to_their_golden_events() {
    for kind in ProviderKind::ALL {
        let all = recorded_responses(kind);
        assert!(all.len() >= 6, "{kind}");
        for (name, body) in all {
            let replayed = replay_body(kind, &body, 4096);
            check_golden(&golden(kind.as_str()).join(format!("{name}.events")), &format_response(&replayed));
            // The deltas and the parts say the same.
            if replayed.error.is_none() {
                deltas_add_up(&replayed.events, &format!("{kind} {name}"));
            }
        }
    }
}

/// Whoever watches the deltas sees what the parts say.
fn deltas_add_up(events: &[ModelEvent], what: &str) {
    let (mut said, mut whole) = (String::new(), String::new());
    let mut arguments: Vec<String> = Vec::new();
    for event in events {
        match event {
            ModelEvent::Text(delta) | ModelEvent::Thinking(delta) => said.push_str(delta),
            ModelEvent::Part(MessagePart::Text { text, .. } | MessagePart::Thinking { text, .. }) => {
                whole.push_str(text)
            }
            ModelEvent::ToolCallStarted { index, .. } => {
                assert_eq!(*index, arguments.len(), "{what}");
                arguments.push(String::new());
            }
            ModelEvent::ToolCallArguments { index, delta } => arguments[*index].push_str(delta),
            _ => {}
        }
    }
    assert_eq!(said, whole, "{what}");
    let parts: Vec<_> = calls(events).into_iter().map(|call| call.arguments.clone()).collect();
    assert_eq!(arguments, parts, "{what}");
    assert!(matches!(events.last(), Some(ModelEvent::Finished(_))), "{what}");
}

#[test]
fn a_call_truncated_by_the_token_limit_is_marked_m10() {
    for (kind, name) in
        [(ProviderKind::Openai, "length-in-call"), (ProviderKind::OpenaiResponses, "length-in-call")]
    {
        let replayed = replay_recorded(kind, name);
        assert_eq!(replayed.error, None);
        assert_eq!(replayed.events.last(), Some(&ModelEvent::Finished(FinishReason::Length)));
        let calls = calls(&replayed.events);
        let last = calls.last().unwrap();
        assert!(last.is_cut && last.arguments.ends_with("once upo"), "{kind}");
        // One that was whole before it is not.
        assert!(calls.iter().rev().skip(1).all(|call| !call.is_cut), "{kind}");
    }
}

#[test]
fn null_fields_and_several_deltas_in_one_chunk_lose_nothing_m11() {
    let replayed = replay_recorded(ProviderKind::Openai, "parallel-calls");
    assert_eq!(replayed.error, None);
    let calls: Vec<_> = calls(&replayed.events)
        .into_iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("phone__weather", r#"{"city":"Köln"}"#), ("phone__weather", r#"{"city":"Rom"}"#), ("time", "{}")]
    );
    let replayed = replay_recorded(ProviderKind::Compatible, "no-index-no-id");
    let calls = super::recorded_responses::calls(&replayed.events);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].arguments, r#"{"zone":"CET"}"#);
}

#[test]
fn a_mid_stream_error_is_an_error_and_keeps_the_partial_text_m12() {
    for (kind, name, error) in [
        (ProviderKind::Openai, "error-midway", ModelErrorKind::Overloaded),
        (ProviderKind::OpenaiResponses, "failed", ModelErrorKind::Overloaded),
        (ProviderKind::Compatible, "openrouter-error", ModelErrorKind::Overloaded),
        (ProviderKind::Compatible, "groq-error", ModelErrorKind::Overloaded),
    ] {
        let replayed = replay_recorded(kind, name);
        assert_eq!(replayed.error.as_ref().map(|error| error.kind), Some(error), "{name}");
        let mut collector = ResponseCollector::default();
        for event in &replayed.events {
            collector.add_event(event);
        }
        let collected = collector.finish();
        assert_eq!(collected.finish, None, "{name}: partial text is not passed off as whole");
        assert!(collected.parts[0].as_text().unwrap().starts_with("H"), "{name}");
    }
}

#[test]
fn calls_with_the_same_index_or_id_stay_separate_m7() {
    for name in ["same-index", "repeated-id", "no-index-no-id"] {
        let replayed = replay_recorded(ProviderKind::Compatible, name);
        let calls = calls(&replayed.events);
        assert_eq!(calls.len(), 2, "{name}");
        assert_ne!(calls[0].id, calls[1].id, "{name}");
        assert!(calls[0].opaque != calls[1].opaque || calls[0].opaque.is_none(), "{name}");
        assert_eq!(replayed.events.last(), Some(&ModelEvent::Finished(FinishReason::ToolCalls)), "{name}");
    }
}
