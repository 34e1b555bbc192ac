//! What the owner puts before and after calls: looks at them, changes them, stops them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolway_types::{CallId, Outcome, PrincipalId, Role, ToolId, ToolOutput};

use crate::arguments::{Arguments, RawArguments};
use crate::caller::EntryPoint;
use crate::glob::GlobPatterns;

/// A call as hooks see it. Secrets are in it: a hook is the owner's own.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// The call's id.
    pub id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// Who calls.
    pub principal: PrincipalId,
    /// With which role.
    pub role: Role,
    /// Through which door.
    pub via: EntryPoint,
    /// In whose agent's name.
    pub agent: Option<Arc<str>>,
    /// The conversation.
    pub session: Option<Arc<str>>,
    /// The arguments, as the hooks before this one left them.
    pub arguments: Arguments,
}

/// What a hook wants before a call runs.
#[derive(Debug, Clone)]
pub enum BeforeCallDecision {
    /// Nothing.
    Continue,
    /// Other arguments, which are checked against the tool's schema again.
    Modify(RawArguments),
    /// That it does not run.
    Cancel {
        /// Why, for whoever called.
        reason: String,
    },
}

/// What a hook wants after a call ran.
#[derive(Debug, Clone)]
pub enum AfterCallDecision {
    /// Nothing.
    Keep,
    /// Another output in the place of the tool's, or of its error.
    Replace(ToolOutput),
}

/// A hook that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Something that is asked before and after calls. Each question is bounded in time by [`HookEntry::timeout`],
/// and a panic is a fault of the hook, not of the call.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Before a call runs.
    ///
    /// # Errors
    /// [`HookFault`]; what becomes of the call then is said by [`HookEntry::on_fault`].
    async fn before_call(&self, _call: &HookCall) -> Result<BeforeCallDecision, HookError> {
        Ok(BeforeCallDecision::Continue)
    }

    /// After a call ran, whatever it ended in.
    ///
    /// # Errors
    /// [`HookFault`], as before.
    async fn after_call(&self, _call: &HookCall, _outcome: &Outcome) -> Result<AfterCallDecision, HookError> {
        Ok(AfterCallDecision::Keep)
    }
}

/// What becomes of a call whose hook failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookErrorAction {
    /// It goes on as if there were no such hook.
    FailOpen,
    /// It ends as cancelled by the hook.
    FailClosed,
}

/// A hook and when it is asked.
#[derive(Clone)]
pub struct HookEntry {
    /// Its name, as the owner gave it.
    pub name: Arc<str>,
    /// The hook.
    pub hook: Arc<dyn Hook>,
    /// The tools whose calls it sees.
    pub tools: GlobPatterns,
    /// Whether it is asked before calls.
    pub runs_before: bool,
    /// Whether it is asked after calls.
    pub runs_after: bool,
    /// How long one question may take.
    pub timeout: Duration,
    /// What becomes of a call where it fails.
    pub on_error: HookErrorAction,
}

impl std::fmt::Debug for HookEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, tools, runs_before: before, runs_after: after, timeout, on_error: on_fault, .. } =
            self;
        f.debug_struct("HookEntry")
            .field("name", name)
            .field("tools", tools)
            .field("before", before)
            .field("after", after)
            .field("timeout", timeout)
            .field("on_fault", on_fault)
            .finish_non_exhaustive()
    }
}
