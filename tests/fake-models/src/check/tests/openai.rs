use super::*;

const API: Api = Api::Openai;

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
            "name": "lamp", "description": "A lamp", "parameters": lamp(), "strict": false,
        }}],
        "tool_choice": "auto", "temperature": 0.5,
    })
}

#[test]
fn a_right_request_is_taken() {
    takes(API, &right());
    takes(API, &json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
}

#[test]
fn fields_that_it_does_not_know() {
    refuses(API, &with(&right(), "/think", json!(true)), "Unrecognized request argument supplied: think");
    refuses(API, &with(&right(), "/messages/1/cache", json!(1)), "Unknown parameter: 'messages[1].cache'");
    refuses(API, &with(&right(), "/tools/0/cache", json!(1)), "Unknown parameter: 'tools[0].cache'");
    refuses(API, &with(&right(), "/messages/3/is_error", json!(true)), "messages[3].is_error");
}

#[test]
fn results_answer_their_calls() {
    refuses(API, &with(&right(), "/messages/4", json!(null)), "did not have response messages: a");
    refuses(API, &with(&right(), "/messages/2", json!(null)), "must be a response to a preceeding message");
    let between = json!({"role": "user", "content": "?"});
    refuses(API, &with(&right(), "/messages/4", between), "did not have response messages: a");
    let twice = json!({"role": "tool", "tool_call_id": "a", "content": "again"});
    refuses(API, &with(&right(), "/messages/-", twice), "must be a response to a preceeding message");
}

#[test]
fn contents_and_roles() {
    refuses(API, &with(&right(), "/messages/0/role", json!("tool_result")), "Supported values are: 'system'");
    refuses(API, &with(&right(), "/messages/1/content", json!(null)), "expected a string, got null");
    let picture = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]);
    refuses(API, &with(&right(), "/messages/3/content", picture), "Invalid value: 'image_url'");
    let address = "/messages/1/content/1/image_url/url";
    refuses(API, &with(&right(), address, json!("data:image/tiff;base64,aGk=")), "supported image format");
    let arguments = "/messages/2/tool_calls/0/function/arguments";
    refuses(API, &with(&right(), arguments, json!({})), "expected a string, but got an object");
    refuses(API, &with(&right(), "/messages/2/tool_calls", json!([])), "empty array");
}

#[test]
fn m4_m6_names_and_numbers_of_tools() {
    let name = |name: &str| with(&right(), "/tools/0/function/name", json!(name));
    takes(API, &name(&"x".repeat(64)));
    refuses(API, &name(&"x".repeat(65)), "maximum length 64, but got a string with length 65");
    refuses(API, &name("lamp.switch"), "does not match pattern");
    let many = |count: usize| {
        let tool = |n| json!({"type": "function", "function": {"name": format!("t{n}")}});
        with(&right(), "/tools", (0..count).map(tool).collect())
    };
    takes(API, &many(128));
    refuses(API, &many(129), "maximum length 128, but got an array with length 129");
    refuses(API, &with(&right(), "/tools", json!([])), "empty array");
    refuses(API, &with(&right(), "/tools", json!(null)), "'tool_choice' is only allowed when 'tools'");
}

#[test]
fn schemas_of_functions() {
    let parameters = |schema: Value| with(&right(), "/tools/0/function/parameters", schema);
    takes(API, &parameters(json!({"type": "object", "properties": {}})));
    takes(API, &with(&right(), "/tools/0/function/parameters", json!(null)));
    refuses(API, &parameters(json!({})), "got 'type: \"None\"'");
    refuses(API, &parameters(json!({"type": "array", "items": {}})), "got 'type: \"array\"'");
    refuses(API, &parameters(json!({"type": "object", "properties": {}, "anyOf": []})), "at the top level");
    refuses(API, &parameters(json!({"type": "object"})), "object schema missing properties");
    let list = json!({"type": "object", "properties": {"tags": {"type": "array"}}});
    refuses(API, &parameters(list), "In context=('properties', 'tags'), array schema missing items.");
    // What is not strict may say whatever else it likes.
    takes(
        API,
        &parameters(json!({
            "$schema": "x", "type": "object", "properties": {"a": {"oneOf": [{"type": "string", "format": "uri"}]}},
            "propertyNames": {"pattern": "a"},
        })),
    );
}

#[test]
fn m2_strict_schemas() {
    let strict = |schema: Value| {
        with(&with(&right(), "/tools/0/function/strict", json!(true)), "/tools/0/function/parameters", schema)
    };
    let closed = json!({
        "type": "object", "additionalProperties": false, "required": ["on", "in"],
        "properties": {"on": {"type": ["boolean", "null"]}, "in": {"$ref": "#/$defs/room"}},
        "$defs": {"room": {"type": "string", "enum": ["hall"]}},
    });
    takes(API, &strict(closed.clone()));
    refuses(API, &strict(lamp()), "'additionalProperties' is required");
    refuses(API, &strict(with(&closed, "/required", json!(["on"]))), "Missing 'in'");
    refuses(API, &strict(with(&closed, "/propertyNames", json!({}))), "'propertyNames' is not permitted");
    refuses(
        API,
        &strict(with(&closed, "/properties/on/default", json!(1))),
        "('properties', 'on'), 'default'",
    );
    refuses(API, &strict(with(&closed, "/properties/on", json!({}))), "must have a 'type' key");
    refuses(API, &strict(with(&closed, "/properties/in/title", json!("x"))), "$ref cannot have keywords");
    refuses(API, &strict(with(&closed, "/$defs/room/format", json!("uri"))), "'uri' is not a valid format");
}

#[test]
fn models_that_think_take_no_sampling_options() {
    let takes_temperature = |thinks| said_by(API, &right(), thinks).is_none();
    assert!(takes_temperature(false) && !takes_temperature(true));
    let tokens = with(&with(&right(), "/temperature", json!(null)), "/max_tokens", json!(5));
    assert!(said_by(API, &tokens, true).unwrap().contains("Use 'max_completion_tokens' instead"));
    refuses(API, &with(&right(), "/reasoning_effort", json!("low")), "'reasoning_effort' is not supported");
}

#[test]
fn options_of_a_stream_need_one() {
    refuses(API, &with(&right(), "/stream", json!(false)), "only allowed when 'stream' is enabled");
}
