//! The knowledge whether a tool of a server runs only as a task.

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{ErrorCode, TASKS_EXTENSION_ID};
use serde::Deserialize;
use toolway_types::RawJson;

use super::error::UpstreamError;

/// True if a tool runs only as a task. A server of 2025-11-25 lists it (`execution.taskSupport`). A server of
/// 2026-07-28 refuses the first call (tasks extension, "Capability Negotiation").
#[derive(Debug)]
pub(super) struct TaskRequirement {
    is_listed: bool,
    needs_extension: AtomicBool,
}

impl TaskRequirement {
    /// Reads the requirement of a tool as its server listed it.
    pub(super) fn of_listed_tool(listed: Option<&RawJson>) -> Self {
        #[derive(Deserialize)]
        struct ListedTool {
            #[serde(default)]
            execution: Option<ToolExecution>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ToolExecution {
            #[serde(default)]
            task_support: Option<String>,
        }
        let support = listed
            .filter(|listed| listed.get().contains("taskSupport"))
            .and_then(|listed| listed.to::<ListedTool>().ok()?.execution?.task_support);
        Self { is_listed: support.as_deref() == Some("required"), needs_extension: AtomicBool::new(false) }
    }

    pub(super) fn is_required(&self) -> bool {
        self.is_listed || self.needs_extension()
    }

    /// Returns true if a server refused a call without the tasks extension. It exists only in the newer era.
    pub(super) fn needs_extension(&self) -> bool {
        self.needs_extension.load(Ordering::Relaxed)
    }

    /// Returns true if a server refused a call because the tool runs only as a task. Later calls start as tasks.
    pub(super) fn learn_from(&self, refusal: &UpstreamError) -> bool {
        let UpstreamError::RpcError(error) = refusal else { return false };
        let extensions =
            error.data.as_ref().and_then(|data| data.get("requiredCapabilities")?.get("extensions"));
        let is_required = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            && extensions.is_some_and(|extensions| extensions.get(TASKS_EXTENSION_ID).is_some());
        if is_required {
            self.needs_extension.store(true, Ordering::Relaxed);
        }
        is_required
    }

    /// Returns true if a server that takes tasks of 2025-11-25 refused a call because the tool runs only as a task
    /// ("Tasks", "Tool-Level Negotiation"). Not remembered, because a server may refuse unknown tools in the same way.
    pub(super) fn is_older_refusal(refusal: &UpstreamError) -> bool {
        matches!(refusal, UpstreamError::RpcError(error) if error.code == ErrorCode::METHOD_NOT_FOUND)
    }
}

#[cfg(test)]
mod tests;
