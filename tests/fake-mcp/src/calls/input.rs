//! Tools that ask for input in several ways: with and without a state, several questions at once, and one
//! after the other.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests, InputResponses};
use serde_json::{Value, json};

use super::questions::{elicitation, sampling};
use super::{FakeToolCall, text_result};
use crate::client_input::{self, InputOutcome};
use crate::request_states::AnsweredSoFar;

pub(super) async fn call(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    let roots = || json!({"method": "roots/list"});
    let sure = || elicitation("Please confirm", json!({"ok": {"type": "boolean"}}), &["ok"]);
    let name = || name_question("What is your name?");
    match call.request.name.trim_start_matches("test_input_required_result_") {
        "elicitation" => {
            ask_without_state(call, client_input::questions([("user_name", name())]), |answers| {
                format!("Hello, {}!", answer_text(answers, "user_name", "/content/name"))
            })
            .await
        }
        "sampling" => {
            let question = sampling("What is the capital of France?", 100);
            ask_without_state(call, client_input::questions([("capital_question", question)]), |answers| {
                answer_text(answers, "capital_question", "/content/text").to_owned()
            })
            .await
        }
        "list_roots" => {
            ask_without_state(call, client_input::questions([("client_roots", roots())]), |answers| {
                format!("Roots: {}", answer_text(answers, "client_roots", "/roots/0/uri"))
            })
            .await
        }
        "request_state" | "tampered_state" => {
            ask_in_rounds(call, vec![client_input::questions([("confirm", sure())])], |_| {
                "state-ok".to_owned()
            })
            .await
        }
        "multiple_inputs" => {
            let questions = client_input::questions([
                ("user_name", name()),
                ("greeting", sampling("Generate a greeting", 50)),
                ("client_roots", roots()),
            ]);
            ask_in_rounds(call, vec![questions], |answers| format!("All was answered: {}", json!(answers)))
                .await
        }
        "multi_round" => {
            let color = elicitation(
                "Step 2: What is your favorite color?",
                json!({"color": {"type": "string"}}),
                &["color"],
            );
            let questions = vec![
                client_input::questions([("step1", name_question("Step 1: What is your name?"))]),
                client_input::questions([("step2", color)]),
            ];
            ask_in_rounds(call, questions, |answers| {
                let name = answer_text(answers, "step1", "/content/name");
                format!("{name} likes {}", answer_text(answers, "step2", "/content/color"))
            })
            .await
        }
        "capabilities" => {
            let mut questions = client_input::questions([
                ("user_name", name()),
                ("greeting", sampling("Generate a greeting", 50)),
                ("client_roots", roots()),
            ]);
            questions.retain(|_, question| client_input::can_be_asked(&call.cx, question));
            ask_without_state(call, questions, |answers| format!("Answered: {}", json!(answers))).await
        }
        _ => Err(ErrorData::invalid_params(format!("there is no tool {}", call.request.name), None)),
    }
}

pub(super) fn name_question(message: &str) -> Value {
    elicitation(message, json!({"name": {"type": "string"}}), &["name"])
}

/// Returns a text in an answer.
pub(super) fn answer_text<'a>(answers: &'a InputResponses, key: &str, pointer: &str) -> &'a str {
    answers.get(key).and_then(|answer| answer.pointer(pointer)).and_then(Value::as_str).unwrap_or_default()
}

/// Asks without a state: a client that sends the answers is never asked.
async fn ask_without_state(
    call: &FakeToolCall<'_>,
    questions: InputRequests,
    say: impl FnOnce(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    Ok(
        match client_input::request_input(&call.cx, call.request.input_responses.as_ref(), questions).await? {
            InputOutcome::Answers(answers) => text_result(say(&answers)).into(),
            InputOutcome::InputRequired(questions) => client_input::input_required(questions, None).into(),
        },
    )
}

/// Asks one question after the other. If the client must retry, a state has the earlier answers.
async fn ask_in_rounds(
    call: &FakeToolCall<'_>,
    rounds: Vec<InputRequests>,
    say: impl FnOnce(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    let states = &call.state.states;
    let name = call.request.name.as_ref();
    let mut brought = None;
    let mut answers = match &call.request.request_state {
        Some(state) => {
            brought = call.request.input_responses.as_ref();
            states.take(name, state)?.answers
        }
        None => InputResponses::new(),
    };
    for mut questions in rounds {
        questions.retain(|key, _| !answers.contains_key(key));
        if questions.is_empty() {
            continue;
        }
        match client_input::request_input(&call.cx, brought.take(), questions).await? {
            InputOutcome::Answers(more) => answers.extend(more),
            InputOutcome::InputRequired(questions) => {
                let state = states.store(name, AnsweredSoFar { answers });
                return Ok(client_input::input_required(questions, Some(state)).into());
            }
        }
    }
    Ok(text_result(say(&answers)).into())
}
