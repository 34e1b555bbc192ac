//! Messages: the bodies of requests, and what only its answers have.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use toolway_models::{
    FinishReason, MessagePart, ModelEvent, ModelOptions, ModelRequest, OutputSchema, ProviderKind,
    ReasoningEffort, ToolChoice, ToolSet,
};
use toolway_types::RawJson;

use super::recorded_responses::{calls, replay_recorded};
use super::request_bodies::{bodies, list};
use super::support::{check_golden, golden, replay_body};
use crate::corpus::{conversations, models, schemas};

const KIND: ProviderKind = ProviderKind::Anthropic;
const OLD: &str = "claude-sonnet-4-5";

fn tools(name: &str) -> Arc<ToolSet> {
    schemas::tool_sets(100).into_iter().find(|(of, _)| *of == name).unwrap().1
}

fn request_for(model: &str, conversation: &str) -> ModelRequest {
    ModelRequest { tools: tools("required"), ..conversations::get(KIND, model, conversation) }
}

fn body(request: &ModelRequest) -> Value {
    models::provider_of(KIND).request_body(request).unwrap().to().unwrap()
}

fn kind_of(block: &Value) -> &str {
    block["type"].as_str().unwrap()
}

fn of_kind<'a>(message: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(message, "content").iter().filter(|block| kind_of(block) == kind).collect()
}

#[test]
fn corpus_bodies_equal_their_golden_files() {
    for (model, conversation) in [
        (OLD, "thinking_in_each_step"),
        (OLD, "effort_in_a_turn"),
        (OLD, "all_options"),
        (OLD, "form_of_the_answer"),
        (OLD, "some_call"),
        (OLD, "cut_call"),
        (OLD, "result_of_text_and_an_object"),
        (OLD, "words_behind_results"),
        ("claude-opus-4-8", "all_options"),
        ("claude-sonnet-5-5", "this_call"),
        ("claude-fable-5-1", "effort_in_a_turn"),
        ("claude-3-haiku-20240307", "form_of_the_answer"),
    ] {
        let body = models::provider_of(KIND).request_body(&request_for(model, conversation)).unwrap();
        check_golden(&golden(format!("anthropic/{model}.{conversation}.request.json")), body.get());
    }
}

#[test]
fn messages_start_with_the_user_and_alternate_m9() {
    for (what, _, body) in bodies(KIND) {
        let roles: Vec<_> =
            list(&body, "messages").iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles[0], "user", "{what}");
        assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{what}: {roles:?}");
    }
}

#[test]
fn all_results_come_first_in_the_next_message_m13() {
    let mut seen = 0;
    for (what, request, body) in bodies(KIND) {
        let messages = list(&body, "messages");
        let mut ids = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            let calls: Vec<_> =
                of_kind(message, "tool_use").iter().map(|of| of["id"].as_str().unwrap()).collect();
            for id in &calls {
                assert!(ids.insert(id.to_string()), "{what}: {id} is there twice");
                assert!(
                    id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
                    "{what}: {id}"
                );
            }
            let next = messages.get(at + 1);
            let results = next.map_or(Vec::new(), |next| of_kind(next, "tool_result"));
            let mut of: Vec<_> = results.iter().map(|of| of["tool_use_id"].as_str().unwrap()).collect();
            if let Some(next) = next {
                let kinds: Vec<_> = list(next, "content").iter().map(kind_of).collect();
                let first_other = kinds.iter().position(|kind| *kind != "tool_result").unwrap_or(kinds.len());
                assert!(!kinds[first_other..].contains(&"tool_result"), "{what}: {kinds:?}");
            }
            of.sort_unstable();
            let mut calls = calls;
            calls.sort_unstable();
            assert_eq!(of, calls, "{what}");
            seen += calls.len();
        }
        // A conversation with calls is taken only with tools.
        assert!(ids.is_empty() || !list(&body, "tools").is_empty(), "{what}");
        let offers_nothing = request.tools.is_empty() && request.output.is_none();
        assert!(
            !offers_nothing || body.get("tools").is_none() || body["tool_choice"]["type"] == "none",
            "{what}"
        );
    }
    assert!(seen > 500);
}

/// A result as the API documents it: its text and its pictures are blocks of its own content.
#[test]
fn images_stay_in_the_result_and_failures_set_is_error_m13() {
    let results = |conversation: &str| {
        let body = body(&request_for(OLD, conversation));
        let mut content = body["messages"][2]["content"].clone();
        // The text is the envelope, compared as what it says.
        for result in content.as_array_mut().unwrap() {
            let text = &mut result["content"][0]["text"];
            *text = serde_json::from_str(text.as_str().unwrap()).unwrap();
        }
        content
    };
    let id = conversations::id(1).to_string();
    let mark = json!({"type": "ephemeral"});
    let image = |media_type: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}});
    let beside = |media_type: &str| json!({"type": "image", "mimeType": media_type, "note": "The image is attached to this result."});
    let said = json!({"status": "success", "result": "Taken.", "content": [beside("image/png")]});
    let expected = json!([{
        "type": "tool_result", "tool_use_id": id, "cache_control": mark,
        "content": [{"type": "text", "text": said}, image("image/png", conversations::PNG)],
    }]);
    assert_eq!(results("result_with_a_picture"), expected, "a success is not marked as an error");

    // Several in their order; one that the API would refuse is named.
    let unseen = json!({"type": "image", "mimeType": "image/png", "bytes": 0,
                        "note": "This model does not accept images of this type."});
    let said = json!({"status": "success", "result": "",
                      "content": [beside("image/jpeg"), beside("image/gif"), unseen]});
    let expected = json!([{
        "type": "tool_result", "tool_use_id": id, "cache_control": mark,
        "content": [
            {"type": "text", "text": said},
            image("image/jpeg", conversations::JPEG),
            image("image/gif", conversations::GIF),
        ],
    }]);
    assert_eq!(results("result_of_pictures"), expected);

    let said = json!({"status": "error", "error_type": "timeout", "code": "timeout",
                      "message": "it took \"too\" long", "hint": "Try something else.",
                      "dispatched": false, "retryable": true});
    let expected = json!([{
        "type": "tool_result", "tool_use_id": "toolu_01", "is_error": true, "cache_control": mark,
        "content": [{"type": "text", "text": said}],
    }]);
    assert_eq!(results("failed_call"), expected);
}

#[test]
fn blocks_are_such_as_the_api_takes() {
    for (what, _, body) in bodies(KIND) {
        for message in list(&body, "messages") {
            for block in list(message, "content") {
                match kind_of(block) {
                    "text" => assert!(!block["text"].as_str().unwrap().trim().is_empty(), "{what}"),
                    "tool_use" => assert!(block["input"].is_object(), "{what}"),
                    "image" => assert_eq!(message["role"], "user", "{what}"),
                    "tool_result" => assert!(!list(block, "content").is_empty(), "{what}"),
                    "thinking" => assert!(block["signature"].is_string(), "{what}"),
                    "redacted_thinking" => assert!(block["data"].is_string(), "{what}"),
                    other => panic!("{what}: {other}"),
                }
            }
        }
        let messages = list(&body, "messages");
        let last = messages.last().unwrap();
        if last["role"] == "assistant" {
            let text = list(last, "content").last().unwrap()["text"].as_str().unwrap();
            assert_eq!(text, text.trim_end(), "{what}");
        }
        for block in list(&body, "system") {
            assert!(!block["text"].as_str().unwrap().trim().is_empty(), "{what}");
        }
    }
}

#[test]
fn at_most_four_places_are_marked_for_the_cache() {
    let count = |value: &Value| value.to_string().matches(r#""cache_control":{"type":"ephemeral"}"#).count();
    for (what, request, body) in bodies(KIND) {
        let marks = count(&body);
        assert!((1..=4).contains(&marks), "{what}: {marks}");
        if !request.tools.is_empty() {
            let tools = list(&body, "tools");
            // The form of an answer, where it is a tool, comes after what stays the same.
            let marked = tools.iter().rposition(|tool| count(tool) == 1).unwrap();
            assert!(tools.len() - marked <= 2 && count(&json!(tools)) == 1, "{what}");
        }
        if !request.system.trim().is_empty() {
            assert_eq!(count(&list(&body, "system")[0]), 1, "{what}");
        }
        for message in list(&body, "messages") {
            for block in list(message, "content") {
                assert!(
                    block.get("cache_control").is_none() || !kind_of(block).ends_with("thinking"),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn thinking_is_replayed_in_place_and_only_to_its_own_model_m8() {
    let thought = |model: &str, conversation: &str| {
        let body = body(&request_for(model, conversation));
        let kinds: Vec<Vec<String>> = list(&body, "messages")
            .iter()
            .filter(|message| message["role"] == "assistant")
            .map(|message| list(message, "content").iter().map(|block| kind_of(block).to_owned()).collect())
            .collect();
        kinds
    };
    assert_eq!(
        thought(OLD, "thinking_in_each_step"),
        [
            vec!["thinking", "text", "tool_use"],
            vec!["thinking", "tool_use", "tool_use"],
            vec!["thinking", "text"]
        ]
    );
    assert_eq!(thought(OLD, "thinking_that_nobody_may_read"), [["redacted_thinking", "tool_use"]]);
    // A signature counts, though there is no word with it.
    assert_eq!(thought(OLD, "thinking_without_a_word"), [["thinking", "tool_use"]]);
    for other in ["thinking_of_another_model", "thinking_of_another_provider", "thinking_without_a_signature"]
    {
        assert_eq!(thought(OLD, other), [["tool_use"]], "{other}");
    }
}

#[test]
fn no_anthropic_schema_has_alternatives_at_its_root_m3() {
    for (name, tools) in schemas::tool_sets(1_000) {
        let request = ModelRequest { tools, ..conversations::get(KIND, OLD, "one_question") };
        for tool in list(&body(&request), "tools") {
            let schema = tool["input_schema"].as_object().unwrap();
            assert_eq!(schema["type"], "object", "{name}");
            for keyword in ["anyOf", "oneOf", "allOf", "enum", "$ref"] {
                assert!(!schema.contains_key(keyword), "{name}: {keyword}");
            }
        }
    }
}

#[test]
fn what_is_refused_together_is_not_sent_together() {
    for (what, request, body) in bodies(KIND) {
        let thinking = body["thinking"]["type"].as_str().unwrap_or("disabled");
        let may_think = thinking != "disabled";
        if may_think {
            for field in ["temperature", "top_p", "top_k"] {
                assert!(body.get(field).is_none(), "{what}: {field}");
            }
            let choice = body["tool_choice"]["type"].as_str().unwrap_or("auto");
            assert!(matches!(choice, "auto" | "none"), "{what}: {choice}");
        }
        if let Some(budget) = body["thinking"]["budget_tokens"].as_u64() {
            assert!(budget >= 1_024 && budget < body["max_tokens"].as_u64().unwrap(), "{what}");
        }
        let takes_both = request.model.starts_with("claude-3-");
        assert!(takes_both || body.get("temperature").is_none() || body.get("top_p").is_none(), "{what}");
        assert!(body["temperature"].as_f64().unwrap_or(0.0) <= 1.0, "{what}");
        if let Some(most) = request.options.max_output_tokens {
            assert_eq!(body["max_tokens"], most, "{what}");
        }
        assert!(body.get("seed").is_none(), "{what}");
        for stop in list(&body, "stop_sequences") {
            assert!(!stop.as_str().unwrap().trim().is_empty(), "{what}");
        }
    }
}

#[test]
fn a_model_that_can_t_be_forced_is_asked() {
    let mut request = request_for("claude-sonnet-5-5", "this_call");
    let body = body(&request);
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    let system = list(&body, "system");
    assert_eq!(system.last().unwrap()["text"], "Answer by calling the tool camera.");
    // Behind what is cached.
    assert!(
        system.last().unwrap().get("cache_control").is_none() && system[0].get("cache_control").is_some()
    );
    request.tool_choice = ToolChoice::Required;
    assert_eq!(self::body(&request)["system"][1]["text"], "Answer by calling a tool.");
}

#[test]
fn a_choice_is_said_in_the_api_s_words() {
    let choice = |conversation: &str| body(&request_for(OLD, conversation)).get("tool_choice").cloned();
    assert_eq!(choice("one_question"), None);
    assert_eq!(choice("no_call"), Some(json!({"type": "none"})));
    assert_eq!(choice("some_call"), Some(json!({"type": "any"})));
    assert_eq!(choice("this_call"), Some(json!({"type": "tool", "name": "camera"})));
    assert_eq!(
        choice("no_calls_side_by_side"),
        Some(json!({"type": "auto", "disable_parallel_tool_use": true}))
    );
    // Not told of any tool there is nothing to choose.
    let none = ModelRequest { tools: tools("no_tools"), ..request_for(OLD, "some_call") };
    assert_eq!(body(&none).get("tool_choice"), None);
}

#[test]
fn calls_of_tools_that_are_gone_are_still_taken() {
    let request = ModelRequest { tools: tools("no_tools"), ..request_for(OLD, "one_call") };
    let body = body(&request);
    assert_eq!(list(&body, "tools").len(), 1);
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[test]
fn truncated_arguments_are_replayed_with_an_error_result_m10() {
    let body = body(&request_for(OLD, "cut_call"));
    let call = &body["messages"][1]["content"][0];
    assert_eq!(call["input"], json!({"unreadable_arguments": "{\"place\": \"Kö"}));
    let result = &body["messages"][2]["content"][0];
    assert_eq!(result["is_error"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("the arguments could not be read"));
}

#[test]
fn an_answer_s_form_is_said_as_the_model_takes_it() {
    let strict = body(&request_for(OLD, "form_of_the_answer"));
    assert_eq!(strict["output_config"]["format"]["type"], "json_schema");
    assert_eq!(strict["output_config"]["format"]["schema"]["required"], json!(["zulu", "alpha"]));
    assert!(strict.get("tool_choice").is_none());
    // A schema that can't be held to is asked for with a tool.
    let loose = body(&request_for("claude-3-haiku-20240307", "loose_form_of_the_answer"));
    let names: Vec<_> = list(&loose, "tools").iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"answer_report"));
    assert_eq!(loose["tool_choice"], json!({"type": "any"}));
    // Nothing else may be called: just that one.
    let only = ModelRequest {
        tool_choice: ToolChoice::None,
        ..request_for("claude-3-haiku-20240307", "loose_form_of_the_answer")
    };
    assert_eq!(body(&only)["tool_choice"], json!({"type": "tool", "name": "answer_report"}));
    // Or in words.
    let words = body(&request_for("claude-sonnet-5-5", "loose_form_of_the_answer"));
    assert!(words.get("output_config").is_none());
    assert!(list(&words, "system").last().unwrap()["text"].as_str().unwrap().contains("JSON Schema"));
}

#[test]
fn effort_and_form_are_both_in_what_the_owner_adds_to() {
    let mut request = request_for("claude-opus-4-8", "form_of_the_answer");
    request.options.reasoning = Some(ReasoningEffort::Low);
    request.options.extra =
        json!({"output_config": {"effort": "max"}, "top_k": 5}).as_object().unwrap().clone();
    let body = body(&request);
    assert_eq!(body["output_config"]["effort"], "max");
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!(body["top_k"], 5);
}

#[test]
fn the_tool_that_is_the_answer_is_text() {
    let request = ModelRequest {
        output: Some(OutputSchema::new(
            "report",
            RawJson::parse(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#).unwrap(),
        )),
        options: ModelOptions::default(),
        ..request_for("claude-3-haiku-20240307", "one_question")
    };
    let stream = concat!(
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"answer_report\",\"input\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"x\\\"}\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
    );
    let config = Arc::new(models::config(KIND));
    let replayed = toolway_models::replay::replay(&config, &request, [stream.as_bytes()]);
    assert_eq!(replayed.error, None);
    let expected = [
        ModelEvent::Started { model: None },
        ModelEvent::Text("{\"a\":".to_owned()),
        ModelEvent::Text("\"x\"}".to_owned()),
        ModelEvent::Part(MessagePart::text("{\"a\":\"x\"}")),
        ModelEvent::Finished(FinishReason::Stop),
    ];
    assert_eq!(replayed.events, expected);
}

#[test]
fn a_complete_call_before_a_stream_error_is_not_returned_m12() {
    let replayed = replay_recorded(KIND, "error-in-call");
    assert!(replayed.error.is_some());
    assert!(calls(&replayed.events).is_empty());
}

#[test]
fn an_anthropic_call_returns_with_the_original_tool_name_and_arguments_m4() {
    let tool =
        schemas::tool("take a photo", r#"{"type":"object","properties":{"first name":{"type":"string"}}}"#);
    let request = ModelRequest {
        tools: Arc::new(ToolSet::new(vec![tool])),
        ..conversations::get(KIND, OLD, "one_question")
    };
    let sent = body(&request);
    let name = sent["tools"][0]["name"].as_str().unwrap();
    let property = sent["tools"][0]["input_schema"]["properties"].as_object().unwrap().keys().next().unwrap();
    let stream = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"{name}\",\"input\":{{\"{property}\":\"Ada\"}}}}}}\n\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"tool_use\"}}}}\n\n"
    );
    let replayed =
        toolway_models::replay::replay(&Arc::new(models::config(KIND)), &request, [stream.as_bytes()]);
    let call = calls(&replayed.events)[0];
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("take a photo", r#"{"first name":"Ada"}"#));
}

#[test]
fn the_number_of_blocks_is_bounded() {
    let mut stream = String::new();
    for index in 0..4_200 {
        stream += &format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n"
        );
    }
    let replayed = replay_body(KIND, stream.as_bytes(), 4096);
    assert!(replayed.error.unwrap().to_string().contains("blocks"));
}
