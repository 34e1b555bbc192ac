//! The owner's hooks before and after a call, each bounded in time. A hook that fails or panics is reported, and
//! the call goes on or ends as the owner said.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
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

/// A call as its hooks see it; none where no hook is for it.
pub(super) struct CallHooks {
    entries: Arc<[HookEntry]>,
    /// Which of them are for this call.
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

    /// Asks the hooks before the call; gives the arguments to run with.
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
            // In a block of its own, so that what crashes before there is a question is bounded too.
            match run_with_timeout(entry, async { entry.hook.before_call(&self.call).await }).await {
                Ok(BeforeCallDecision::Continue) => {}
                Ok(BeforeCallDecision::Cancel { reason }) => {
                    open.note_hook(&entry.name);
                    return Err(ToolError::new(
                        Code::HookCancelled,
                        format!("The hook {:?} stopped the call: {reason}", entry.name),
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
                            .with_hint("The hook has to be mended by the owner")
                    })?;
                    let marked = target.tool.spec().parameters().secrets();
                    open.note_changed_arguments(redact(&self.call.arguments, marked, &settings.redact));
                }
                Err(fault) => handle_failure(entry, &fault, open)?,
            }
        }
        Ok(self.call.arguments.clone())
    }

    /// Asks the hooks after the call, whatever it ended in.
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
                    // A hook may have built its output from the tool's; the original would then say something else.
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

/// A hook's answer within its time; a panic is a fault like another.
async fn run_with_timeout<T>(
    entry: &HookEntry,
    question: impl Future<Output = Result<T, HookError>>,
) -> Result<T, HookError> {
    match tokio::time::timeout(entry.timeout, AssertUnwindSafe(question).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(HookError("it crashed".to_owned())),
        Err(_) => Err(HookError(format!("it did not answer within {} ms", entry.timeout.as_millis()))),
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
            let message = format!("The hook {:?} failed: {fault}", entry.name);
            Err(ToolError::new(Code::HookCancelled, message)
                .with_hint("The owner has set that calls do not go on without it"))
        }
    }
}
