use super::*;

const API: ApiKind = ApiKind::Openai;

/// A conversation with two calls and their results.
fn right() -> Value {
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "lamp", "arguments": "{}"}});
    json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "b", "content": "ok"},
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "lamp", "description": "A lamp", "parameters": lamp_schema(), "strict": false,
        }}],
        "tool_choice": "auto", "temperature": 0.5,
    })
}

#[test]
fn a_right_request_is_taken() {
    assert_accepted(API, &right());
    assert_accepted(API, &json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
}

#[test]
fn fields_that_it_does_not_know() {
    assert_rejected(
        API,
        &with_value(&right(), "/think", json!(true)),
        "Unrecognized request argument supplied: think",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/1/cache", json!(1)),
        "Unknown parameter: 'messages[1].cache'",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/tools/0/cache", json!(1)),
        "Unknown parameter: 'tools[0].cache'",
    );
    assert_rejected(API, &with_value(&right(), "/messages/3/is_error", json!(true)), "messages[3].is_error");
}

#[test]
fn results_answer_their_calls() {
    assert_rejected(
        API,
        &with_value(&right(), "/messages/4", json!(null)),
        "did not have response messages: a",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/2", json!(null)),
        "must be a response to a preceeding message",
    );
    let between = json!({"role": "user", "content": "?"});
    assert_rejected(API, &with_value(&right(), "/messages/4", between), "did not have response messages: a");
    let twice = json!({"role": "tool", "tool_call_id": "a", "content": "again"});
    assert_rejected(
        API,
        &with_value(&right(), "/messages/-", twice),
        "must be a response to a preceeding message",
    );
}

#[test]
fn contents_and_roles() {
    assert_rejected(
        API,
        &with_value(&right(), "/messages/0/role", json!("tool_result")),
        "Supported values are: 'system'",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/messages/1/content", json!(null)),
        "expected a string, got null",
    );
    let picture = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]);
    assert_rejected(API, &with_value(&right(), "/messages/3/content", picture), "Invalid value: 'image_url'");
    let address = "/messages/1/content/1/image_url/url";
    assert_rejected(
        API,
        &with_value(&right(), address, json!("data:image/tiff;base64,aGk=")),
        "supported image format",
    );
    let arguments = "/messages/2/tool_calls/0/function/arguments";
    assert_rejected(API, &with_value(&right(), arguments, json!({})), "expected a string, but got an object");
    assert_rejected(API, &with_value(&right(), "/messages/2/tool_calls", json!([])), "empty array");
}

#[test]
fn the_openai_server_checks_tool_names_and_the_tool_count_m4_m6() {
    let name = |name: &str| with_value(&right(), "/tools/0/function/name", json!(name));
    assert_accepted(API, &name(&"x".repeat(64)));
    assert_rejected(API, &name(&"x".repeat(65)), "maximum length 64, but got a string with length 65");
    assert_rejected(API, &name("lamp.switch"), "does not match pattern");
    let many = |count: usize| {
        let tool = |n| json!({"type": "function", "function": {"name": format!("t{n}")}});
        with_value(&right(), "/tools", (0..count).map(tool).collect())
    };
    assert_accepted(API, &many(128));
    assert_rejected(API, &many(129), "maximum length 128, but got an array with length 129");
    assert_rejected(API, &with_value(&right(), "/tools", json!([])), "empty array");
    assert_rejected(
        API,
        &with_value(&right(), "/tools", json!(null)),
        "'tool_choice' is only allowed when 'tools'",
    );
}

#[test]
fn schemas_of_functions() {
    let parameters = |schema: Value| with_value(&right(), "/tools/0/function/parameters", schema);
    assert_accepted(API, &parameters(json!({"type": "object", "properties": {}})));
    assert_accepted(API, &with_value(&right(), "/tools/0/function/parameters", json!(null)));
    assert_rejected(API, &parameters(json!({})), "got 'type: \"None\"'");
    assert_rejected(API, &parameters(json!({"type": "array", "items": {}})), "got 'type: \"array\"'");
    assert_rejected(
        API,
        &parameters(json!({"type": "object", "properties": {}, "anyOf": []})),
        "at the top level",
    );
    assert_rejected(API, &parameters(json!({"type": "object"})), "object schema missing properties");
    let list = json!({"type": "object", "properties": {"tags": {"type": "array"}}});
    assert_rejected(API, &parameters(list), "In context=('properties', 'tags'), array schema missing items.");
    // What is not strict may say whatever else it likes.
    assert_accepted(
        API,
        &parameters(json!({
            "$schema": "x", "type": "object", "properties": {"a": {"oneOf": [{"type": "string", "format": "uri"}]}},
            "propertyNames": {"pattern": "a"},
        })),
    );
}

#[test]
fn the_openai_server_checks_strict_schemas_m2() {
    let strict = |schema: Value| {
        with_value(
            &with_value(&right(), "/tools/0/function/strict", json!(true)),
            "/tools/0/function/parameters",
            schema,
        )
    };
    let closed = json!({
        "type": "object", "additionalProperties": false, "required": ["on", "in"],
        "properties": {"on": {"type": ["boolean", "null"]}, "in": {"$ref": "#/$defs/room"}},
        "$defs": {"room": {"type": "string", "enum": ["hall"]}},
    });
    assert_accepted(API, &strict(closed.clone()));
    assert_rejected(API, &strict(lamp_schema()), "'additionalProperties' is required");
    assert_rejected(API, &strict(with_value(&closed, "/required", json!(["on"]))), "Missing 'in'");
    assert_rejected(
        API,
        &strict(with_value(&closed, "/propertyNames", json!({}))),
        "'propertyNames' is not permitted",
    );
    assert_rejected(
        API,
        &strict(with_value(&closed, "/properties/on/default", json!(1))),
        "('properties', 'on'), 'default'",
    );
    assert_rejected(API, &strict(with_value(&closed, "/properties/on", json!({}))), "must have a 'type' key");
    assert_rejected(
        API,
        &strict(with_value(&closed, "/properties/in/title", json!("x"))),
        "$ref cannot have keywords",
    );
    assert_rejected(
        API,
        &strict(with_value(&closed, "/$defs/room/format", json!("uri"))),
        "'uri' is not a valid format",
    );
}

#[test]
fn models_that_think_take_no_sampling_options() {
    let takes_temperature = |thinks| rejection_by(API, &right(), thinks).is_none();
    assert!(takes_temperature(false) && !takes_temperature(true));
    let tokens = with_value(&with_value(&right(), "/temperature", json!(null)), "/max_tokens", json!(5));
    assert!(rejection_by(API, &tokens, true).unwrap().contains("Use 'max_completion_tokens' instead"));
    assert_rejected(
        API,
        &with_value(&right(), "/reasoning_effort", json!("low")),
        "'reasoning_effort' is not supported",
    );
}

#[test]
fn options_of_a_stream_need_one() {
    assert_rejected(
        API,
        &with_value(&right(), "/stream", json!(false)),
        "only allowed when 'stream' is enabled",
    );
}
