//! The owner's hooks before and after a call, each bounded in time. A hook that fails or panics is reported, and
//! the call goes on or ends as the owner said.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use super::arguments;
use super::lookup::Target;
use super::record::OpenRecord;
use super::redact::redacted;
use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::engine::{Engine, EngineSettings};
use crate::hook::{After, Before, HookEntry, HookFault, HookedCall, OnFault};

/// A call as its hooks see it; none where no hook is for it.
pub(super) struct Hooked {
    entries: Arc<[HookEntry]>,
    /// Which of them are for this call.
    mine: Vec<usize>,
    call: HookedCall,
}

impl Hooked {
    pub(super) fn of(
        entries: &Arc<[HookEntry]>,
        target: &Target,
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
        let call = HookedCall {
            id: context.call_id(),
            tool: target.id.clone(),
            principal: caller.principal.id.clone(),
            role: caller.principal.role,
            door: caller.door,
            agent: caller.agent().cloned(),
            session: caller.session.clone(),
            arguments: arguments.clone(),
        };
        Some(Box::new(Self { entries: entries.clone(), mine, call }))
    }

    fn mine(&self) -> impl Iterator<Item = &HookEntry> {
        self.mine.iter().filter_map(|at| self.entries.get(*at))
    }

    /// Asks the hooks before the call; gives the arguments to run with.
    pub(super) async fn before(
        &mut self,
        engine: &Arc<Engine>,
        settings: &Arc<EngineSettings>,
        target: &Target,
        open: &mut OpenRecord<'_>,
    ) -> Result<Arguments, ToolError> {
        let entries = self.entries.clone();
        for entry in self.mine.iter().filter_map(|at| entries.get(*at)).filter(|entry| entry.before) {
            // In a block of its own, so that what crashes before there is a question is bounded too.
            match bounded(entry, async { entry.hook.before(&self.call).await }).await {
                Ok(Before::Continue) => {}
                Ok(Before::Cancel { reason }) => {
                    open.changed_by(&entry.name);
                    return Err(ToolError::new(
                        Code::HookCancelled,
                        format!("The hook {:?} stopped the call: {reason}", entry.name),
                    ));
                }
                Ok(Before::Modify(raw)) => {
                    open.changed_by(&entry.name);
                    let checked = arguments::of_hook(engine, settings, raw, target.tool.spec()).await;
                    self.call.arguments = checked.map_err(|bad| {
                        let message =
                            format!("The hook {:?} changed the arguments: {}", entry.name, bad.error.message);
                        ToolError::new(Code::InvalidArguments, message)
                            .with_hint("The hook has to be mended by the owner")
                    })?;
                    let marked = target.tool.spec().parameters().secrets();
                    open.ran_with(redacted(&self.call.arguments, marked, &settings.redact));
                }
                Err(fault) => failed(entry, &fault, open)?,
            }
        }
        Ok(self.call.arguments.clone())
    }

    /// Asks the hooks after the call, whatever it ended in.
    pub(super) async fn after(
        &self,
        result: Result<ToolOutput, ToolError>,
        dispatched: bool,
        open: &mut OpenRecord<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let mut outcome = Outcome::from(result);
        for entry in self.mine().filter(|entry| entry.after) {
            match bounded(entry, async { entry.hook.after(&self.call, &outcome).await }).await {
                Ok(After::Keep) => {}
                Ok(After::Replace(output)) => {
                    open.changed_by(&entry.name);
                    outcome = Outcome::Success(output);
                }
                Err(fault) => {
                    if let Err(error) = failed(entry, &fault, open) {
                        outcome = Outcome::Error(error.dispatched(dispatched));
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
async fn bounded<T>(
    entry: &HookEntry,
    question: impl Future<Output = Result<T, HookFault>>,
) -> Result<T, HookFault> {
    match tokio::time::timeout(entry.timeout, AssertUnwindSafe(question).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(HookFault("it crashed".to_owned())),
        Err(_) => Err(HookFault(format!("it did not answer within {} ms", entry.timeout.as_millis()))),
    }
}

fn failed(entry: &HookEntry, fault: &HookFault, open: &mut OpenRecord<'_>) -> Result<(), ToolError> {
    tracing::warn!(hook = %entry.name, %fault, "a hook failed");
    match entry.on_fault {
        OnFault::Open => Ok(()),
        OnFault::Closed => {
            open.changed_by(&entry.name);
            let message = format!("The hook {:?} failed: {fault}", entry.name);
            Err(ToolError::new(Code::HookCancelled, message)
                .with_hint("The owner has set that calls do not go on without it"))
        }
    }
}
