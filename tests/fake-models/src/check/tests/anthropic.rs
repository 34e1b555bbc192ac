use super::*;
use crate::signatures;

const API: Api = Api::Anthropic;

fn right() -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 4096,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Which?", "signature": signatures::of_thinking("Which?")},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "a", "name": "lamp", "input": {}},
                {"type": "tool_use", "id": "b", "name": "lamp", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "failed", "is_error": true},
                {"type": "tool_result", "tool_use_id": "b", "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                ]},
                {"type": "text", "text": "And?"},
            ]},
        ],
        "tools": [{
            "name": "lamp", "description": "A lamp", "input_schema": lamp(),
            "cache_control": {"type": "ephemeral"},
        }],
    })
}

#[test]
fn a_right_request_is_taken() {
    takes(API, &right());
    takes(API, &json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}));
}

#[test]
fn fields_that_it_does_not_know_or_needs() {
    refuses(API, &with(&right(), "/n", json!(1)), "n: Extra inputs are not permitted");
    refuses(API, &with(&right(), "/max_tokens", json!(null)), "max_tokens: Field required");
    let block = with(&right(), "/messages/1/content/1/id", json!("x"));
    refuses(API, &block, "messages.1.content.1.text.id: Extra inputs are not permitted");
    let version = HeaderMap::new();
    assert!(check(API, &version, &right(), &model(false), &HashMap::new()).is_err());
}

#[test]
fn the_newer_version_takes_no_sampling_options() {
    let body = json!({
        "model": "m", "max_tokens": 1, "temperature": 0.5, "messages": [{"role": "user", "content": "hi"}],
    });
    takes(API, &body);
    let newer = HeaderMap::from_iter([("anthropic-version".parse().unwrap(), "2026-10-21".parse().unwrap())]);
    assert!(check(API, &newer, &body, &model(false), &HashMap::new()).is_err());
}

#[test]
fn m9_results_answer_their_calls_in_the_next_message() {
    let results = "/messages/2/content";
    refuses(API, &with(&right(), &format!("{results}/0"), json!(null)), "without `tool_result` blocks");
    refuses(
        API,
        &with(&right(), "/messages/2", json!(null)),
        "without `tool_result` blocks immediately after: a, b",
    );
    let stranger = json!({"type": "tool_result", "tool_use_id": "c", "content": "x"});
    refuses(API, &with(&right(), &format!("{results}/-"), stranger), "unexpected `tool_use_id`");
    let mut late = right();
    late["messages"][2]["content"].as_array_mut().unwrap().swap(0, 2);
    refuses(API, &late, "without `tool_result` blocks");
    let twice = with(&right(), "/messages/1/content/3/id", json!("a"));
    refuses(API, &twice, "`tool_use` ids must be unique");
}

#[test]
fn m8_thinking_stands_before_calls_as_it_was() {
    refuses(API, &with(&right(), "/messages/1/content/0", json!(null)), "Expected `thinking`");
    refuses(API, &with(&right(), "/messages/1/content/0/signature", json!("x")), "Invalid `signature`");
    refuses(API, &with(&right(), "/messages/1/content/0/thinking", json!("Another")), "Invalid `signature`");
    let hidden = |data: String| {
        with(&right(), "/messages/1/content/0", json!({"type": "redacted_thinking", "data": data}))
    };
    takes(API, &hidden(signatures::hidden("x")));
    refuses(API, &hidden("made up".to_owned()), "Invalid `data`");
    refuses(API, &with(&right(), "/thinking/budget_tokens", json!(100)), "greater than or equal to 1024");
    refuses(
        API,
        &with(&right(), "/max_tokens", json!(1024)),
        "must be greater than `thinking.budget_tokens`",
    );
    refuses(API, &with(&right(), "/temperature", json!(0)), "`temperature` may only be set to 1");
    let forced = with(&right(), "/tool_choice", json!({"type": "any"}));
    refuses(API, &forced, "Thinking may not be enabled when tool_choice forces tool use");
}

#[test]
fn what_is_beta_needs_its_header() {
    let binding = json!({"prefix_mismatch_behavior": "drop_block"});
    let body = with(&right(), "/thinking/block_binding", binding);
    refuses(API, &body, "thinking.enabled.block_binding: Extra inputs are not permitted");
    refuses(API, &with(&right(), "/thinking/effort", json!("low")), "thinking.enabled.effort");
    let mut with_beta = headers();
    with_beta
        .insert("anthropic-beta", "other-2026-01-01, thinking-binding-controls-2026-08-01".parse().unwrap());
    assert_eq!(check(API, &with_beta, &body, &model(false), &HashMap::new()), Ok(()));
}

#[test]
fn m3_m4_tools() {
    let schema = |schema: Value| with(&right(), "/tools/0/input_schema", schema);
    takes(API, &schema(json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}})));
    takes(API, &schema(json!({"type": "object"})));
    refuses(API, &schema(json!({"type": "object", "anyOf": []})), "does not support oneOf, allOf, or anyOf");
    refuses(API, &schema(json!({})), "input_schema.type: Field required");
    let name = |name: &str| with(&right(), "/tools/0/name", json!(name));
    takes(API, &name(&"x".repeat(128)));
    refuses(API, &name(&"x".repeat(129)), "should match pattern");
    refuses(API, &name("a.b"), "should match pattern");
    let twice = with(&right(), "/tools/-", right()["tools"][0].clone());
    refuses(API, &twice, "Tool names must be unique");
}

#[test]
fn messages() {
    refuses(
        API,
        &with(&right(), "/messages/0/role", json!("assistant")),
        "first message must use the \"user\"",
    );
    refuses(API, &with(&right(), "/messages/0/role", json!("tool")), "first message");
    refuses(API, &with(&right(), "/messages/0/content", json!("")), "must have non-empty content");
    let blank = json!({"type": "text", "text": ""});
    refuses(API, &with(&right(), "/messages/2/content/2", blank), "text content blocks must be non-empty");
    refuses(API, &with(&right(), "/messages/1/content/2/input", json!("{}")), "should be a valid dictionary");
    let media = "/messages/2/content/1/content/0/source/media_type";
    refuses(API, &with(&right(), media, json!("image/tiff")), "media_type");
    let picture = right()["messages"][2]["content"][1]["content"].clone();
    refuses(API, &with(&right(), "/messages/2/content/0/content", picture), "if \"is_error\" is true");
    let mark = json!({"type": "ephemeral"});
    let mut marked = right();
    for block in 1..4 {
        marked["messages"][1]["content"][block]["cache_control"] = mark.clone();
    }
    refuses(API, &marked, "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}
