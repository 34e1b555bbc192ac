//! The record of a call. It is opened before the tool runs and closed exactly once, even if the call's future
//! is dropped.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_types::{Code, Outcome, RawJson, ToolError, ToolOutput};

use super::lookup::CallTarget;
use super::redaction::redact;
use crate::arguments::Arguments;
use crate::call_request::CallRequest;
use crate::context::CallContext;
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::finished_call::FinishedCall;
use crate::idempotency_keys::KeyHolder;
use crate::record::{CallDurations, CallNotes, ClosedCall, OpenedCall, RecordCommit};
use crate::secret_mask::mask_recorded_outcome;
use crate::spec::ToolSpec;

/// Maximum length of a recorded name, in bytes. No tool has a longer one.
const MAX_NAME_BYTES: usize = 1024;

/// An open record. Dropping it closes it as cancelled, because its caller has left.
pub(super) struct CallRecordGuard<'a> {
    engine: &'a Engine,
    opened: Arc<OpenedCall>,
    accepted: Instant,
    /// Context of the run, once the tool runs.
    context: Option<CallContext>,
    key_holder: Option<KeyHolder>,
    commit: Option<RecordCommit>,
    /// Notes on approvals, hooks and rules.
    notes: Option<Box<CallNotes>>,
    /// Time spent waiting for persons before the run, and the start of the current wait.
    waited: Duration,
    waiting_since: Option<Instant>,
    /// The result, once the record is closed.
    finished: Option<FinishedCall>,
    /// Spec of the called tool, which marks secrets.
    spec: Option<Arc<ToolSpec>>,
}

impl<'a> CallRecordGuard<'a> {
    pub(super) fn open(
        engine: &'a Engine,
        settings: &EngineSettings,
        call: &CallRequest,
        accepted: Instant,
        target: Option<&CallTarget>,
        arguments: Option<&Arguments>,
        turn: Option<KeyHolder>,
    ) -> Self {
        let marked = target.and_then(|target| target.tool.spec().parameters().secrets());
        let opened = Arc::new(OpenedCall {
            id: call.id,
            name: truncate_name(&call.name),
            tool: target.map(|target| target.id.clone()),
            principal: call.caller.principal.id.clone(),
            role: call.caller.principal.role,
            via: call.caller.via,
            agent: call.caller.agent().cloned(),
            session: call.caller.session.clone(),
            turn: call.caller.turn.clone(),
            arguments: arguments.map(|arguments| redact(arguments.given(), marked, &settings.redact)),
            started_ms: engine.clock.now_ms(),
            key: turn.as_ref().map(|turn| turn.key().clone()),
        });
        if let Some(tool) = &opened.tool {
            tracing::Span::current().record("tool", tracing::field::display(tool));
        }
        let commit = engine.recorder.open(opened.clone());
        let ran_with = arguments
            .filter(|arguments| arguments.has_removed_nulls())
            .map(|arguments| redact(arguments, marked, &settings.redact));
        Self {
            engine,
            opened,
            accepted,
            context: None,
            key_holder: turn,
            commit: Some(commit),
            notes: ran_with
                .map(|ran_with| Box::new(CallNotes { ran_with: Some(ran_with), ..CallNotes::default() })),
            waited: Duration::ZERO,
            waiting_since: None,
            finished: None,
            spec: target.map(|target| Arc::clone(target.tool.spec())),
        }
    }

    /// Starts or ends the time of waiting for a person.
    pub(super) fn set_waiting_for_person(&mut self, waits: bool) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
        if waits {
            self.waiting_since = Some(Instant::now());
        }
    }

    /// Records the approver: a principal or a grant. The last one counts.
    pub(super) fn note_approver(&mut self, who: Arc<str>) {
        self.notes_mut().approved_by = Some(who);
    }

    /// Records a hook that changed or cancelled something.
    pub(super) fn note_hook(&mut self, hook: &Arc<str>) {
        let hooks = &mut self.notes_mut().hooks;
        if !hooks.contains(hook) {
            hooks.push(hook.clone());
        }
    }

    /// Records the arguments that the tool gets, masked.
    pub(super) fn note_changed_arguments(&mut self, arguments: RawJson) {
        self.notes_mut().ran_with = Some(arguments);
    }

    /// Records the rule that refused the call.
    pub(super) fn note_refusing_rule(&mut self, rule: &str) {
        self.notes_mut().rule = Some(rule.into());
    }

    fn notes_mut(&mut self) -> &mut CallNotes {
        self.notes.get_or_insert_default()
    }

    /// Waits until the record is committed, if that is required.
    pub(super) async fn wait_until_committed(&mut self) {
        if let Some(commit) = self.commit.take() {
            commit.wait().await;
        }
    }

    /// Sets the context, from which the record reads the state of the run.
    pub(super) fn set_context(&mut self, context: &CallContext) {
        self.context = Some(context.clone());
    }

    /// Closes the record with the result. Calls that wait for the same key are notified last, after the
    /// record is committed as configured.
    pub(super) async fn close(mut self, result: Result<ToolOutput, ToolError>) -> FinishedCall {
        let (finished, commit) = self.finish(result.into());
        commit.wait().await;
        finished
    }

    fn finish(&mut self, outcome: Outcome) -> (FinishedCall, RecordCommit) {
        let outcome = Arc::new(outcome);
        let durations = self.durations();
        let attempts = self.context.as_ref().map_or(0, CallContext::attempts);
        let finished = FinishedCall {
            id: self.opened.id,
            tool: self.opened.tool.clone(),
            outcome: outcome.clone(),
            durations,
        };
        self.finished = Some(finished.clone());
        let closed = ClosedCall {
            opened: self.opened.clone(),
            outcome: mask_recorded_outcome(
                &outcome,
                &self.engine.settings.load().redact,
                self.spec.as_deref(),
            ),
            durations,
            attempts,
            notes: self.notes.take(),
        };
        (finished, self.engine.recorder.close(closed))
    }

    fn durations(&self) -> CallDurations {
        let total = self.accepted.elapsed();
        let before = self.waited + self.waiting_since.map_or(Duration::ZERO, |since| since.elapsed());
        let Some(context) = &self.context else {
            return CallDurations { total, waiting: before, ..CallDurations::default() };
        };
        let (waiting, queued) = (context.clock().person_time_used(), context.queue_time());
        CallDurations {
            total,
            waiting: before + waiting,
            queued,
            running: context.running_time().saturating_sub(waiting),
        }
    }
}

impl Drop for CallRecordGuard<'_> {
    fn drop(&mut self) {
        if self.finished.is_none() {
            let dispatched = self.context.as_ref().is_some_and(CallContext::is_dispatched);
            let error = ToolError::new(Code::Cancelled, "The caller went away").with_dispatched(dispatched);
            // No caller waits for the commit.
            let _ = self.finish(Outcome::Error(error));
        }
        if let (Some(turn), Some(finished)) = (self.key_holder.take(), &self.finished) {
            turn.complete(finished);
        }
    }
}

/// Truncates a name for the record. Callers may send names as long as a frame.
fn truncate_name(name: &Arc<str>) -> Arc<str> {
    match name.get(..name.floor_char_boundary(MAX_NAME_BYTES)) {
        Some(start) if start.len() < name.len() => format!("{start}…").into(),
        _ => name.clone(),
    }
}
