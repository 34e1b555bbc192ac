//! Gemini: the bodies of requests, and what only its answers have.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway_models::{
    FinishReason, MessagePart, MessageRole, ModelEvent, ModelMessage, ModelRequest, ProviderKind, ToolChoice,
    ToolSet,
};

use super::recorded_responses::{calls, replay_recorded};
use super::request_bodies::{bodies, list};
use super::support::{check_golden, config, golden, replay_body, request};
use crate::corpus::{conversations, models, schemas};

const KIND: ProviderKind = ProviderKind::Gemini;
const OLD: &str = "gemini-2.5-pro";
const NEW: &str = "gemini-3.5-flash";

fn tools(name: &str) -> Arc<ToolSet> {
    schemas::tool_sets(100).into_iter().find(|(of, _)| *of == name).unwrap().1
}

fn request_for(model: &str, conversation: &str) -> ModelRequest {
    ModelRequest { tools: tools("required"), ..conversations::get(KIND, model, conversation) }
}

fn body(request: &ModelRequest) -> Value {
    models::provider_of(KIND).request_body(request).unwrap().to().unwrap()
}

fn parts<'a>(content: &'a Value, field: &str) -> Vec<&'a Value> {
    list(content, "parts").iter().filter_map(|part| part.get(field)).collect()
}

#[test]
fn corpus_bodies_equal_their_golden_files() {
    for (model, conversation) in [
        (NEW, "thinking_in_each_step"),
        (NEW, "results_in_another_order"),
        (NEW, "all_options"),
        (NEW, "form_of_the_answer"),
        (NEW, "result_of_text_and_an_object"),
        (NEW, "signed_texts"),
        (NEW, "malformed_arguments"),
        (OLD, "this_call"),
        (OLD, "effort_in_a_turn"),
        (OLD, "form_of_the_answer"),
        (OLD, "result_with_a_picture"),
        (OLD, "words_behind_results"),
    ] {
        let body = models::provider_of(KIND).request_body(&request_for(model, conversation)).unwrap();
        check_golden(&golden(format!("gemini/{model}.{conversation}.request.json")), body.get());
    }
}

#[test]
fn all_results_of_a_step_are_in_the_next_content_in_call_order_m7() {
    let mut seen = 0;
    for (what, _, body) in bodies(KIND) {
        let contents = list(&body, "contents");
        for (at, content) in contents.iter().enumerate() {
            let calls = parts(content, "functionCall");
            let responses = contents.get(at + 1).map_or(Vec::new(), |next| parts(next, "functionResponse"));
            let of = |list: &[&Value]| -> Vec<(Value, Value)> {
                list.iter().map(|of| (of["name"].clone(), of["id"].clone())).collect()
            };
            assert_eq!(of(&calls), of(&responses), "{what}");
            // Nothing stands between them.
            if let Some(next) = contents.get(at + 1) {
                let first = list(next, "parts").iter().take(responses.len());
                assert!(first.clone().all(|part| part.get("functionResponse").is_some()), "{what}");
            }
            seen += calls.len();
        }
    }
    assert!(seen > 300);
}

#[test]
fn calls_without_ids_get_distinct_ids_m7() {
    let replayed = replay_recorded(KIND, "calls-without-ids");
    let calls = calls(&replayed.events);
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0].name, calls[1].name);
    assert!(calls[0].id != calls[1].id && calls[1].id != calls[2].id);
    assert_eq!(calls[1].arguments, r#"{"city":"Oslo","n":1.0}"#);
}

#[test]
fn every_thought_signature_is_replayed_on_its_original_part_m8() {
    for name in ["signed-text", "signed-text-and-call", "thinking-and-calls", "whole"] {
        let replayed = replay_recorded(KIND, name);
        let said: Vec<MessagePart> = replayed
            .events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Part(part) => Some(part.clone()),
                _ => None,
            })
            .collect();
        let mut request = request();
        request.messages.push(ModelMessage { role: MessageRole::Assistant, parts: said });
        let provider = toolway_models::build_provider(
            (*config(KIND)).clone(),
            toolway_models::transport::ProviderHttpClient::new(|| Err("nothing is asked".to_owned())),
        );
        let body: Value = provider.request_body(&request).unwrap().to().unwrap();
        let sent: Vec<(String, String)> = signed_parts(list(&body["contents"][1], "parts"));
        let file =
            |extension: &str| std::fs::read_to_string(golden(format!("gemini/{name}.{extension}"))).unwrap();
        let came: Vec<(String, String)> = if name == "whole" {
            let chunk: Value = serde_json::from_str(&file("json")).unwrap();
            signed_parts(list(&chunk["candidates"][0]["content"], "parts"))
        } else {
            let text = file("sse");
            let chunks = text.lines().filter_map(|line| line.strip_prefix("data: "));
            chunks
                .flat_map(|chunk| {
                    let chunk: Value = serde_json::from_str(chunk).unwrap();
                    signed_parts(list(&chunk["candidates"][0]["content"], "parts"))
                })
                .collect()
        };
        assert!(!came.is_empty());
        assert_eq!(sent, came, "{name}");
        // Another model gets none of them.
        request.model = "m-2".into();
        let other = provider.request_body(&request).unwrap();
        assert!(!other.get().contains("thoughtSignature"), "{name}");
    }
}

/// The signed parts: what each is, and its signature.
fn signed_parts(parts: &[Value]) -> Vec<(String, String)> {
    let of = parts.iter().filter_map(|part| {
        let what = part.get("text").or_else(|| part.pointer("/functionCall/name"))?;
        Some((what.to_string(), part.get("thoughtSignature")?.as_str()?.to_owned()))
    });
    of.collect()
}

#[test]
fn the_first_call_of_each_step_in_the_current_turn_has_a_signature_m8() {
    for (what, request, body) in bodies(KIND) {
        if !request.model.starts_with("gemini-3") {
            continue;
        }
        let contents = list(&body, "contents");
        let is_question =
            |content: &Value| content["role"] == "user" && parts(content, "functionResponse").is_empty();
        let turn = contents.iter().rposition(is_question).unwrap_or(0);
        for content in contents.iter().skip(turn) {
            let first = list(content, "parts").iter().find(|part| part.get("functionCall").is_some());
            assert!(first.is_none_or(|part| part["thoughtSignature"].is_string()), "{what}");
        }
    }
    // Where the call is another's, it is signed as the API wants that.
    let body = body(&request_for(NEW, "ids_of_another_provider"));
    assert_eq!(body["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator");
    // One that needs none gets none.
    let old = self::body(&request_for(OLD, "ids_of_another_provider"));
    assert_eq!(old["contents"][1]["parts"][0].get("thoughtSignature"), None);
}

#[test]
fn declarations_use_parameters_json_schema_and_omit_it_without_parameters_m1() {
    for (set, tools) in schemas::tool_sets(128) {
        let request = ModelRequest { tools, ..conversations::get(KIND, NEW, "one_question") };
        let body = body(&request);
        for function in list(&body, "tools").iter().flat_map(|of| list(of, "functionDeclarations")) {
            assert!(function.get("parameters").is_none(), "{set}");
            let nothing = ["null", "empty", "empty_properties"].contains(&set)
                && function["name"].as_str() == Some(set);
            assert_eq!(function.get("parametersJsonSchema").is_none(), nothing, "{set}: {function}");
        }
    }
}

#[test]
fn a_body_without_tools_says_nothing_of_them() {
    let body = body(&ModelRequest { tools: tools("no_tools"), ..request_for(NEW, "no_call") });
    assert!(body.get("tools").is_none() && body.get("toolConfig").is_none());
    assert!(body.get("generationConfig").is_some_and(|config| config.get("thinkingConfig").is_some()));
}

#[test]
fn a_choice_is_said_in_the_api_s_words() {
    let choice = |conversation: &str| body(&request_for(NEW, conversation)).get("toolConfig").cloned();
    let config = |config: Value| Some(json!({ "functionCallingConfig": config }));
    assert_eq!(choice("one_question"), None);
    assert_eq!(choice("no_call"), config(json!({"mode": "NONE"})));
    assert_eq!(choice("some_call"), config(json!({"mode": "ANY"})));
    assert_eq!(choice("this_call"), config(json!({"mode": "ANY", "allowedFunctionNames": ["camera"]})));
}

#[test]
fn pictures_in_results_stand_where_the_model_looks_for_them() {
    let new = body(&request_for(NEW, "result_with_a_picture"));
    let response = &new["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(response["parts"][0]["inlineData"]["mimeType"], "image/png");
    assert_eq!(list(&new["contents"][2], "parts").len(), 1);
    let old = body(&request_for(OLD, "result_with_a_picture"));
    let parts = list(&old["contents"][2], "parts");
    assert!(parts[0]["functionResponse"].get("parts").is_none());
    assert_eq!(parts[1]["text"], "[From the result of camera]");
    assert_eq!(parts[2]["inlineData"]["mimeType"], "image/png");
}

#[test]
fn an_answer_s_form_is_said_as_the_model_takes_it() {
    let new = body(&request_for(NEW, "form_of_the_answer"));
    assert_eq!(new["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(new["generationConfig"]["responseJsonSchema"]["required"], json!(["zulu", "alpha"]));
    // Before the third generation not together with tools.
    let old = body(&request_for(OLD, "form_of_the_answer"));
    assert!(old["generationConfig"].get("responseJsonSchema").is_none());
    assert!(old["systemInstruction"]["parts"][1]["text"].as_str().unwrap().contains("JSON Schema"));
    let alone = body(&ModelRequest { tools: tools("no_tools"), ..request_for(OLD, "form_of_the_answer") });
    assert!(alone["generationConfig"].get("responseJsonSchema").is_some());
    let never =
        body(&ModelRequest { tool_choice: ToolChoice::None, ..request_for(OLD, "form_of_the_answer") });
    assert!(never["generationConfig"].get("responseJsonSchema").is_some());
}

#[test]
fn what_the_owner_adds_is_in_the_same_object() {
    let body = body(&request_for(NEW, "all_options"));
    assert_eq!(body["generationConfig"]["topK"], 20);
    assert_eq!(body["generationConfig"]["seed"], 7);
    assert_eq!(body["generationConfig"]["thinkingConfig"]["thinkingLevel"], "LOW");
    assert_eq!(body["cachedContent"], "cachedContents/1");
    // A number that does not fit is not sent.
    assert!(self::body(&request_for(NEW, "seed"))["generationConfig"].get("seed").is_none());
}

#[test]
fn why_an_answer_ended_is_understood() {
    for (name, expected) in [
        ("text", FinishReason::Stop),
        ("thinking-and-calls", FinishReason::ToolCalls),
        ("blocked", FinishReason::Refused),
        ("safety", FinishReason::Refused),
        ("recitation", FinishReason::Refused),
        ("malformed-call", FinishReason::MalformedToolCall),
        ("unexpected-call", FinishReason::MalformedToolCall),
        ("length-in-thought", FinishReason::Length),
        ("new-reason", FinishReason::Other("LANGUAGE".to_owned())),
    ] {
        let replayed = replay_recorded(KIND, name);
        assert_eq!(
            (replayed.events.last(), replayed.error),
            (Some(&ModelEvent::Finished(expected)), None),
            "{name}"
        );
    }
}

#[test]
fn a_gemini_answer_without_a_finish_reason_is_incomplete_m12() {
    let replayed = replay_recorded(KIND, "no-finish");
    assert!(replayed.error.unwrap().to_string().contains("is incomplete"));
}

#[test]
fn the_number_of_calls_is_limited() {
    let call =
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"time\"}}]}}]}\n\n";
    let replayed = replay_body(KIND, call.repeat(4_200).as_bytes(), 4096);
    assert!(replayed.error.unwrap().to_string().contains("calls"));
}
