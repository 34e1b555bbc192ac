//! Long-running tools: tasks for clients that support them, and ordinary calls for others if possible.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult, InputRequest, InputResponses,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use serde_json::{Value, json};

use super::input::{answer_text, name_question};
use super::questions::elicitation;
use super::{FakeToolCall, error_result, text_result};
use crate::client_input::{self, InputOutcome};

/// Poll interval for clients.
const LOOK_EVERY_MS: u64 = 100;
const FAILS_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn call(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    let name = call.request.name.to_string();
    let needs_task = matches!(name.as_str(), "failing_job" | "test_task_only" | "test_tool_with_task");
    if needs_task && !call.knows_tasks() {
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    match name.as_str() {
        "slow_compute" => {
            let takes =
                Duration::try_from_secs_f64(call.argument("seconds").and_then(Value::as_f64).unwrap_or(0.0))
                    .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
            let label = call.argument("label").and_then(Value::as_str).unwrap_or("it").to_owned();
            let done = move || text_result(format!("Computed {label}."));
            if !call.knows_tasks() || takes.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(takes) => {}
                    () = call.cx.ct.cancelled() => call.state.count_cancelled(),
                }
                return Ok(done().into());
            }
            Ok(start_task(call, move |cx| {
                Box::pin(async move {
                    tokio::select! {
                        () = tokio::time::sleep(takes) => Ok(done()),
                        () = cx.cancelled() => Err(TaskExit::Cancelled),
                    }
                })
            }))
        }
        "failing_job" => Ok(start_task(call, |_| {
            Box::pin(async {
                tokio::time::sleep(FAILS_AFTER).await;
                Ok(error_result("The job failed, as it was meant to."))
            })
        })),
        "protocol_error_job" => {
            let error = || ErrorData::internal_error("The job broke, as it was meant to.", None);
            if !call.knows_tasks() {
                return Err(error());
            }
            Ok(start_task(call, move |_| Box::pin(async move { Err(TaskExit::Error(error())) })))
        }
        "confirm_delete" => {
            let file = call.argument("filename").and_then(Value::as_str).unwrap_or("it");
            let question = elicitation(
                &format!("Delete {file}?"),
                json!({"confirm": {"type": "boolean"}}),
                &["confirm"],
            );
            ask_all(call, vec![("confirm", question)]).await
        }
        "multi_input" => ask_all(call, two_questions()).await,
        "test_task_only" => task_only(call).await,
        _ => {
            let questions = client_input::questions([("user_name", name_question("What is your name?"))]);
            let answers =
                match client_input::request_input(&call.cx, call.request.input_responses.as_ref(), questions)
                    .await?
                {
                    InputOutcome::Answers(answers) => answers,
                    InputOutcome::InputRequired(questions) => {
                        return Ok(client_input::input_required(questions, None).into());
                    }
                };
            let name = answer_text(&answers, "user_name", "/content/name").to_owned();
            Ok(start_task(call, move |_| {
                Box::pin(async move { Ok(text_result(format!("Done for {name}."))) })
            }))
        }
    }
}

fn two_questions() -> Vec<(&'static str, Value)> {
    let sure = elicitation("Are you sure?", json!({"confirm": {"type": "boolean"}}), &["confirm"]);
    vec![("name", name_question("What is your name?")), ("sure", sure)]
}

async fn task_only(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    match call.text("behavior")? {
        "succeed" => Ok(start_task(call, |_| Box::pin(async { Ok(text_result("Done.")) }))),
        "fail" => {
            let error = ErrorData::new(rmcp::model::ErrorCode(-32050), "It broke", Some(json!({"b": 1})));
            Ok(start_task(call, move |_| Box::pin(async move { Err(TaskExit::Error(error)) })))
        }
        "ask" => ask_all(call, two_questions()).await,
        _ => {
            let cancelled = call.state.cancel_counter();
            Ok(start_task(call, move |cx| {
                Box::pin(async move {
                    cx.cancelled().await;
                    cancelled.fetch_add(1, Ordering::SeqCst);
                    Err(TaskExit::Cancelled)
                })
            }))
        }
    }
}

fn start_task(call: &FakeToolCall<'_>, run: impl FnOnce(TaskContext) -> TaskFuture) -> CallToolResponse {
    let options = TaskOptions::new().with_poll_interval_ms(LOOK_EVERY_MS);
    CreateTaskResult::new(call.state.tasks.spawn(options, run)).into()
}

/// Asks all questions at once, within a task if there is one.
async fn ask_all(
    call: &FakeToolCall<'_>,
    questions: Vec<(&'static str, Value)>,
) -> Result<CallToolResponse, ErrorData> {
    let questions = questions.into_iter().flat_map(|question| client_input::questions([question])).collect();
    if !call.knows_tasks() {
        return Ok(
            match client_input::request_input(&call.cx, call.request.input_responses.as_ref(), questions)
                .await?
            {
                InputOutcome::Answers(answers) => summary(&answers).into(),
                InputOutcome::InputRequired(questions) => {
                    client_input::input_required(questions, None).into()
                }
            },
        );
    }
    Ok(start_task(call, move |cx| {
        Box::pin(async move {
            cx.set_status_message(format!("Asking {} questions", questions.len()));
            let ask = |(key, question): (String, InputRequest)| {
                let cx = cx.clone();
                async move { cx.request_input(key.clone(), question).await.map(|answer| (key, answer)) }
            };
            let answers = futures_util::future::try_join_all(questions.into_iter().map(ask)).await?;
            Ok(summary(&answers.into_iter().collect()))
        })
    }))
}

fn summary(answers: &InputResponses) -> CallToolResult {
    text_result(format!("Answered: {}", json!(answers)))
}
