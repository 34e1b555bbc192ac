//! Recorded answers, and the events that each must come to (`golden/KIND/NAME.sse` and `NAME.events`).

use serde_json::json;
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

/// The thinking and the text of an answer: from its deltas, and from its parts.
fn thinking_and_text(events: &[ModelEvent]) -> [(String, String); 2] {
    let (mut deltas, mut parts) = (<(String, String)>::default(), <(String, String)>::default());
    for event in events {
        match event {
            ModelEvent::Thinking(text) => deltas.0.push_str(text),
            ModelEvent::Text(text) => deltas.1.push_str(text),
            ModelEvent::Part(MessagePart::Thinking { text, .. }) => parts.0.push_str(text),
            ModelEvent::Part(MessagePart::Text { text, .. }) => parts.1.push_str(text),
            _ => {}
        }
    }
    [deltas, parts]
}

#[test]
fn thinking_in_the_content_is_thinking_whole_and_in_pieces_of_any_size() {
    for content in [
        "<think>\nThe sky.\n</think>\n\nBlue.",
        "<|channel|>analysis<|message|>The sky.<|end|><|start|>assistant<|channel|>final<|message|>Blue.",
    ] {
        let expected = ("The sky.".to_owned(), "Blue.".to_owned());
        let whole = json!({"model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
        let replayed = replay_body(ProviderKind::Compatible, whole.to_string().as_bytes(), 4096);
        assert_eq!(thinking_and_text(&replayed.events), [expected.clone(), expected.clone()], "{content}");
        for size in 1..=content.len() {
            let letters: Vec<char> = content.chars().collect();
            let mut stream = String::new();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                let chunk = json!({"model": "m", "choices": [{"index": 0, "delta": {"content": piece}}]});
                stream.push_str(&format!("data: {chunk}\n\n"));
            }
            stream.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
            let replayed = replay_body(ProviderKind::Compatible, stream.as_bytes(), 4096);
            assert_eq!(thinking_and_text(&replayed.events), [expected.clone(), expected.clone()], "{size}");
            assert_eq!(replayed.events.last(), Some(&ModelEvent::Finished(FinishReason::Stop)));
        }
    }
}

#[test]
fn thinking_in_a_field_of_an_answer_that_is_not_streamed_is_thinking() {
    for field in ["reasoning_content", "reasoning"] {
        let mut message = json!({"role": "assistant", "content": "Blue."});
        message[field] = json!("The sky.");
        let whole =
            json!({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let replayed = replay_body(ProviderKind::Openai, whole.to_string().as_bytes(), 4096);
        let expected = ("The sky.".to_owned(), "Blue.".to_owned());
        assert_eq!(thinking_and_text(&replayed.events), [expected.clone(), expected], "{field}");
    }
}

#[test]
fn a_stream_that_brings_nothing_is_an_error() {
    for stream in [
        "data: [DONE]\n\n",
        ": comment\n\ndata: [DONE]\n\n",
        "data: {\"model\":\"m\",\"choices\":[]}\n\ndata: [DONE]\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: [DONE]\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":0}}\n\ndata: [DONE]\n\n",
    ] {
        let replayed = replay_body(ProviderKind::Compatible, stream.as_bytes(), 4096);
        let error = replayed.error.unwrap_or_else(|| panic!("{stream}: {:?}", replayed.events));
        assert_eq!(error.kind, ModelErrorKind::Network, "{stream}");
        assert!(error.to_string().contains("the response is empty"), "{error}");
    }
    // A model may have nothing to say, and then its server says that it has finished.
    let empty =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let replayed = replay_body(ProviderKind::Compatible, empty.as_bytes(), 4096);
    assert!(replayed.error.is_none());
}
