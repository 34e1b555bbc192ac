//! Hooks: the owner's code that sees, changes or cancels calls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolway_types::{CallId, Outcome, PrincipalId, Role, ToolId, ToolOutput};

use crate::arguments::{Arguments, RawArguments};
use crate::caller::EntryPoint;
use crate::glob::GlobPatterns;

/// A call as hooks see it. It contains secrets, because a hook belongs to the owner.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// Id of the call.
    pub id: CallId,
    /// Id of the tool.
    pub tool: ToolId,
    /// Principal of the caller.
    pub principal: PrincipalId,
    /// Role of the caller.
    pub role: Role,
    /// Entry point of the call.
    pub via: EntryPoint,
    /// Agent of the call.
    pub agent: Option<Arc<str>>,
    /// Conversation of the call.
    pub session: Option<Arc<str>>,
    /// Arguments, as changed by earlier hooks.
    pub arguments: Arguments,
}

/// Decision of a hook before a call runs.
#[derive(Debug, Clone)]
pub enum BeforeCallDecision {
    /// The call continues unchanged.
    Continue,
    /// The call continues with other arguments, which are validated again.
    Modify(RawArguments),
    /// The call is cancelled.
    Cancel {
        /// Reason for the caller.
        reason: String,
    },
}

/// Decision of a hook after a call.
#[derive(Debug, Clone)]
pub enum AfterCallDecision {
    /// The outcome does not change.
    Keep,
    /// The output replaces the tool's output or error.
    Replace(ToolOutput),
}

/// A failure of a hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Code that runs before and after calls. [`HookEntry::timeout`] limits each run, and a panic is a failure of
/// the hook, not of the call.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Runs before a call.
    ///
    /// # Errors
    /// [`HookError`]. [`HookEntry::on_error`] then decides whether the call continues.
    async fn before_call(&self, _call: &HookCall) -> Result<BeforeCallDecision, HookError> {
        Ok(BeforeCallDecision::Continue)
    }

    /// Runs after a call, whatever its outcome.
    ///
    /// # Errors
    /// [`HookError`], with the same effect as before a call.
    async fn after_call(&self, _call: &HookCall, _outcome: &Outcome) -> Result<AfterCallDecision, HookError> {
        Ok(AfterCallDecision::Keep)
    }
}

/// Effect of a failing hook on the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookErrorAction {
    /// The call continues as if the hook did not exist.
    FailOpen,
    /// The call ends as cancelled by the hook.
    FailClosed,
}

/// A hook and its configuration.
#[derive(Clone)]
pub struct HookEntry {
    /// Name given by the owner.
    pub name: Arc<str>,
    /// The hook.
    pub hook: Arc<dyn Hook>,
    /// Patterns of the tools whose calls the hook sees.
    pub tools: GlobPatterns,
    /// True if the hook runs before calls.
    pub runs_before: bool,
    /// True if the hook runs after calls.
    pub runs_after: bool,
    /// Timeout of one run.
    pub timeout: Duration,
    /// Effect of a failure.
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
