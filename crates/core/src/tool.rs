//! What can be called.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::{ToolError, ToolOutput};

use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::spec::ToolSpec;

/// Something callable. Whether it runs here, on a phone or behind another server is its own affair.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What it is.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Runs it, in a task of its own unless it [only waits](Tool::only_waits). It is dropped half-way when the call's
    /// deadline passes or its caller goes, so what must be cleaned up belongs in a guard's `Drop`; `cx` tells the
    /// reason.
    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// Whether running it is nothing but waiting for somebody else, so that it never keeps a thread busy. Then it runs
    /// within its caller's task, which takes less than a task of its own.
    fn can_run_inline(&self) -> bool {
        false
    }

    /// Whether the tool says itself when the request has left for it ([`CallContext::mark_dispatched`]).
    /// Otherwise a call counts as dispatched from the moment it runs.
    fn marks_dispatch(&self) -> bool {
        false
    }
}
