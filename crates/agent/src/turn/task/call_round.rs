//! Runs the tool calls of a response and adds their results to the conversation.

use std::ops::ControlFlow;

use toolway_models::{MessagePart, MessageRole, ModelMessage, ToolCall, ToolResult};

use super::TurnTask;
use super::flow::{TurnExit, TurnFlow, fail_turn};
use super::progress::TurnProgress;
use super::response::PendingCalls;
use crate::event::TurnFailureCode;
use crate::turn::repeated_failures::MAX_FAILING_ANSWERS;
use crate::turn::tool_calls::{ToolCallResults, ToolCallRunner, skipped_results};

/// Maximum number of consecutive responses that are cut in the middle of all their calls.
const MAX_CUT_ANSWERS: u32 = 3;

impl TurnTask {
    /// Makes the calls of a response. Calls of the caller's own tools end the turn.
    pub(super) async fn make_calls(
        &mut self,
        progress: &mut TurnProgress,
        pending: PendingCalls,
    ) -> TurnFlow {
        let PendingCalls { calls, has_text } = pending;
        progress.pauses = 0;
        let is_clients = |call: &ToolCall| self.overrides.tools.iter().any(|tool| tool.name == call.name);
        let (for_client, ours): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| is_clients(call) && !call.is_cut);
        progress.meter.calls =
            progress.meter.calls.saturating_add(u32::try_from(ours.len()).unwrap_or(u32::MAX));
        let calling = ToolCallRunner {
            engine: &self.deps.engine,
            caller: self.caller(),
            questions: self.questions.clone(),
            time_left: progress.meter.time_left(),
            broadcast: &self.broadcast,
            stop: &self.stop,
            repeated_failures: &progress.repeated_failures,
        };
        progress.repeated_failures.lock().next_answer();
        let keeping = self.save_records(std::mem::take(&mut progress.unsaved));
        // Text is nowhere else, so it is stored before the calls run. Calls are in their own records too: without text,
        // storing and running overlap.
        let (kept, called) = if has_text {
            (keeping.await, calling.run(&ours).await)
        } else {
            tokio::join!(keeping, calling.run(&ours))
        };
        self.handle_saved(kept)?;
        let ToolCallResults { results, waited } = called;
        progress.meter.add_waiting(waited);
        let all_cut = for_client.is_empty() && ours.iter().all(|call| call.is_cut);
        progress.cut_answers = if all_cut { progress.cut_answers + 1 } else { 0 };
        let message = tool_message(results);
        if let Some(asked) = self.history.entries.last() {
            progress.selector.recent().record_message(&asked.message);
        }
        if let Some(message) = message {
            progress.selector.recent().record_message(&message);
            self.append_message(progress, message, false);
        }
        self.wait_for_viewers().await;
        if let Some(reason) = self.stop.reason() {
            self.skip_calls(progress, &for_client, "the turn was ended");
            return ControlFlow::Break(TurnExit::Stopped(reason));
        }
        if !for_client.is_empty() {
            return ControlFlow::Break(TurnExit::ClientCalls(for_client));
        }
        if let Some(tool) = progress.repeated_failures.lock().tool_to_give_up() {
            let message = format!(
                "the model made the same call of {tool} in {MAX_FAILING_ANSWERS} responses, and it failed each time"
            );
            let hint = "ask in another way, or choose another model";
            return fail_turn(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        if progress.cut_answers >= MAX_CUT_ANSWERS {
            let message = format!("{MAX_CUT_ANSWERS} responses in a row ended in the middle of their calls");
            let hint = "raise options.max_output_tokens of the agent, or ask for less at a time";
            return fail_turn(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        ControlFlow::Continue(())
    }

    /// Adds results for calls that are not run, so that the conversation can be sent again.
    pub(super) fn skip_calls(&mut self, progress: &mut TurnProgress, calls: &[ToolCall], why: &str) {
        if let Some(message) = tool_message(skipped_results(calls.iter(), why)) {
            self.append_message(progress, message, false);
        }
    }
}

/// Returns the results of an answer's calls as one message; `None` if there are none.
fn tool_message(results: Vec<ToolResult>) -> Option<ModelMessage> {
    if results.is_empty() {
        return None;
    }
    Some(ModelMessage {
        role: MessageRole::Tool,
        parts: results.into_iter().map(MessagePart::ToolResult).collect(),
    })
}
