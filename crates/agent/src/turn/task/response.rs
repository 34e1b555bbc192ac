//! Adds a model's response to the conversation and decides what follows: tool calls, another request, or the end.

use std::ops::ControlFlow;

use toolway_models::{
    FinishReason, MessagePart, MessageRole, ModelError, ModelErrorKind, ModelMessage, ModelRequest, ToolCall,
};

use super::TurnTask;
use super::flow::{TurnExit, TurnFlow, fail_turn};
use super::progress::TurnProgress;
use crate::event::{NoticeCode, TurnFailure, TurnFailureCode};
use crate::models::ModelRef;
use crate::turn::model_response::{MAX_ANSWER, ModelResponse, ModelResponseEnd};

/// Maximum number of consecutive pauses by a model's provider.
const MAX_PAUSES: u32 = 16;
/// Fraction of the estimated size that is sent after the provider refused a request as too long, in tenths.
const SHRUNK_TENTHS: u64 = 6;
/// The prompt for a model whose call its provider could not read. It is sent once.
const MALFORMED_CALL_PROMPT: &str = "[Your last answer held a tool call that could not be read, so nothing was called. Make the \
     call again, with arguments that are one valid JSON object, or answer in words.]";

/// The tool calls of a response.
pub(super) struct PendingCalls {
    pub(super) calls: Vec<ToolCall>,
    /// True if the response has text besides the calls.
    pub(super) has_text: bool,
}

/// The step after a response that does not end the turn.
pub(super) enum AfterResponse {
    /// Everything is stored. The model is asked again.
    AskAgain,
    MakeCalls(PendingCalls),
}

impl TurnTask {
    /// Adds a response to the conversation and decides what follows from it.
    pub(super) async fn process_response(
        &mut self,
        progress: &mut TurnProgress,
        response: ModelResponse,
        model: &ModelRef,
        request: &ModelRequest,
    ) -> TurnFlow<AfterResponse> {
        let ModelResponse { collected, end: mut ended, .. } = response;
        let is_whole = matches!(ended, ModelResponseEnd::Complete);
        let calls: Vec<ToolCall> = collected.parts.iter().filter_map(as_call).cloned().collect();
        let text: bool =
            collected.parts.iter().any(|part| part.as_text().is_some_and(|it| !it.trim().is_empty()));
        progress.finish = collected.finish.clone();
        if let ModelResponseEnd::Failed(error) = &ended
            && error.kind == ModelErrorKind::ContextTooLong
            && collected.parts.is_empty()
            && progress.context.shrunk_to.is_none()
        {
            progress.context.shrunk_to = Some(progress.context.estimated / 10 * SHRUNK_TENTHS);
            return self.ask_again(progress).await;
        }
        match &mut ended {
            ModelResponseEnd::Failed(error) if collected.parts.is_empty() => {
                if self.deps.refused_parts.suspect(&mut progress.replacements, error, &request.messages) {
                    return self.ask_again(progress).await;
                }
                // The first refusal tells more than one of a request without the parts.
                if error.kind == ModelErrorKind::InvalidRequest
                    && let Some(first) = progress.replacements.take_first_error()
                {
                    *error = first;
                }
            }
            ModelResponseEnd::Complete => {
                self.deps.refused_parts.remember(&mut progress.replacements, &model.name());
            }
            _ => {}
        }
        if !collected.parts.is_empty() {
            self.append_message(
                progress,
                ModelMessage { role: MessageRole::Assistant, parts: collected.parts },
                !is_whole,
            );
        }
        let over = match ended {
            ModelResponseEnd::Complete => None,
            ModelResponseEnd::Failed(error) => Some(TurnExit::Failed(failure_from_model_error(&error, text))),
            ModelResponseEnd::Interrupted => Some(TurnExit::Failed(interrupted_failure(text))),
            ModelResponseEnd::TooLong => Some(TurnExit::Failed(TurnFailure {
                code: TurnFailureCode::LimitReached,
                message: format!(
                    "the response is longer than {} MiB; the part so far is stored",
                    MAX_ANSWER >> 20
                ),
                hint: Some("ask for less at a time".to_owned()),
            })),
            ModelResponseEnd::Stopped(reason) => Some(TurnExit::Stopped(reason)),
            ModelResponseEnd::TimedOut => Some(TurnExit::Failed(progress.meter.time_limit_failure())),
        };
        if let Some(over) = over {
            self.skip_calls(progress, &calls, "its response was interrupted");
            return ControlFlow::Break(over);
        }
        match collected.finish {
            Some(FinishReason::Refused) => {
                self.skip_calls(progress, &calls, "the model's provider stopped the response");
                return ControlFlow::Break(self.end_refused_response(text).await);
            }
            _ if !calls.is_empty() => {
                let calls = PendingCalls { calls, has_text: text };
                return ControlFlow::Continue(AfterResponse::MakeCalls(calls));
            }
            Some(FinishReason::Paused) => {
                progress.pauses += 1;
                if progress.pauses < MAX_PAUSES {
                    return self.ask_again(progress).await;
                }
                let message = format!("the model's provider paused the response {MAX_PAUSES} times in a row");
                return fail_turn(TurnFailureCode::Provider, message, None);
            }
            Some(FinishReason::MalformedToolCall)
                if !std::mem::replace(&mut progress.has_sent_malformed_prompt, true) =>
            {
                progress.one_time_prompt = Some(ModelMessage::user(MALFORMED_CALL_PROMPT));
                return self.ask_again(progress).await;
            }
            Some(FinishReason::MalformedToolCall) => {
                let message = "the model called a tool twice in a form that its provider could not read";
                let hint = "ask again, or choose another model";
                return fail_turn(TurnFailureCode::Provider, message, Some(hint.to_owned()));
            }
            Some(FinishReason::ContextExceeded) if !text => {
                let message = "the conversation fills the model's context, so the model could not respond";
                let hint = "start a new session, or send shorter messages";
                return fail_turn(TurnFailureCode::ContextTooLong, message, Some(hint.to_owned()));
            }
            Some(FinishReason::ContextExceeded) => {
                let message = "the response ends here, because the conversation fills the model's context";
                self.notice(NoticeCode::Truncated, message).await;
            }
            Some(FinishReason::Length) => {
                let message = "the answer ends at the most tokens that the model may write \
                     (options.max_output_tokens of the agent, or the model's own limit)";
                self.notice(NoticeCode::Truncated, message).await;
            }
            _ if !text => {
                self.notice(NoticeCode::Empty, "the model ended its response without any text").await;
            }
            _ => {}
        }
        ControlFlow::Break(TurnExit::Done)
    }

    async fn ask_again(&mut self, progress: &mut TurnProgress) -> TurnFlow<AfterResponse> {
        self.save(progress).await?;
        ControlFlow::Continue(AfterResponse::AskAgain)
    }

    async fn end_refused_response(&self, has_text: bool) -> TurnExit {
        let message = "the model, or its provider's filter, refused to continue";
        if !has_text {
            return TurnExit::Failed(TurnFailure {
                code: TurnFailureCode::Provider,
                message: message.to_owned(),
                hint: Some("say it in another way".to_owned()),
            });
        }
        self.notice(NoticeCode::Refused, message).await;
        TurnExit::Done
    }
}

fn as_call(part: &MessagePart) -> Option<&ToolCall> {
    match part {
        MessagePart::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Converts a failure of the model's provider to a failure of the turn.
fn failure_from_model_error(error: &ModelError, has_text: bool) -> TurnFailure {
    let code = match error.kind {
        ModelErrorKind::Auth => TurnFailureCode::Auth,
        ModelErrorKind::ContextTooLong => TurnFailureCode::ContextTooLong,
        _ => TurnFailureCode::Provider,
    };
    let message = match has_text {
        true => format!("the response was interrupted: {error}"),
        false => error.to_string(),
    };
    TurnFailure { code, message, hint: error.hint.clone() }
}

fn interrupted_failure(has_text: bool) -> TurnFailure {
    let message = match has_text {
        true => "the response was interrupted before it was complete",
        false => "the model's provider closed the connection without a response",
    };
    TurnFailure { code: TurnFailureCode::Provider, message: message.to_owned(), hint: None }
}
