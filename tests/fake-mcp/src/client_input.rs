//! Asks the client: with requests of the server before version 2026-07-28, and with a result that requests
//! input since then. Several questions are asked at once.

use futures_util::future::try_join_all;
use rmcp::model::{
    ClientCapabilities, CreateMessageResult, ElicitRequestParams, ElicitResult, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ListRootsResult, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol_version::is_modern;

/// Result of asking.
#[derive(Debug)]
pub(crate) enum InputOutcome {
    /// The answers, one for each question.
    Answers(InputResponses),
    /// The questions that the client must answer in a retry.
    InputRequired(InputRequests),
}

/// Creates questions from JSON in the form of MCP requests.
pub(crate) fn questions<const N: usize>(questions: [(&str, Value); N]) -> InputRequests {
    questions.into_iter().map(|(key, asked)| (key.to_owned(), question(asked))).collect()
}

/// Creates a question from JSON in the form of an MCP request.
#[allow(clippy::expect_used, reason = "written in this crate")]
pub(crate) fn question(question: Value) -> InputRequest {
    serde_json::from_value(question).expect("a question in the form of MCP")
}

/// Gets answers to these questions. Answers in the request count if they have the right form.
///
/// # Errors
/// If the client does not support one of the questions, or answered with an error.
pub(crate) async fn request_input(
    cx: &RequestContext<RoleServer>,
    brought: Option<&InputResponses>,
    questions: InputRequests,
) -> Result<InputOutcome, ErrorData> {
    let mut answers = InputResponses::new();
    let mut open = InputRequests::new();
    for (key, question) in questions {
        match brought
            .and_then(|brought| brought.get(&key))
            .filter(|answer| is_valid_answer(&question, answer))
        {
            Some(answer) => drop(answers.insert(key, answer.clone())),
            None => drop(open.insert(key, question)),
        }
    }
    if let Some(lacking) = missing_capabilities(cx, &open) {
        return Err(ErrorData::missing_required_client_capability(lacking));
    }
    if is_modern(cx) && !open.is_empty() {
        return Ok(InputOutcome::InputRequired(open));
    }
    let ask = |(key, question)| async move { ask_client(cx, question).await.map(|answer| (key, answer)) };
    answers.extend(try_join_all(open.into_iter().map(ask)).await?);
    Ok(InputOutcome::Answers(answers))
}

/// Asks with a request of the server, which exists before 2026-07-28 only.
///
/// # Errors
/// The client's error.
pub(crate) async fn ask_client(
    cx: &RequestContext<RoleServer>,
    question: InputRequest,
) -> Result<Value, ErrorData> {
    let request = match question {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        other => return Err(ErrorData::internal_error(format!("cannot ask {other:?}"), None)),
    };
    let answer = cx.peer.send_request(request).await.map_err(|error| match error {
        rmcp::ServiceError::McpError(error) => error,
        error => ErrorData::internal_error(error.to_string(), None),
    })?;
    Ok(serde_json::to_value(answer).unwrap_or_default())
}

/// Creates the result that requests these answers.
pub(crate) fn input_required(questions: InputRequests, state: Option<String>) -> InputRequiredResult {
    InputRequiredResult::new(Some(questions), state)
}

/// Returns true if the client supports this question.
pub(crate) fn can_be_asked(cx: &RequestContext<RoleServer>, question: &InputRequest) -> bool {
    let declared = cx.client_capabilities().unwrap_or_default();
    match question {
        InputRequest::CreateMessage(_) => declared.sampling.is_some(),
        InputRequest::ListRoots(_) => declared.roots.is_some(),
        InputRequest::Elicitation(request) => {
            declared.elicitation.is_some_and(|elicitation| match &request.params {
                ElicitRequestParams::UrlElicitationParams { .. } => elicitation.url.is_some(),
                _ => elicitation.form.is_some() || elicitation.url.is_none(),
            })
        }
        _ => false,
    }
}

/// Returns the capabilities that the client would need for these questions.
fn missing_capabilities(
    cx: &RequestContext<RoleServer>,
    questions: &InputRequests,
) -> Option<ClientCapabilities> {
    let mut lacking = ClientCapabilities::default();
    for question in questions.values().filter(|question| !can_be_asked(cx, question)) {
        match question {
            InputRequest::CreateMessage(_) => lacking.sampling = Some(Default::default()),
            InputRequest::ListRoots(_) => lacking.roots = Some(Default::default()),
            _ => lacking.elicitation = Some(Default::default()),
        }
    }
    (lacking != ClientCapabilities::default()).then_some(lacking)
}

fn is_valid_answer(question: &InputRequest, answer: &Value) -> bool {
    fn is<T: DeserializeOwned>(answer: &Value) -> bool {
        serde_json::from_value::<T>(answer.clone()).is_ok()
    }
    match question {
        InputRequest::CreateMessage(_) => is::<CreateMessageResult>(answer),
        InputRequest::ListRoots(_) => is::<ListRootsResult>(answer),
        _ => is::<ElicitResult>(answer),
    }
}
