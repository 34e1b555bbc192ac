//! The trait of tools.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_types::{ToolError, ToolOutput};

use crate::arguments::Arguments;
use crate::context::CallContext;
use crate::spec::ToolSpec;

/// A tool that can be called, wherever it runs: here, on a phone or behind another server.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Spec of the tool.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Runs the tool, in its own task unless it [can run inline](Tool::can_run_inline). The future is dropped
    /// when the call's deadline passes or its caller leaves, so cleanup belongs in a guard's `Drop`; `cx` has
    /// the reason.
    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// True if the tool only waits for something else and never blocks a thread. It then runs in its caller's
    /// task, which is cheaper than its own task.
    fn can_run_inline(&self) -> bool {
        false
    }

    /// True if the tool itself reports when its request was sent ([`CallContext::mark_dispatched`]).
    /// Otherwise a call counts as dispatched from its start.
    fn marks_dispatch(&self) -> bool {
        false
    }
}
