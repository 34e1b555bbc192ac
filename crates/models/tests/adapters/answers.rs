//! Recorded answers, and the events that each must come to (`golden/KIND/NAME.sse` and `NAME.events`).

use toolway_models::{Collector, FinishReason, ModelErrorKind, ModelEvent, Part, ProviderKind, ToolCall};

use super::support::{answer, check, golden, shown};

/// The recorded answers of a kind: name and body.
pub(crate) fn recorded(kind: ProviderKind) -> Vec<(String, Vec<u8>)> {
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
pub(crate) fn read(kind: ProviderKind, name: &str) -> toolway_models::replay::Replayed {
    let found = recorded(kind).into_iter().find(|(known, _)| known == name);
    answer(kind, &found.unwrap_or_else(|| panic!("{name} was not recorded")).1, 4096)
}

pub(crate) fn calls(events: &[ModelEvent]) -> Vec<&ToolCall> {
    let parts = events.iter().filter_map(|event| match event {
        ModelEvent::Part(Part::ToolCall(call)) => Some(call),
        _ => None,
    });
    parts.collect()
}

#[test]
fn recorded_answers_come_to_their_events() {
    for kind in ProviderKind::ALL {
        let all = recorded(kind);
        assert!(all.len() >= 6, "{kind}");
        for (name, body) in all {
            let replayed = answer(kind, &body, 4096);
            check(&golden(kind.as_str()).join(format!("{name}.events")), &shown(&replayed));
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
            ModelEvent::Part(Part::Text { text, .. } | Part::Thinking { text, .. }) => whole.push_str(text),
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
fn m10_a_call_that_is_cut_by_the_limit_is_marked() {
    for (kind, name) in
        [(ProviderKind::Openai, "length-in-call"), (ProviderKind::OpenaiResponses, "length-in-call")]
    {
        let replayed = read(kind, name);
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
fn m11_null_fields_and_several_deltas_in_one_chunk_lose_nothing() {
    let replayed = read(ProviderKind::Openai, "parallel-calls");
    assert_eq!(replayed.error, None);
    let calls: Vec<_> = calls(&replayed.events)
        .into_iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("phone__weather", r#"{"city":"Köln"}"#), ("phone__weather", r#"{"city":"Rom"}"#), ("time", "{}")]
    );
    let replayed = read(ProviderKind::Compatible, "no-index-no-id");
    let calls = super::answers::calls(&replayed.events);
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].arguments, r#"{"zone":"CET"}"#);
}

#[test]
fn m12_an_error_in_the_middle_is_an_error_and_what_was_said_stays() {
    for (kind, name, error) in [
        (ProviderKind::Openai, "error-midway", ModelErrorKind::Overloaded),
        (ProviderKind::OpenaiResponses, "failed", ModelErrorKind::Overloaded),
        (ProviderKind::Compatible, "openrouter-error", ModelErrorKind::Overloaded),
        (ProviderKind::Compatible, "groq-error", ModelErrorKind::Overloaded),
    ] {
        let replayed = read(kind, name);
        assert_eq!(replayed.error.as_ref().map(|error| error.kind), Some(error), "{name}");
        let mut collector = Collector::default();
        for event in &replayed.events {
            collector.take(event);
        }
        let collected = collector.end();
        assert_eq!(collected.finish, None, "{name}: partial text is not passed off as whole");
        assert!(collected.parts[0].as_text().unwrap().starts_with("H"), "{name}");
    }
}

#[test]
fn m7_calls_with_the_same_index_or_id_are_told_apart() {
    for name in ["same-index", "repeated-id", "no-index-no-id"] {
        let replayed = read(ProviderKind::Compatible, name);
        let calls = calls(&replayed.events);
        assert_eq!(calls.len(), 2, "{name}");
        assert_ne!(calls[0].id, calls[1].id, "{name}");
        assert!(calls[0].opaque != calls[1].opaque || calls[0].opaque.is_none(), "{name}");
        assert_eq!(replayed.events.last(), Some(&ModelEvent::Finished(FinishReason::ToolCalls)), "{name}");
    }
}
