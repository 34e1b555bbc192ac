use super::*;
use crate::signatures;

const API: ApiKind = ApiKind::Anthropic;

fn right() -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 4096,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Which?", "signature": signatures::sign_thinking("Which?")},
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
            "name": "lamp", "description": "A lamp", "input_schema": lamp_schema(),
            "cache_control": {"type": "ephemeral"},
        }],
    })
}

#[test]
fn a_right_request_is_taken() {
    assert_accepted(API, &right());
    assert_accepted(
        API,
        &json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}),
    );
}

#[test]
fn fields_that_it_does_not_know_or_needs() {
    assert_rejected(API, &with_value(&right(), "/n", json!(1)), "n: Extra inputs are not permitted");
    assert_rejected(API, &with_value(&right(), "/max_tokens", json!(null)), "max_tokens: Field required");
    let block = with_value(&right(), "/messages/1/content/1/id", json!("x"));
    assert_rejected(API, &block, "messages.1.content.1.text.id: Extra inputs are not permitted");
    let version = HeaderMap::new();
    assert!(check(API, &version, &right(), &model(false), &HashMap::new()).is_err());
}

#[test]
fn the_newer_version_takes_no_sampling_options() {
    let body = json!({
        "model": "m", "max_tokens": 1, "temperature": 0.5, "messages": [{"role": "user", "content": "hi"}],
    });
    assert_accepted(API, &body);
    let newer = HeaderMap::from_iter([("anthropic-version".parse().unwrap(), "2026-10-21".parse().unwrap())]);
    assert!(check(API, &newer, &body, &model(false), &HashMap::new()).is_err());
}

#[test]
fn the_anthropic_server_requires_results_in_the_next_message_m9() {
    let results = "/messages/2/content";
    assert_rejected(
        API,
        &with_value(&right(), &format!("{results}/0"), json!(null)),
        "without `tool_result` blocks",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/2", json!(null)),
        "without `tool_result` blocks immediately after: a, b",
    );
    let stranger = json!({"type": "tool_result", "tool_use_id": "c", "content": "x"});
    assert_rejected(
        API,
        &with_value(&right(), &format!("{results}/-"), stranger),
        "unexpected `tool_use_id`",
    );
    let mut late = right();
    late["messages"][2]["content"].as_array_mut().unwrap().swap(0, 2);
    assert_rejected(API, &late, "without `tool_result` blocks");
    let twice = with_value(&right(), "/messages/1/content/3/id", json!("a"));
    assert_rejected(API, &twice, "`tool_use` ids must be unique");
}

#[test]
fn the_anthropic_server_requires_unchanged_thinking_before_tool_calls_m8() {
    assert_rejected(API, &with_value(&right(), "/messages/1/content/0", json!(null)), "Expected `thinking`");
    assert_rejected(
        API,
        &with_value(&right(), "/messages/1/content/0/signature", json!("x")),
        "Invalid `signature`",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/1/content/0/thinking", json!("Another")),
        "Invalid `signature`",
    );
    let hidden = |data: String| {
        with_value(&right(), "/messages/1/content/0", json!({"type": "redacted_thinking", "data": data}))
    };
    assert_accepted(API, &hidden(signatures::hide_thinking("x")));
    assert_rejected(API, &hidden("made up".to_owned()), "Invalid `data`");
    assert_rejected(
        API,
        &with_value(&right(), "/thinking/budget_tokens", json!(100)),
        "greater than or equal to 1024",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/max_tokens", json!(1024)),
        "must be greater than `thinking.budget_tokens`",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/temperature", json!(0)),
        "`temperature` may only be set to 1",
    );
    let forced = with_value(&right(), "/tool_choice", json!({"type": "any"}));
    assert_rejected(API, &forced, "Thinking may not be enabled when tool_choice forces tool use");
}

#[test]
fn what_is_beta_needs_its_header() {
    let binding = json!({"prefix_mismatch_behavior": "drop_block"});
    let body = with_value(&right(), "/thinking/block_binding", binding);
    assert_rejected(API, &body, "thinking.enabled.block_binding: Extra inputs are not permitted");
    assert_rejected(API, &with_value(&right(), "/thinking/effort", json!("low")), "thinking.enabled.effort");
    let mut with_beta = headers();
    with_beta
        .insert("anthropic-beta", "other-2026-01-01, thinking-binding-controls-2026-08-01".parse().unwrap());
    assert_eq!(check(API, &with_beta, &body, &model(false), &HashMap::new()), Ok(()));
}

#[test]
fn the_anthropic_server_checks_tool_schemas_and_names_m3_m4() {
    let schema = |schema: Value| with_value(&right(), "/tools/0/input_schema", schema);
    assert_accepted(
        API,
        &schema(json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}})),
    );
    assert_accepted(API, &schema(json!({"type": "object"})));
    assert_rejected(
        API,
        &schema(json!({"type": "object", "anyOf": []})),
        "does not support oneOf, allOf, or anyOf",
    );
    assert_rejected(API, &schema(json!({})), "input_schema.type: Field required");
    let name = |name: &str| with_value(&right(), "/tools/0/name", json!(name));
    assert_accepted(API, &name(&"x".repeat(128)));
    assert_rejected(API, &name(&"x".repeat(129)), "should match pattern");
    assert_rejected(API, &name("a.b"), "should match pattern");
    let twice = with_value(&right(), "/tools/-", right()["tools"][0].clone());
    assert_rejected(API, &twice, "Tool names must be unique");
}

#[test]
fn messages() {
    assert_rejected(
        API,
        &with_value(&right(), "/messages/0/role", json!("assistant")),
        "first message must use the \"user\"",
    );
    assert_rejected(API, &with_value(&right(), "/messages/0/role", json!("tool")), "first message");
    assert_rejected(
        API,
        &with_value(&right(), "/messages/0/content", json!("")),
        "must have non-empty content",
    );
    let blank = json!({"type": "text", "text": ""});
    assert_rejected(
        API,
        &with_value(&right(), "/messages/2/content/2", blank),
        "text content blocks must be non-empty",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/1/content/2/input", json!("{}")),
        "should be a valid dictionary",
    );
    let media = "/messages/2/content/1/content/0/source/media_type";
    assert_rejected(API, &with_value(&right(), media, json!("image/tiff")), "media_type");
    let picture = right()["messages"][2]["content"][1]["content"].clone();
    assert_rejected(
        API,
        &with_value(&right(), "/messages/2/content/0/content", picture),
        "if \"is_error\" is true",
    );
    let mark = json!({"type": "ephemeral"});
    let mut marked = right();
    for block in 1..4 {
        marked["messages"][1]["content"][block]["cache_control"] = mark.clone();
    }
    assert_rejected(API, &marked, "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}
