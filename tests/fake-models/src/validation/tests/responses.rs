use super::*;
use crate::signatures;

const API: ApiKind = ApiKind::OpenaiResponses;

fn right() -> Value {
    json!({
        "model": "m", "stream": true, "store": false, "instructions": "Be brief.",
        "include": ["reasoning.encrypted_content"],
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Look:"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
            ]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": signatures::hide_thinking("rs_1")},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "lamp", "arguments": "{}"},
            {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "lamp", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "ok"},
            {"type": "function_call_output", "call_id": "b", "output": [
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
            ]},
        ],
        "tools": [{"type": "function", "name": "lamp", "description": "", "parameters": lamp_schema(), "strict": false}],
    })
}

#[test]
fn a_right_request_is_taken() {
    assert_accepted(API, &right());
    assert_accepted(API, &json!({"model": "m", "input": "hi"}));
}

#[test]
fn fields_that_it_does_not_know() {
    assert_rejected(API, &with_value(&right(), "/messages", json!([])), "Unknown parameter: 'messages'");
    assert_rejected(
        API,
        &with_value(&right(), "/input/0/name", json!("x")),
        "Unknown parameter: 'input[0].name'",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/tools/0/function", json!({})),
        "Unknown parameter: 'tools[0].function'",
    );
    assert_rejected(API, &with_value(&right(), "/input/4/is_error", json!(true)), "input[4].is_error");
}

#[test]
fn outputs_answer_their_calls() {
    assert_rejected(
        API,
        &with_value(&right(), "/input/4", json!(null)),
        "No tool output found for function call a.",
    );
    assert_rejected(
        API,
        &with_value(&right(), "/input/2", json!(null)),
        "No tool call found for function call output",
    );
}

#[test]
fn reasoning_stands_before_what_came_of_it() {
    let without = with_value(&right(), "/input/1", json!(null));
    assert_accepted(API, &without);
    let issued = HashMap::from([("fc_1".to_owned(), "rs_1".to_owned())]);
    let said = check(API, &headers(), &without, &model(false), &issued).unwrap_err().message;
    assert!(said.contains("Item 'fc_1' of type 'function_call' was provided without its required"), "{said}");
    assert!(check(API, &headers(), &right(), &model(false), &issued).is_ok());
    let last = with_value(&right(), "/input/-", right()["input"][1].clone());
    assert_rejected(API, &last, "without its required following item");
    let sealed = "/input/1/encrypted_content";
    assert_rejected(API, &with_value(&right(), sealed, json!("made up")), "could not be verified");
    assert_rejected(
        API,
        &with_value(&right(), sealed, json!(null)),
        "Items are not persisted when `store` is set to false",
    );
}

#[test]
fn a_schema_is_strict_unless_it_says_otherwise() {
    assert_rejected(
        API,
        &with_value(&right(), "/tools/0/strict", json!(null)),
        "'additionalProperties' is required",
    );
    assert_rejected(API, &with_value(&right(), "/tools/0/name", json!("a b")), "does not match pattern");
}

#[test]
fn contents_have_the_types_of_their_role() {
    let text = |kind: &str| json!([{"type": kind, "text": "x"}]);
    assert_rejected(API, &with_value(&right(), "/input/0/content", text("output_text")), "'input_text'");
    assert_rejected(API, &with_value(&right(), "/input/0/content", text("text")), "Invalid value: 'text'");
    let said = json!({"role": "assistant", "content": text("input_text")});
    assert_rejected(API, &with_value(&right(), "/input/0", said), "'output_text'");
}
