use super::*;
use crate::signatures;

const API: Api = Api::Gemini;

fn right() -> Value {
    let signature = signatures::of_call("lamp", &json!({"on": true}));
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
            {"name": "lamp", "description": "A lamp", "parametersJsonSchema": lamp()},
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
    takes(API, &right());
    assert_eq!(said_by(API, &right(), true), None);
    takes(API, &json!({"contents": [{"parts": [{"text": "hi"}]}]}));
}

#[test]
fn fields_that_it_does_not_know() {
    refuses(API, &with(&right(), "/messages", json!([])), "Unknown name \"messages\": Cannot find field.");
    refuses(API, &with(&right(), "/generationConfig/n", json!(1)), "\"n\" at 'generation_config'");
    let part = with(&right(), "/contents/1/parts/0/id", json!("x"));
    refuses(API, &part, "Unknown name \"id\" at 'contents[1].parts[0]'");
    refuses(API, &with(&right(), "/contents/1/parts/0/functionCall/args", json!("{}")), "protobuf.Struct");
}

#[test]
fn m1_parameters_are_of_its_own_kind_of_schema() {
    let parameters = |schema: Value| with(&right(), "/tools/0/functionDeclarations/2/parameters", schema);
    let property = |schema: Value| parameters(json!({"type": "object", "properties": {"a": schema}}));
    takes(API, &property(json!({"type": "array", "items": {"type": "string", "enum": ["x"]}})));
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
        refuses(API, &property(schema), &unknown(name));
    }
    refuses(API, &parameters(json!({"type": "object", "properties": {}})), "should be non-empty for OBJECT");
    refuses(API, &property(json!({"type": "array"})), "parameters.properties[a].items: missing field.");
    refuses(API, &property(json!({"type": ["string", "null"]})), "Proto field is not repeating");
    refuses(API, &property(json!({"type": "integer", "enum": [1]})), "(TYPE_STRING), 1");
    refuses(API, &property(json!({"type": "string", "format": "uri"})), "only 'enum' and 'date-time'");
    refuses(API, &property(json!({"description": "anything"})), "type: must be specified");
    let required =
        parameters(json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]}));
    refuses(API, &required, "required[0]: property is not defined");
    let both = with(&right(), "/tools/0/functionDeclarations/0/parameters", json!({"type": "string"}));
    refuses(API, &both, "mutually exclusive");
}

#[test]
fn m4_names() {
    let name = |name: &str| with(&right(), "/tools/0/functionDeclarations/1/name", json!(name));
    takes(API, &name("a.b:c-d_e"));
    for bad in ["1a", "a b", &"x".repeat(65)] {
        refuses(API, &name(bad), "Invalid function name");
    }
    refuses(API, &name("lamp"), "Duplicate function declaration");
}

#[test]
fn m7_responses_answer_their_calls() {
    let responses = "/contents/2/parts";
    refuses(
        API,
        &with(&right(), &format!("{responses}/1"), json!(null)),
        "equal to the number of function call",
    );
    refuses(API, &with(&right(), "/contents/1", json!(null)), "immediately after a function call turn");
    let by_id = with(&right(), &format!("{responses}/0/functionResponse/name"), json!("call_1"));
    refuses(API, &by_id, "call_1 was not called");
    let unnamed = with(&right(), &format!("{responses}/0/functionResponse/name"), json!(null));
    refuses(API, &unnamed, "function_response.name: Name cannot be empty.");
    let mut apart = right();
    let second = apart["contents"][2]["parts"].as_array_mut().unwrap().pop().unwrap();
    apart["contents"].as_array_mut().unwrap().push(json!({"role": "user", "parts": [second]}));
    refuses(API, &apart, "equal to the number of function call");
    refuses(API, &with(&right(), "/contents/0", json!(null)), "comes immediately after a user turn");
    refuses(API, &with(&right(), "/contents/0/role", json!("tool")), "valid role: user, model");
}

#[test]
fn m8_the_first_call_of_a_step_carries_its_signature() {
    let signature = "/contents/1/parts/0/thoughtSignature";
    let without = with(&right(), signature, json!(null));
    takes(API, &without);
    let said = said_by(API, &without, true).unwrap();
    assert!(said.contains("missing a thought_signature") && said.contains("default_api:lamp"), "{said}");
    refuses(API, &with(&right(), signature, json!("made up")), "Corrupted thought signature");
    let moved =
        with(&without, "/contents/1/parts/1/thoughtSignature", right().pointer(signature).unwrap().clone());
    refuses(API, &moved, "Corrupted thought signature");
    // Those of turns before the current one may be gone.
    let earlier = with(&without, "/contents/-", json!({"role": "model", "parts": [{"text": "done"}]}));
    let earlier = with(&earlier, "/contents/-", json!({"role": "user", "parts": [{"text": "more"}]}));
    assert_eq!(said_by(API, &earlier, true), None);
}

#[test]
fn parts_have_one_kind_of_data() {
    refuses(API, &with(&right(), "/contents/0/parts/0/text", json!(null)), "must have one initialized field");
    refuses(API, &with(&right(), "/contents/0/parts", json!([])), "contents.parts must not be empty");
    refuses(API, &with(&right(), "/contents", json!([])), "contents is not specified");
}

#[test]
fn forced_functions_are_declared_and_the_mode_says_so() {
    let config = "/toolConfig/functionCallingConfig";
    refuses(
        API,
        &with(&right(), &format!("{config}/mode"), json!("AUTO")),
        "should be set only when mode is ANY",
    );
    refuses(
        API,
        &with(&right(), &format!("{config}/allowedFunctionNames"), json!(["x"])),
        "declared functions",
    );
}
