//! Who may use which tool. What may not be used is neither listed nor callable, and looks as if it did not
//! exist.

use toolway_types::ToolId;

use crate::caller::Caller;

/// Decides who may use which tool. Asked on every lookup and listing, so it must be quick.
pub trait Access: Send + Sync + 'static {
    /// Whether this caller may list and call this tool.
    fn may_use(&self, caller: &Caller, tool: &ToolId) -> bool;
}

/// Lets every principal whose role may call tools use all of them.
#[derive(Debug, Default, Clone, Copy)]
pub struct ByRole;

impl Access for ByRole {
    fn may_use(&self, caller: &Caller, _: &ToolId) -> bool {
        caller.principal.role.may_call()
    }
}
