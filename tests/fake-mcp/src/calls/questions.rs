//! Tools that ask the client one question and return the answer.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, ClientCapabilities, InputRequests};
use serde_json::{Value, json};

use super::{FakeToolCall, notifications, text_result};
use crate::client_input::{self, InputOutcome};
use crate::protocol_version::is_modern;

pub(super) async fn call(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    match call.request.name.as_ref() {
        "test_sampling" => {
            let answer = match ask_one(call, sampling(call.text("prompt")?, 100)).await? {
                Ok(answer) => answer,
                Err(wanted) => return Ok(wanted),
            };
            let text = answer.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
            Ok(text_result(format!("LLM response: {text}")).into())
        }
        "test_missing_capability" => {
            ask_and_report(call, sampling("Is somebody there?", 10), "LLM response").await
        }
        "test_elicitation" => {
            let question = elicitation(
                call.text("message")?,
                json!({
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                }),
                &["username", "email"],
            );
            ask_and_report(call, question, "User response").await
        }
        "test_pushed_elicitation" => {
            let question = elicitation("Who is there?", json!({"name": {"type": "string"}}), &["name"]);
            let question = client_input::question(question);
            if !client_input::can_be_asked(&call.cx, &question) {
                let needed = ClientCapabilities::builder().enable_elicitation().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            if is_modern(&call.cx) {
                return Err(ErrorData::internal_error("no back-channel for elicitation/create", None));
            }
            let answer = client_input::ask_client(&call.cx, question).await?;
            Ok(text_result(format!("Pushed: {answer}")).into())
        }
        "test_streaming_elicitation" => {
            notifications::send_progress(call, 10.0, "asking").await;
            let question = elicitation("Go on?", json!({"ok": {"type": "boolean"}}), &["ok"]);
            ask_and_report(call, question, "Elicitation completed").await
        }
        "test_elicitation_sep1034_defaults" => {
            let question = elicitation(
                "Please look over this",
                json!({
                    "name": {"type": "string", "description": "Name", "default": "John Doe"},
                    "age": {"type": "integer", "description": "Age", "default": 30},
                    "score": {"type": "number", "description": "Score", "default": 95.5},
                    "status": {
                        "type": "string",
                        "description": "Status",
                        "enum": ["active", "inactive", "pending"],
                        "default": "active"
                    },
                    "verified": {"type": "boolean", "description": "Verified", "default": true}
                }),
                &[],
            );
            ask_and_report(call, question, "Elicitation completed").await
        }
        "test_elicitation_sep1330_enums" => ask_and_report(call, choices(), "Elicitation completed").await,
        "test_elicitation_url" => {
            let question = json!({
                "method": "elicitation/create",
                "params": {
                    "mode": "url",
                    "message": "Please open this",
                    "url": "https://example.com/open",
                    "elicitationId": "open-1"
                }
            });
            ask_and_report(call, question, "Elicitation completed").await
        }
        "test_list_roots" => {
            let question = json!({"method": "roots/list"});
            let answer = match ask_one(call, question).await? {
                Ok(answer) => answer,
                Err(wanted) => return Ok(wanted),
            };
            Ok(text_result(format!("Roots: {}", answer.get("roots").unwrap_or(&Value::Null))).into())
        }
        name => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
    }
}

fn choices() -> Value {
    elicitation(
        "Please choose",
        json!({
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {
                "type": "string",
                "oneOf": [
                    {"const": "value1", "title": "First Option"},
                    {"const": "value2", "title": "Second Option"},
                    {"const": "value3", "title": "Third Option"}
                ]
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
            },
            "titledMulti": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"const": "value1", "title": "First Choice"},
                        {"const": "value2", "title": "Second Choice"},
                        {"const": "value3", "title": "Third Choice"}
                    ]
                }
            }
        }),
        &[],
    )
}

/// Creates a question to the client's model.
pub(super) fn sampling(prompt: &str, most: u32) -> Value {
    json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
            "maxTokens": most
        }
    })
}

/// Creates a question to the person.
pub(super) fn elicitation(message: &str, properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if let (Some(schema), false) = (schema.as_object_mut(), required.is_empty()) {
        schema.insert("required".to_owned(), json!(required));
    }
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

async fn ask_and_report(
    call: &FakeToolCall<'_>,
    question: Value,
    title: &str,
) -> Result<CallToolResponse, ErrorData> {
    Ok(match ask_one(call, question).await? {
        Ok(answer) => {
            let action = answer.get("action").and_then(Value::as_str).unwrap_or("none");
            let content = answer.get("content").unwrap_or(&Value::Null);
            text_result(format!("{title}: action={action}, content={content}")).into()
        }
        Err(wanted) => wanted,
    })
}

/// Returns the answer to one question, or the result that requests it.
async fn ask_one(
    call: &FakeToolCall<'_>,
    question: Value,
) -> Result<Result<Value, CallToolResponse>, ErrorData> {
    let questions: InputRequests = client_input::questions([("question", question)]);
    Ok(
        match client_input::request_input(&call.cx, call.request.input_responses.as_ref(), questions).await? {
            InputOutcome::Answers(mut answers) => Ok(answers.remove("question").unwrap_or_default()),
            InputOutcome::InputRequired(questions) => {
                Err(client_input::input_required(questions, None).into())
            }
        },
    )
}
