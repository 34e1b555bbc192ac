//! Runs the calls of one answer: in parallel if possible. Each end is published as it occurs, and the results
//! are in the order of the calls.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use toolway_core::consent::{QuestionEvent, QuestionSink};
use toolway_core::{CallRequest, Caller, Engine, RawArguments};
use toolway_models::{ToolCall, ToolResult};
use toolway_types::{Code, Outcome, RawJson, ToolError};

use super::broadcast::TurnBroadcast;
use super::repeated_failures::RepeatedFailures;
use super::stop_signal::StopSignal;
use crate::event::{NoticeCode, TurnEvent};

/// Time for cancelled calls to report their ends.
const CANCEL_GRACE: Duration = Duration::from_millis(50);
/// Maximum number of calls of one answer.
const MAX_CALLS: usize = 256;

/// Dependencies for running calls.
pub(super) struct ToolCallRunner<'t> {
    pub(super) engine: &'t Arc<Engine>,
    pub(super) caller: Caller,
    pub(super) questions: Option<QuestionSink>,
    /// Remaining time of the turn.
    pub(super) time_left: Option<Duration>,
    pub(super) broadcast: &'t Arc<TurnBroadcast>,
    pub(super) stop: &'t StopSignal,
    pub(super) repeated_failures: &'t Mutex<RepeatedFailures>,
}

/// Results of calls.
#[derive(Debug, Default)]
pub(super) struct ToolCallResults {
    /// In the order of the calls.
    pub(super) results: Vec<ToolResult>,
    /// Time spent waiting for people.
    pub(super) waited: Duration,
}

impl ToolCallRunner<'_> {
    /// Runs calls. If the turn is ended meanwhile, returns soon after, with results for all of them.
    pub(super) async fn run(&self, calls: &[ToolCall]) -> ToolCallResults {
        let mut outcomes: Vec<Option<Arc<Outcome>>> = vec![None; calls.len()];
        let mut run = Vec::new();
        for (at, (call, outcome)) in calls.iter().zip(&mut outcomes).enumerate() {
            self.publish_start(call);
            if call.is_cut {
                let error = Arc::new(Outcome::Error(cut_call_error()));
                *outcome = Some(self.publish_end(call, error, Duration::ZERO));
            } else if run.len() < MAX_CALLS {
                run.push(at);
            } else {
                // The model did nothing wrong with this call itself, so it does not count as its failure.
                let error = Arc::new(Outcome::Error(too_many_calls_error(calls.len())));
                self.publish_result(call, &error, Duration::ZERO);
                *outcome = Some(error);
            }
        }
        let ended = Mutex::new(outcomes);
        let waited = Mutex::new(Duration::ZERO);
        let engine_calls =
            run.iter().filter_map(|at| calls.get(*at)).map(|call| self.prepare_call(call)).collect();
        let all = self.engine.call_many_with_callback(engine_calls, |place, finished| {
            let Some(at) = run.get(place).copied() else { return };
            let Some(call) = calls.get(at) else { return };
            let outcome = self.publish_end(call, Arc::clone(&finished.outcome), finished.durations.total);
            if let Some(slot) = ended.lock().get_mut(at) {
                *slot = Some(outcome);
            }
            let mut waited = waited.lock();
            *waited = (*waited).max(finished.durations.waiting);
        });
        tokio::select! {
            biased;
            _ = all => {}
            // The engine ends cancelled calls at once. A call that does not end is dropped.
            () = async {
                self.stop.token().cancelled().await;
                sleep(CANCEL_GRACE).await;
            } => {}
        }
        let outcomes = std::mem::take(&mut *ended.lock());
        let result = |(call, outcome): (&ToolCall, Option<Arc<Outcome>>)| {
            let outcome = outcome.unwrap_or_else(|| {
                let error = ToolError::new(Code::Cancelled, "The call was cancelled").with_dispatched(true);
                self.publish_end(call, Arc::new(Outcome::Error(error)), Duration::ZERO)
            });
            ToolResult::new(call.id, call.name.clone(), outcome)
        };
        let results = calls.iter().zip(outcomes).map(result).collect();
        let waited = *waited.lock();
        ToolCallResults { results, waited }
    }

    fn prepare_call(&self, call: &ToolCall) -> CallRequest {
        let (audience, id) = (Arc::clone(self.broadcast), call.id);
        let (waiting, name) = (Arc::clone(self.broadcast), call.name.clone());
        let observer: QuestionSink = Arc::new(move |event: &QuestionEvent| {
            if let QuestionEvent::Asked(question) = event {
                let message = format!(
                    "waiting for approval: {}; the owner answers with `toolway approvals watch`",
                    question.reason
                );
                waiting.publish(TurnEvent::WaitingForApproval { id, name: name.clone(), message });
            }
        });
        CallRequest {
            id,
            timeout: self.time_left,
            progress: Some(Arc::new(move |progress| audience.publish_progress(id, progress))),
            questions: self.questions.clone(),
            question_observer: Some(observer),
            cancel: Some(self.stop.token().clone()),
            ..CallRequest::new(
                call.name.as_str(),
                RawArguments::Text(call.arguments.clone()),
                self.caller.clone(),
            )
        }
    }

    fn publish_start(&self, call: &ToolCall) {
        self.broadcast.publish(TurnEvent::ToolCall {
            id: call.id,
            name: call.name.clone(),
            arguments: arguments_or_empty(call),
        });
    }

    /// Publishes the end of a call with the result that the model gets.
    fn publish_end(&self, call: &ToolCall, outcome: Arc<Outcome>, duration: Duration) -> Arc<Outcome> {
        let mut outcome = outcome;
        let mut notice = None;
        if let Outcome::Error(error) = &*outcome
            && error.code != Code::Cancelled
            && let Some(words) = self.repeated_failures.lock().record_failure(call, error)
        {
            notice = Some(format!("{} failed several times in the same way: {}", call.name, error.message));
            let hint = error.hint.as_deref().map_or_else(|| words.clone(), |hint| format!("{hint}. {words}"));
            outcome = Arc::new(Outcome::Error(ToolError { hint: Some(hint), ..error.clone() }));
        }
        self.publish_result(call, &outcome, duration);
        if let Some(message) = notice {
            self.broadcast.publish(TurnEvent::Notice { code: NoticeCode::RepeatedFailure, message });
        }
        outcome
    }

    fn publish_result(&self, call: &ToolCall, outcome: &Arc<Outcome>, duration: Duration) {
        self.broadcast.publish(TurnEvent::ToolResult {
            id: call.id,
            name: call.name.clone(),
            outcome: Arc::clone(outcome),
            duration,
        });
    }
}

/// Returns the error of a call whose arguments are incomplete.
fn cut_call_error() -> ToolError {
    let message = "Invalid arguments: the answer ended in the middle of them, so the call was not made";
    ToolError::new(Code::InvalidArguments, message)
        .with_hint("Make the call again, with shorter arguments or in several calls")
}

/// Returns the error of a call after the maximum number of calls.
fn too_many_calls_error(calls: usize) -> ToolError {
    let message = format!(
        "The call was not made: the answer has {calls} calls, and only the first {MAX_CALLS} of an answer are made"
    );
    ToolError::new(Code::Overloaded, message).with_hint("Make it again in the next answer")
}

/// Returns the arguments as an object; `{}` if they are invalid.
pub(super) fn arguments_or_empty(call: &ToolCall) -> RawJson {
    let text = call.arguments.trim();
    let is_object = text.starts_with('{') && !call.is_cut;
    let parsed = is_object.then(|| RawJson::parse(text).ok()).flatten();
    parsed.unwrap_or_else(RawJson::empty_object)
}

/// Returns results for calls that were not run.
pub(super) fn skipped_results<'c>(calls: impl Iterator<Item = &'c ToolCall>, why: &str) -> Vec<ToolResult> {
    let error = ToolError::new(Code::Cancelled, format!("The call was not made: {why}"));
    let outcome = Arc::new(Outcome::Error(error));
    calls.map(|call| ToolResult::new(call.id, call.name.clone(), Arc::clone(&outcome))).collect()
}
