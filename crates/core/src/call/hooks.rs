//! Runs the owner's hooks before and after a call, each with a timeout. A hook that fails or panics is
//! logged, and the call continues or ends as configured.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use toolway_types::text::{MAX_MESSAGE, shorten};
use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use super::argument_check;
use super::lookup::CallTarget;
use super::record::CallRecordGuard;
use super::redaction::redact;
use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::hook::{AfterCallDecision, BeforeCallDecision, HookCall, HookEntry, HookError, HookErrorAction};

/// The hooks of a call; none if no hook applies.
pub(super) struct CallHooks {
    entries: Arc<[HookEntry]>,
    /// Indices of the hooks that apply to the call.
    applicable: Vec<usize>,
    call: HookCall,
}

impl CallHooks {
    pub(super) fn for_call(
        entries: &Arc<[HookEntry]>,
        target: &CallTarget,
        context: &CallContext,
        arguments: &Arguments,
    ) -> Option<Box<Self>> {
        if entries.is_empty() {
            return None;
        }
        let id = target.id.to_string();
        let mine: Vec<_> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.tools.matches(&id))
            .map(|(at, _)| at)
            .collect();
        if mine.is_empty() {
            return None;
        }
        let caller = context.caller();
        let call = HookCall {
            id: context.call_id(),
            tool: target.id.clone(),
            principal: caller.principal.id.clone(),
            role: caller.principal.role,
            via: caller.via,
            agent: caller.agent().cloned(),
            session: caller.session.clone(),
            arguments: arguments.clone(),
        };
        Some(Box::new(Self { entries: entries.clone(), applicable: mine, call }))
    }

    fn applicable_entries(&self) -> impl Iterator<Item = &HookEntry> {
        self.applicable.iter().filter_map(|at| self.entries.get(*at))
    }

    /// Runs the hooks before the call, and returns the arguments to use.
    pub(super) async fn run_before(
        &mut self,
        engine: &Arc<Engine>,
        settings: &Arc<EngineSettings>,
        target: &CallTarget,
        open: &mut CallRecordGuard<'_>,
    ) -> Result<Arguments, ToolError> {
        let entries = self.entries.clone();
        for entry in
            self.applicable.iter().filter_map(|at| entries.get(*at)).filter(|entry| entry.runs_before)
        {
            // An async block, so that a panic before the future exists is caught too.
            match run_with_timeout(entry, async { entry.hook.before_call(&self.call).await }).await {
                Ok(BeforeCallDecision::Continue) => {}
                Ok(BeforeCallDecision::Cancel { reason }) => {
                    open.note_hook(&entry.name);
                    return Err(ToolError::new(
                        Code::HookCancelled,
                        format!(
                            "The hook {:?} cancelled the call: {}",
                            entry.name,
                            shorten(&reason, MAX_MESSAGE)
                        ),
                    ));
                }
                Ok(BeforeCallDecision::Modify(raw)) => {
                    open.note_hook(&entry.name);
                    let checked =
                        argument_check::check_hook_arguments(engine, settings, raw, target.tool.spec()).await;
                    self.call.arguments = checked.map_err(|bad| {
                        let message =
                            format!("The hook {:?} changed the arguments: {}", entry.name, bad.error.message);
                        ToolError::new(Code::InvalidArguments, message)
                            .with_hint("The owner must fix the hook")
                    })?;
                    let marked = target.tool.spec().parameters().secrets();
                    open.note_changed_arguments(redact(&self.call.arguments, marked, &settings.redact));
                }
                Err(fault) => handle_failure(entry, &fault, open)?,
            }
        }
        Ok(self.call.arguments.clone())
    }

    /// Runs the hooks after the call, whatever its outcome.
    pub(super) async fn run_after(
        &self,
        result: Result<ToolOutput, ToolError>,
        dispatched: bool,
        open: &mut CallRecordGuard<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let mut outcome = Outcome::from(result);
        for entry in self.applicable_entries().filter(|entry| entry.runs_after) {
            match run_with_timeout(entry, async { entry.hook.after_call(&self.call, &outcome).await }).await {
                Ok(AfterCallDecision::Keep) => {}
                Ok(AfterCallDecision::Replace(output)) => {
                    open.note_hook(&entry.name);
                    // A hook may have built its output from the tool's, so the original no longer matches it.
                    outcome = Outcome::Success(output.without_original());
                }
                Err(fault) => {
                    if let Err(error) = handle_failure(entry, &fault, open) {
                        outcome = Outcome::Error(error.with_dispatched(dispatched));
                        break;
                    }
                }
            }
        }
        match outcome {
            Outcome::Success(output) => Ok(output),
            Outcome::Error(error) => Err(error),
        }
    }
}

/// Runs a hook with its timeout. A panic is an error like others.
async fn run_with_timeout<T>(
    entry: &HookEntry,
    question: impl Future<Output = Result<T, HookError>>,
) -> Result<T, HookError> {
    match tokio::time::timeout(entry.timeout, AssertUnwindSafe(question).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(HookError("it crashed".to_owned())),
        Err(_) => Err(HookError(format!("it timed out after {} ms", entry.timeout.as_millis()))),
    }
}

fn handle_failure(
    entry: &HookEntry,
    fault: &HookError,
    open: &mut CallRecordGuard<'_>,
) -> Result<(), ToolError> {
    tracing::warn!(hook = %entry.name, %fault, "a hook failed");
    match entry.on_error {
        HookErrorAction::FailOpen => Ok(()),
        HookErrorAction::FailClosed => {
            open.note_hook(&entry.name);
            let message =
                format!("The hook {:?} failed: {}", entry.name, shorten(&fault.to_string(), MAX_MESSAGE));
            Err(ToolError::new(Code::HookCancelled, message)
                .with_hint("The hook's setting on_failure is closed, so the call cannot continue"))
        }
    }
}
