//! The calls of one answer: those that can run do so side by side, each end is told as it comes, and the results
//! stand in the order of the calls.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use toolway_core::consent::QuestionSink;
use toolway_core::{Call, Caller, Engine, RawArguments};
use toolway_models::{ToolCall, ToolResult};
use toolway_types::{Code, Outcome, RawJson, ToolError};

use super::audience::Audience;
use super::repeats::Repeats;
use super::stop::Stop;
use crate::event::{NoticeCode, TurnEvent};

/// How long calls that were cancelled have to say how they ended.
const GRACE: Duration = Duration::from_millis(50);
/// Most calls of one answer.
const MAX_CALLS: usize = 256;

/// With what calls are made.
pub(super) struct Calling<'t> {
    pub(super) engine: &'t Arc<Engine>,
    pub(super) caller: Caller,
    pub(super) questions: Option<QuestionSink>,
    /// How much time the turn has left.
    pub(super) time_left: Option<Duration>,
    pub(super) audience: &'t Arc<Audience>,
    pub(super) stop: &'t Stop,
    pub(super) repeats: &'t Mutex<Repeats>,
}

/// How calls ended.
#[derive(Debug, Default)]
pub(super) struct Called {
    /// In the order of the calls.
    pub(super) results: Vec<ToolResult>,
    /// How long persons were waited for.
    pub(super) waited: Duration,
}

impl Calling<'_> {
    /// Makes calls. Where the turn is ended meanwhile, this returns soon after, with results for all of them.
    pub(super) async fn make(&self, calls: &[ToolCall]) -> Called {
        let mut outcomes: Vec<Option<Arc<Outcome>>> = vec![None; calls.len()];
        let mut run = Vec::new();
        for (at, (call, outcome)) in calls.iter().zip(&mut outcomes).enumerate() {
            self.tell_start(call);
            match refusal(call, at) {
                Some(error) => {
                    let error = Arc::new(Outcome::Error(error));
                    *outcome = Some(self.tell_end(call, error, Duration::ZERO));
                }
                None => run.push(at),
            }
        }
        let ended = Mutex::new(outcomes);
        let waited = Mutex::new(Duration::ZERO);
        let engine_calls = run.iter().filter_map(|at| calls.get(*at)).map(|call| self.call(call)).collect();
        let all = self.engine.call_many_telling(engine_calls, |place, finished| {
            let Some(at) = run.get(place).copied() else { return };
            let Some(call) = calls.get(at) else { return };
            let outcome = self.tell_end(call, Arc::clone(&finished.outcome), finished.durations.total);
            if let Some(slot) = ended.lock().get_mut(at) {
                *slot = Some(outcome);
            }
            let mut waited = waited.lock();
            *waited = (*waited).max(finished.durations.waiting);
        });
        tokio::select! {
            biased;
            _ = all => {}
            // The engine ends cancelled calls at once; one that does not is ended by being dropped.
            () = async {
                self.stop.token().cancelled().await;
                sleep(GRACE).await;
            } => {}
        }
        let outcomes = std::mem::take(&mut *ended.lock());
        let result = |(call, outcome): (&ToolCall, Option<Arc<Outcome>>)| {
            let outcome = outcome.unwrap_or_else(|| {
                let error = ToolError::new(Code::Cancelled, "The call was cancelled").dispatched(true);
                self.tell_end(call, Arc::new(Outcome::Error(error)), Duration::ZERO)
            });
            ToolResult::new(call.id, call.name.clone(), outcome)
        };
        let results = calls.iter().zip(outcomes).map(result).collect();
        let waited = *waited.lock();
        Called { results, waited }
    }

    fn call(&self, call: &ToolCall) -> Call {
        let (audience, id) = (Arc::clone(self.audience), call.id);
        Call {
            id,
            timeout: self.time_left,
            progress: Some(Arc::new(move |progress| audience.report(id, progress))),
            questions: self.questions.clone(),
            cancel: Some(self.stop.token().clone()),
            ..Call::new(call.name.as_str(), RawArguments::Text(call.arguments.clone()), self.caller.clone())
        }
    }

    fn tell_start(&self, call: &ToolCall) {
        self.audience.offer(TurnEvent::ToolCall {
            id: call.id,
            name: call.name.clone(),
            arguments: shown_arguments(call),
        });
    }

    /// Tells how a call ended, as the model is told.
    fn tell_end(&self, call: &ToolCall, outcome: Arc<Outcome>, duration: Duration) -> Arc<Outcome> {
        let mut outcome = outcome;
        let mut notice = None;
        if let Outcome::Error(error) = &*outcome
            && error.code != Code::Cancelled
            && let Some(words) = self.repeats.lock().note(call, error)
        {
            notice = Some(format!("{} failed several times in the same way: {}", call.name, error.message));
            let hint = error.hint.as_deref().map_or_else(|| words.clone(), |hint| format!("{hint}. {words}"));
            outcome = Arc::new(Outcome::Error(ToolError { hint: Some(hint), ..error.clone() }));
        }
        self.audience.offer(TurnEvent::ToolResult {
            id: call.id,
            name: call.name.clone(),
            outcome: Arc::clone(&outcome),
            duration,
        });
        if let Some(message) = notice {
            self.audience.offer(TurnEvent::Notice { code: NoticeCode::RepeatedFailure, message });
        }
        outcome
    }
}

/// Why a call does not run at all.
fn refusal(call: &ToolCall, place: usize) -> Option<ToolError> {
    if call.is_cut {
        let message = "Invalid arguments: the answer ended in the middle of them, so the call was not made";
        let error = ToolError::new(Code::InvalidArguments, message);
        return Some(error.with_hint("Make the call again, with shorter arguments or in several calls"));
    }
    (place >= MAX_CALLS).then(|| {
        let message =
            format!("At most {MAX_CALLS} calls of one answer are made, and this one comes after them");
        ToolError::new(Code::Overloaded, message).with_hint("Make it again in the next answer")
    })
}

/// The arguments as an object; `{}` where they are none.
pub(super) fn shown_arguments(call: &ToolCall) -> RawJson {
    let text = call.arguments.trim();
    let is_object = text.starts_with('{') && !call.is_cut;
    let parsed = is_object.then(|| RawJson::parse(text).ok()).flatten();
    parsed.unwrap_or_else(RawJson::empty_object)
}

/// The results of calls that an answer has and that were not made.
pub(super) fn not_made<'c>(calls: impl Iterator<Item = &'c ToolCall>, why: &str) -> Vec<ToolResult> {
    let error = ToolError::new(Code::Cancelled, format!("The call was not made: {why}"));
    let outcome = Arc::new(Outcome::Error(error));
    calls.map(|call| ToolResult::new(call.id, call.name.clone(), Arc::clone(&outcome))).collect()
}
