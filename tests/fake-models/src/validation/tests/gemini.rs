use super::*;
use crate::signatures;

const API: ApiKind = ApiKind::Gemini;

fn right() -> Value {
    let signature = signatures::sign_call("lamp", &json!({"on": true}));
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "lamp", "args": {"on": true}}, "thoughtSignature": signature},
                {"functionCall": {"name": "lamp", "args": {"on": false}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "lamp", "response": {"output": "ok"}}},
                {"functionResponse": {"name": "lamp", "response": {"error": "no"}}},
            ]},
        ],
        "tools": [{"functionDeclarations": [
            {"name": "lamp", "description": "A lamp", "parametersJsonSchema": lamp_schema()},
            {"name": "bell", "description": "A bell"},
            {"name": "door", "description": "A door", "parameters": {
                "type": "OBJECT", "properties": {"wide": {"type": "BOOLEAN", "nullable": true}}, "required": ["wide"],
            }},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["lamp"]}},
        "generationConfig": {"temperature": 0.5, "thinkingConfig": {"includeThoughts": true}},
    })
}

#[test]
fn a_right_request_is_taken() {
    assert_accepted(API, &right());
    assert_eq!(rejection_by(API, &right(), true), None);
    assert_accepted(API, &json!({"contents": [{"parts": [{"text": "hi"}]}]}));
}

#[test]
fn fields_that_it_does_not_know() {
    assert_rejected(
        API,
        &with_value(&right(), "/messages", json!([])),
        "Unknown name \"messages\": Cannot find field.",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/generationConfig/n", json!(1)),
        "\"n\" at 'generation_config'",
    );
    let part = with_value(&right(), "/contents/1/parts/0/id", json!("x"));
    assert_rejected(API, &part, "Unknown name \"id\" at 'contents[1].parts[0]'");
    assert_rejected(
        API,
        &with_value(&right(), "/contents/1/parts/0/functionCall/args", json!("{}")),
        "protobuf.Struct",
    );
}

#[test]
fn the_gemini_server_rejects_unknown_schema_keywords_m1() {
    let parameters =
        |schema: Value| with_value(&right(), "/tools/0/functionDeclarations/2/parameters", schema);
    let property = |schema: Value| parameters(json!({"type": "object", "properties": {"a": schema}}));
    assert_accepted(API, &property(json!({"type": "array", "items": {"type": "string", "enum": ["x"]}})));
    let unknown =
        |name: &str| format!("Unknown name \"{name}\" at 'tools[0].function_declarations[2].parameters");
    for (name, value) in [
        ("additionalProperties", json!(false)),
        ("$schema", json!("x")),
        ("const", json!(1)),
        ("oneOf", json!([])),
        ("$ref", json!("#")),
    ] {
        let mut schema = json!({"type": "string"});
        schema[name] = value;
        assert_rejected(API, &property(schema), &unknown(name));
    }
    assert_rejected(
        API,
        &parameters(json!({"type": "object", "properties": {}})),
        "should be non-empty for OBJECT",
    );
    assert_rejected(
        API,
        &property(json!({"type": "array"})),
        "parameters.properties[a].items: missing field.",
    );
    assert_rejected(API, &property(json!({"type": ["string", "null"]})), "Proto field is not repeating");
    assert_rejected(API, &property(json!({"type": "integer", "enum": [1]})), "(TYPE_STRING), 1");
    assert_rejected(
        API,
        &property(json!({"type": "string", "format": "uri"})),
        "only 'enum' and 'date-time'",
    );
    assert_rejected(API, &property(json!({"description": "anything"})), "type: must be specified");
    let required =
        parameters(json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]}));
    assert_rejected(API, &required, "required[0]: property is not defined");
    let both = with_value(&right(), "/tools/0/functionDeclarations/0/parameters", json!({"type": "string"}));
    assert_rejected(API, &both, "mutually exclusive");
}

#[test]
fn the_gemini_server_checks_tool_names_m4() {
    let name = |name: &str| with_value(&right(), "/tools/0/functionDeclarations/1/name", json!(name));
    assert_accepted(API, &name("a.b:c-d_e"));
    for bad in ["1a", "a b", &"x".repeat(65)] {
        assert_rejected(API, &name(bad), "Invalid function name");
    }
    assert_rejected(API, &name("lamp"), "Duplicate function declaration");
}

#[test]
fn the_gemini_server_matches_function_responses_to_calls_m7() {
    let responses = "/contents/2/parts";
    assert_rejected(
        API,
        &with_value(&right(), &format!("{responses}/1"), json!(null)),
        "equal to the number of function call",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/contents/1", json!(null)),
        "immediately after a function call turn",
    );
    let by_id = with_value(&right(), &format!("{responses}/0/functionResponse/name"), json!("call_1"));
    assert_rejected(API, &by_id, "call_1 was not called");
    let unnamed = with_value(&right(), &format!("{responses}/0/functionResponse/name"), json!(null));
    assert_rejected(API, &unnamed, "function_response.name: Name cannot be empty.");
    let mut apart = right();
    let second = apart["contents"][2]["parts"].as_array_mut().unwrap().pop().unwrap();
    apart["contents"].as_array_mut().unwrap().push(json!({"role": "user", "parts": [second]}));
    assert_rejected(API, &apart, "equal to the number of function call");
    assert_rejected(
        API,
        &with_value(&right(), "/contents/0", json!(null)),
        "comes immediately after a user turn",
    );
    assert_rejected(API, &with_value(&right(), "/contents/0/role", json!("tool")), "valid role: user, model");
}

#[test]
fn the_gemini_server_requires_a_signature_on_the_first_call_of_a_step_m8() {
    let signature = "/contents/1/parts/0/thoughtSignature";
    let without = with_value(&right(), signature, json!(null));
    assert_accepted(API, &without);
    let said = rejection_by(API, &without, true).unwrap();
    assert!(said.contains("missing a thought_signature") && said.contains("default_api:lamp"), "{said}");
    assert_rejected(API, &with_value(&right(), signature, json!("made up")), "Corrupted thought signature");
    let moved = with_value(
        &without,
        "/contents/1/parts/1/thoughtSignature",
        right().pointer(signature).unwrap().clone(),
    );
    assert_rejected(API, &moved, "Corrupted thought signature");
    // Those of turns before the current one may be gone.
    let earlier = with_value(&without, "/contents/-", json!({"role": "model", "parts": [{"text": "done"}]}));
    let earlier = with_value(&earlier, "/contents/-", json!({"role": "user", "parts": [{"text": "more"}]}));
    assert_eq!(rejection_by(API, &earlier, true), None);
}

#[test]
fn parts_have_one_kind_of_data() {
    assert_rejected(
        API,
        &with_value(&right(), "/contents/0/parts/0/text", json!(null)),
        "must have one initialized field",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/contents/0/parts", json!([])),
        "contents.parts must not be empty",
    );
    assert_rejected(API, &with_value(&right(), "/contents", json!([])), "contents is not specified");
}

#[test]
fn forced_functions_are_declared_and_the_mode_says_so() {
    let config = "/toolConfig/functionCallingConfig";
    assert_rejected(
        API,
        &with_value(&right(), &format!("{config}/mode"), json!("AUTO")),
        "should be set only when mode is ANY",
    );
    assert_rejected(
        API,
        &with_value(&right(), &format!("{config}/allowedFunctionNames"), json!(["x"])),
        "declared functions",
    );
}
