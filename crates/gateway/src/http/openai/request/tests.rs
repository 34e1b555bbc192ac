use serde_json::{Value, json};

use super::*;

/// Parses a request with these fields and a message.
#[track_caller]
fn asked(fields: Value) -> ParsedCompletionRequest {
    asking(fields).unwrap_or_else(|refused| panic!("{refused:?}"))
}

fn asking(fields: Value) -> Result<ParsedCompletionRequest, OpenAiApiError> {
    let mut body = json!({"model": "default", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    read(body.to_string().as_bytes())
}

#[track_caller]
fn refused(fields: Value) -> (u16, String, String, String) {
    let error = asking(fields).expect_err("refused");
    (error.status.as_u16(), error.code, error.param.unwrap_or_default(), error.message)
}

fn tool(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
}

#[test]
fn missing_fields_are_left_to_the_agent() {
    let asked = asked(json!({"model": "toolway/home"}));
    assert_eq!(asked.model, "toolway/home");
    assert!(!asked.stream && !asked.include_usage);
    assert_eq!(asked.messages, [ModelMessage::user("hi")]);
    assert_eq!(asked.system, Vec::<String>::new());
    assert!(asked.client_tools.is_empty());
    assert_eq!(asked.tool_choice, ToolChoice::Auto);
    assert_eq!(asked.output, None);
    assert_eq!(asked.options, ModelOptions::default());
}

#[test]
fn every_supported_field_is_parsed() {
    let asked = asked(json!({
        "stream": true, "stream_options": {"include_usage": true}, "n": 1, "temperature": 0.5, "top_p": 0.9,
        "max_tokens": 100, "max_completion_tokens": 50, "stop": ["END", "STOP"], "seed": 7,
        "reasoning_effort": "minimal", "tools": [tool("look_up")], "tool_choice": "required",
        "parallel_tool_calls": false, "user": "u", "metadata": {"a": "b"}, "store": true, "logprobs": true,
        "something_new": {"x": [1]},
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "answer", "strict": true, "schema": {"type": "object", "properties": {}}}},
    }));
    assert!(asked.stream && asked.include_usage);
    assert_eq!(
        asked.options,
        ModelOptions {
            // The newer of the two fields.
            max_output_tokens: Some(50),
            temperature: Some(0.5),
            top_p: Some(0.9),
            stop: vec!["END".to_owned(), "STOP".to_owned()],
            seed: Some(7),
            reasoning: Some(ReasoningEffort::Low),
            parallel_tool_calls: Some(false),
            ..ModelOptions::default()
        }
    );
    assert_eq!(asked.tool_choice, ToolChoice::Required);
    assert_eq!(asked.client_tools[0].name, "look_up");
    assert_eq!(asked.client_tools[0].parameters.as_ref().unwrap().get(), r#"{"type":"object"}"#);
    let output = asked.output.unwrap();
    assert_eq!(
        (output.name.as_str(), output.schema.get()),
        ("answer", r#"{"properties":{},"type":"object"}"#)
    );
}

#[test]
fn null_means_missing() {
    let fields = [
        "stream",
        "stream_options",
        "n",
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "seed",
        "reasoning_effort",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "functions",
        "function_call",
        "audio",
    ];
    let nulls: Value = fields
        .into_iter()
        .map(|name| (name.to_owned(), Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(asked(nulls).options, ModelOptions::default());
}

#[test]
fn a_tool_can_be_chosen_by_name() {
    let chosen = |name: &str| json!({"type": "function", "function": {"name": name}});
    let named = asked(json!({"tools": [tool("a"), tool("b")], "tool_choice": chosen("b")}));
    assert_eq!(named.tool_choice, ToolChoice::Tool("b".to_owned()));
    assert_eq!(asked(json!({"tool_choice": "none"})).tool_choice, ToolChoice::None);
    assert_eq!(
        refused(json!({"tools": [tool("a")], "tool_choice": chosen("c")})),
        (400, "invalid_value".into(), "tool_choice".into(), "\"c\" is not a tool of the request".into())
    );
    assert_eq!(refused(json!({"tool_choice": "any"})).2, "tool_choice");
    assert_eq!(refused(json!({"tool_choice": {"type": "allowed_tools"}})).1, "unsupported_parameter");
}

#[test]
fn a_strict_tool_stays_strict() {
    let mut strict = tool("a");
    strict["function"]["strict"] = json!(true);
    let mut loose = tool("b");
    loose["function"]["strict"] = json!(false);
    let tools = asked(json!({"tools": [strict, loose, tool("c")]})).client_tools;
    assert_eq!(tools.iter().map(|tool| tool.is_strict).collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn response_formats_are_parsed() {
    assert_eq!(asked(json!({"response_format": {"type": "text"}})).output, None);
    let object = asked(json!({"response_format": {"type": "json_object"}})).output.unwrap();
    assert_eq!(object, toolway_models::OutputSchema::any_object());
    // A schema that says the same is still a schema.
    let schema = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}});
    assert!(!asked(schema).output.unwrap().accepts_any_object);
    assert_eq!(refused(json!({"response_format": {"type": "grammar"}})).2, "response_format.type");
    assert_eq!(refused(json!({"response_format": {"type": "json_schema"}})).2, "response_format.json_schema");
    let without = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}});
    assert_eq!(refused(without).2, "response_format.json_schema.schema");
}

#[test]
fn a_single_stop_sequence_may_be_a_string() {
    assert_eq!(asked(json!({"stop": "END"})).options.stop, ["END"]);
    assert_eq!(refused(json!({"stop": ["1", "2", "3", "4", "5"]})).2, "stop");
    assert_eq!(refused(json!({"stop": 5})).2, "stop");
    assert_eq!(refused(json!({"stop": [""]})).2, "stop");
}

#[test]
fn unsupported_fields_are_refused_by_name() {
    for (fields, param) in [
        (json!({"n": 2}), "n"),
        (json!({"functions": []}), "functions"),
        (json!({"function_call": "auto"}), "function_call"),
        (json!({"audio": {"voice": "alloy"}}), "audio"),
        (json!({"tools": [{"type": "custom", "custom": {"name": "x"}}]}), "tools[0].type"),
    ] {
        let (status, code, named, _) = refused(fields);
        assert_eq!((status, code.as_str(), named.as_str()), (400, "unsupported_parameter", param));
    }
    for (fields, param) in [
        (json!({"reasoning_effort": "extreme"}), "reasoning_effort"),
        (json!({"tools": [{"type": "function"}]}), "tools[0]"),
        (json!({"tools": [tool("two words")]}), "tools[0].function.name"),
        (json!({"tools": [tool("a"), tool("a")]}), "tools[1].function.name"),
        (
            json!({"tools": [{"type": "function", "function": {"name": "a", "parameters": true}}]}),
            "tools[0].function.parameters",
        ),
        (json!({"tools": vec![tool("a"); 129]}), "tools"),
        (json!({"messages": []}), "messages"),
    ] {
        let (status, code, named, _) = refused(fields);
        assert_eq!((status, code.as_str(), named.as_str()), (400, "invalid_value", param));
    }
}

#[test]
fn a_malformed_body_is_refused_with_the_reason() {
    for (body, words) in [
        ("", "not JSON"),
        ("[]", "must be a JSON object"),
        (r#"{"messages":[]}"#, "missing field `model`"),
        (r#"{"model":"x"}"#, "missing field `messages`"),
        (r#"{"model":"x","messages":[{"content":"no role"}]}"#, "missing field `role`"),
    ] {
        let error = read(body.as_bytes()).expect_err(body);
        assert_eq!((error.status.as_u16(), error.kind), (400, "invalid_request_error"));
        assert!(error.message.contains(words), "{body}: {}", error.message);
    }
}
