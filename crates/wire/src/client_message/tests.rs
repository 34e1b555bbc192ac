use super::*;

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

#[track_caller]
fn reads(text: &str, expected: impl Into<ClientMessage>) {
    assert_eq!(ClientMessage::decode(text).unwrap(), expected.into());
}

#[test]
fn version_1_registers_tools() {
    let text = r#"{
        "type": "register_tools",
        "tools": [
            {"name": "device_info", "description": "Get device information",
             "parameters": {"type": "object", "properties": {}, "required": []}},
            {"name": "camera", "description": "Take a photo",
             "parameters": {"type": "object", "properties":
                {"quality": {"type": "string", "enum": ["low", "medium", "high"]}}}}
        ]
    }"#;
    let ClientMessage::RegisterTools(message) = ClientMessage::decode(text).unwrap() else { panic!() };
    assert_eq!(message.mode, None);
    let specs: Vec<_> = message.specs().map(Result::unwrap).collect();
    assert_eq!(
        specs[0],
        SpecDocument {
            description: Some("Get device information".into()),
            parameters: Some(raw(r#"{"type": "object", "properties": {}, "required": []}"#)),
            ..SpecDocument::named("device_info")
        }
    );
    assert_eq!(specs[1].name, "camera");
}

#[test]
fn version_1_answers_calls() {
    let id = "550e8400-e29b-41d4-a716-446655440000";
    reads(
        r#"{"type":"tool_result","id":"550e8400-e29b-41d4-a716-446655440000",
            "output":"{\"model\":\"Pixel 8\",\"manufacturer\":\"Google\",\"android_version\":\"14\"}","success":true}"#,
        ToolResult {
            id: id.into(),
            output: r#"{"model":"Pixel 8","manufacturer":"Google","android_version":"14"}"#.into(),
            success: Some(true),
            ..ToolResult::default()
        },
    );
    reads(
        r#"{"type":"tool_error","id":"550e8400-e29b-41d4-a716-446655440000",
            "error":"Camera permission denied","success":false}"#,
        ToolFailure {
            id: id.into(),
            error: "Camera permission denied".into(),
            success: Some(false),
            ..ToolFailure::default()
        },
    );
}

#[test]
fn a_missing_field_and_null_mean_the_same() {
    let absent = ClientMessage::decode(r#"{"type":"connect"}"#).unwrap();
    reads(
        r#"{"type":"connect","v":null,"session_id":null,"device_name":null,"resume_token":null,
            "capabilities":null}"#,
        Connect { ..Connect::default() },
    );
    assert_eq!(absent, Connect::default().into());
    reads(r#"{"type":"message","content":null,"attachments":null}"#, UserMessage::default());
    for (null, absent) in [
        (
            r#"{"type":"tool_result","id":"c","output":null,"structured":null,"content":null}"#,
            r#"{"type":"tool_result","id":"c"}"#,
        ),
        (r#"{"type":"tool_error","id":"c","error":null,"code":null}"#, r#"{"type":"tool_error","id":"c"}"#),
        (
            r#"{"type":"tool_progress","id":"c","progress":null,"content":null}"#,
            r#"{"type":"tool_progress","id":"c"}"#,
        ),
    ] {
        reads(null, ClientMessage::decode(absent).unwrap());
    }
    let spec = r#"{"name":"a","description":null,"parameters":null,"title":null,"output_schema":null,
        "annotations":null,"permissions":null,"timeout_ms":null,"progress_timeout_ms":null,"sequential":null}"#;
    assert_eq!(serde_json::from_str::<SpecDocument>(spec).unwrap(), SpecDocument::named("a"));
    let text = r#"{"type":"call_tool","id":"1","name":"a","args":null}"#;
    reads(text, CallTool { id: "1".into(), name: "a".into(), ..CallTool::default() });
    // A result without fields is an empty text.
    reads(r#"{"type":"tool_result","id":"c1"}"#, ToolResult { id: "c1".into(), ..ToolResult::default() });
}

/// A missing list must not count as an empty one: that would remove all tools.
#[test]
fn a_required_list_that_is_missing_is_refused() {
    for text in [
        r#"{"type":"register_tools"}"#,
        r#"{"type":"register_tools","tools":null}"#,
        r#"{"type":"unregister_tools"}"#,
        r#"{"type":"unregister_tools","names":null}"#,
        r#"{"type":"app_providers"}"#,
        r#"{"type":"app_providers","providers":null}"#,
    ] {
        assert!(ClientMessage::decode(text).is_err(), "{text}");
    }
}

#[test]
fn one_invalid_spec_does_not_affect_the_others() {
    let text =
        r#"{"type":"register_tools","tools":[7,{"name":"a"},["c"],{"description":"no name"},{"name":"b"}]}"#;
    let ClientMessage::RegisterTools(message) = ClientMessage::decode(text).unwrap() else { panic!() };
    let names: Vec<_> = message.specs().map(|spec| spec.ok().map(|it| it.name)).collect();
    assert_eq!(names, [None, Some("a".into()), None, None, Some("b".into())]);
}

/// Key order, number forms, spaces and escapes in other parties' JSON stay unchanged.
#[test]
fn json_of_other_parties_is_kept_byte_for_byte() {
    let theirs = r#"{ "b":1.0,"a":1e3 , "n":12345678901234567890123,"s":"\u00e9\/","a":2 }"#;
    for frame in [
        format!(r#"{{"type":"call_tool","id":"1","name":"a","args":{theirs}}}"#),
        format!(r#"{{"type":"register_tools","tools":[{theirs}]}}"#),
        format!(r#"{{"type":"tool_result","id":"1","output":"","structured":{theirs}}}"#),
        format!(r#"{{"type":"tool_error","id":"1","error":"","authorize_intent":{theirs}}}"#),
    ] {
        assert_eq!(ClientMessage::decode(&frame).unwrap().encode(), frame);
    }
    let spec =
        format!(r#"{{"name":"a","parameters":{theirs},"output_schema":{theirs},"annotations":{theirs}}}"#);
    let read: SpecDocument = serde_json::from_str(&spec).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), spec);
}

#[test]
fn an_output_that_is_no_string_is_kept_as_json() {
    for (json, expected) in [
        (r#"{"a":1.50}"#, ToolResultOutput::Json(raw(r#"{"a":1.50}"#))),
        ("[1]", ToolResultOutput::Json(raw("[1]"))),
        ("81", ToolResultOutput::Json(raw("81"))),
        ("null", ToolResultOutput::default()),
        (r#""{}""#, "{}".into()),
    ] {
        let text = format!(r#"{{"type":"tool_result","id":"c1","output":{json}}}"#);
        let ClientMessage::ToolResult(result) = ClientMessage::decode(&text).unwrap() else { panic!() };
        assert_eq!(result.output, expected, "{json}");
        assert_eq!(
            ClientMessage::decode(&ClientMessage::from(result.clone()).encode()).unwrap(),
            result.into()
        );
    }
}
