//! Tools that ask for input in several ways: with and without a state, several things at once, one after the other.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputRequests, InputResponses};
use serde_json::{Value, json};

use super::asking::{elicitation, sampling};
use super::{Call, said};
use crate::ask::{self, Asked};
use crate::states::Progress;

pub(super) async fn call(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let roots = || json!({"method": "roots/list"});
    let sure = || elicitation("Please confirm", json!({"ok": {"type": "boolean"}}), &["ok"]);
    let name = || named("What is your name?");
    match call.request.name.trim_start_matches("test_input_required_result_") {
        "elicitation" => {
            once(call, ask::questions([("user_name", name())]), |answers| {
                format!("Hello, {}!", text(answers, "user_name", "/content/name"))
            })
            .await
        }
        "sampling" => {
            let question = sampling("What is the capital of France?", 100);
            once(call, ask::questions([("capital_question", question)]), |answers| {
                text(answers, "capital_question", "/content/text").to_owned()
            })
            .await
        }
        "list_roots" => {
            once(call, ask::questions([("client_roots", roots())]), |answers| {
                format!("Roots: {}", text(answers, "client_roots", "/roots/0/uri"))
            })
            .await
        }
        "request_state" | "tampered_state" => {
            rounds(call, vec![ask::questions([("confirm", sure())])], |_| "state-ok".to_owned()).await
        }
        "multiple_inputs" => {
            let questions = ask::questions([
                ("user_name", name()),
                ("greeting", sampling("Generate a greeting", 50)),
                ("client_roots", roots()),
            ]);
            rounds(call, vec![questions], |answers| format!("All was answered: {}", json!(answers))).await
        }
        "multi_round" => {
            let color = elicitation(
                "Step 2: What is your favorite color?",
                json!({"color": {"type": "string"}}),
                &["color"],
            );
            let questions = vec![
                ask::questions([("step1", named("Step 1: What is your name?"))]),
                ask::questions([("step2", color)]),
            ];
            rounds(call, questions, |answers| {
                let name = text(answers, "step1", "/content/name");
                format!("{name} likes {}", text(answers, "step2", "/content/color"))
            })
            .await
        }
        "capabilities" => {
            let mut questions = ask::questions([
                ("user_name", name()),
                ("greeting", sampling("Generate a greeting", 50)),
                ("client_roots", roots()),
            ]);
            questions.retain(|_, question| ask::can_be_asked(&call.cx, question));
            once(call, questions, |answers| format!("Answered: {}", json!(answers))).await
        }
        _ => Err(ErrorData::invalid_params(format!("there is no tool {}", call.request.name), None)),
    }
}

pub(super) fn named(message: &str) -> Value {
    elicitation(message, json!({"name": {"type": "string"}}), &["name"])
}

/// Something in an answer.
pub(super) fn text<'a>(answers: &'a InputResponses, key: &str, pointer: &str) -> &'a str {
    answers.get(key).and_then(|answer| answer.pointer(pointer)).and_then(Value::as_str).unwrap_or_default()
}

/// Asks without a state: whoever brings the answers along is never asked.
async fn once(
    call: &Call<'_>,
    questions: InputRequests,
    say: impl FnOnce(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    Ok(match ask::ask(&call.cx, call.request.input_responses.as_ref(), questions).await? {
        Asked::Answers(answers) => said(say(&answers)).into(),
        Asked::Wanted(questions) => ask::wanted(questions, None).into(),
    })
}

/// Asks one round after the other. Where the client has to come back, a state says what it answered before.
async fn rounds(
    call: &Call<'_>,
    rounds: Vec<InputRequests>,
    say: impl FnOnce(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    let states = &call.handler.shared.states;
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
        match ask::ask(&call.cx, brought.take(), questions).await? {
            Asked::Answers(more) => answers.extend(more),
            Asked::Wanted(questions) => {
                let state = states.keep(name, Progress { answers });
                return Ok(ask::wanted(questions, Some(state)).into());
            }
        }
    }
    Ok(said(say(&answers)).into())
}
