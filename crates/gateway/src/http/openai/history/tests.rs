use serde_json::{Value, json};

use super::*;

fn reading(messages: Value) -> Result<(Vec<String>, Vec<ModelMessage>), OpenAiApiError> {
    let said: Vec<ChatCompletionMessageParam> = serde_json::from_value(messages).unwrap();
    read_messages(said)
}

#[track_caller]
fn messages(messages: Value) -> Vec<ModelMessage> {
    reading(messages).unwrap_or_else(|refused| panic!("{refused:?}")).1
}

#[track_caller]
fn refused(messages: Value) -> (String, String, String) {
    let error = reading(messages).expect_err("refused");
    (error.code, error.param.unwrap_or_default(), error.message)
}

fn called(id: &str, name: &str, arguments: Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn system_messages_are_separated_at_any_position() {
    let (system, messages) = reading(json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]},
        {"role": "system", "content": ""},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "who are you?", "name": "ada"},
    ]))
    .unwrap();
    assert_eq!(system, ["Be kind.", "Be\nbrief."]);
    let expected =
        [ModelMessage::user("hi"), ModelMessage::assistant("hello"), ModelMessage::user("who are you?")];
    assert_eq!(messages, expected);
}

#[test]
fn calls_and_results_are_matched_by_the_callers_ids() {
    let ours = "01890a5d-ac96-774b-bcce-b302099a8057";
    let read = messages(json!([
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": null, "tool_calls": [
            called("call_1", "weather", json!("{\"city\":\"Oslo\"}")),
            called(ours, "time", json!({"zone": "UTC"})),
        ]},
        {"role": "tool", "tool_call_id": ours, "content": "12:00"},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "rain"}]},
        {"role": "assistant", "content": "It rains."},
    ]));
    let roles: Vec<_> = read.iter().map(|message| message.role).collect();
    use MessageRole::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Assistant], "all results of one answer stand together");
    let calls: Vec<_> = read[1].tool_calls().collect();
    assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("weather", "{\"city\":\"Oslo\"}"));
    assert_eq!((calls[1].name.as_str(), calls[1].arguments.as_str()), ("time", "{\"zone\":\"UTC\"}"));
    assert_eq!(calls[1].id.to_string(), ours, "an id of ours comes back as it was");
    let result = |at: usize| match &read[2].parts[at] {
        MessagePart::ToolResult(result) => (result.call_id, result.name.clone(), (*result.outcome).clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(result(0), (calls[1].id, "time".to_owned(), Outcome::Success(ToolOutput::text("12:00"))));
    assert_eq!(result(1), (calls[0].id, "weather".to_owned(), Outcome::Success(ToolOutput::text("rain"))));
}

#[test]
fn images_are_read_from_the_request_and_never_fetched() {
    let picture = |url: &str| {
        json!([{"role": "user", "content": [
        {"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]}])
    };
    let read = messages(picture("data:image/png;base64,iVBORw0="));
    let expected = MessagePart::Image { data: "iVBORw0=".to_owned(), mime_type: "image/png".to_owned() };
    assert_eq!(read[0].parts, [MessagePart::text("what is this?"), expected]);
    let place = "messages[0].content[1].image_url.url";
    for (url, code) in [
        ("https://example.org/cat.png", "unsupported_parameter"),
        ("http://169.254.169.254/latest/meta-data", "unsupported_parameter"),
        ("data:image/png,plain", "invalid_value"),
        ("data:image/bmp;base64,AA==", "invalid_value"),
        ("data:image/png;base64,not base64", "invalid_value"),
    ] {
        let (found, param, _) = refused(picture(url));
        assert_eq!((found.as_str(), param.as_str()), (code, place), "{url}");
    }
}

#[test]
fn refusals_of_a_model_are_read_as_text() {
    let read = messages(json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": null, "refusal": "Never."},
        {"role": "assistant", "content": ""},
    ]));
    let expected =
        [ModelMessage::user("hi"), ModelMessage::assistant("No."), ModelMessage::assistant("Never.")];
    assert_eq!(read, expected, "and an answer of nothing is none");
}

#[test]
fn invalid_messages_are_refused_with_their_place() {
    let hi = json!({"role": "user", "content": "hi"});
    let call = json!({"role": "assistant", "tool_calls": [called("a", "x", json!("{}"))]});
    for (messages, code, param) in [
        (json!([{"role": "narrator", "content": "x"}]), "invalid_value", "messages[0].role"),
        (json!([{"role": "function", "name": "x", "content": "y"}]), "invalid_value", "messages[0].role"),
        (json!([{"role": "user", "content": ""}]), "invalid_value", "messages[0].content"),
        (json!([{"role": "user", "content": []}]), "invalid_value", "messages[0].content"),
        (json!([{"role": "user", "content": 5}]), "invalid_value", "messages[0].content"),
        (
            json!([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]),
            "unsupported_parameter",
            "messages[0].content[0]",
        ),
        (json!([{"role": "user", "content": [{"type": "text"}]}]), "invalid_value", "messages[0].content[0]"),
        (
            json!([{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]),
            "unsupported_parameter",
            "messages[0].content[0]",
        ),
        (json!([hi, {"role": "tool", "content": "x"}]), "invalid_value", "messages[1].tool_call_id"),
        (
            json!([hi, {"role": "tool", "tool_call_id": "a", "content": "x"}]),
            "invalid_value",
            "messages[1].tool_call_id",
        ),
        (
            json!([hi, call, {"role": "tool", "tool_call_id": "b", "content": "x"}]),
            "invalid_value",
            "messages[2].tool_call_id",
        ),
        (
            json!([hi, {"role": "assistant", "tool_calls": [{"id": "a", "type": "custom", "custom": {}}]}]),
            "unsupported_parameter",
            "messages[1].tool_calls[0]",
        ),
        (
            json!([hi, {"role": "assistant", "tool_calls":
                [called("a", "x", json!("{}")), called("a", "y", json!("{}"))]}]),
            "invalid_value",
            "messages[1].tool_calls[1].id",
        ),
        (
            json!([hi, {"role": "assistant", "function_call": {"name": "x", "arguments": "{}"}}]),
            "unsupported_parameter",
            "messages[1].function_call",
        ),
        (json!([{"role": "system", "content": "only this"}]), "invalid_value", "messages"),
    ] {
        let (found, place, _) = refused(messages.clone());
        assert_eq!((found.as_str(), place.as_str()), (code, param), "{messages}");
    }
}
