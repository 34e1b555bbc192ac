//! The result of a call.

use std::sync::Arc;

use toolway_types::{CallId, Outcome, ToolId};

use crate::record::CallDurations;

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct FinishedCall {
    /// The id of the call whose outcome this is: that of an earlier call if an idempotency key was used
    /// again.
    pub id: CallId,
    /// The tool, if the name resolved to one.
    pub tool: Option<ToolId>,
    /// The outcome.
    pub outcome: Arc<Outcome>,
    /// The durations of its phases.
    pub durations: CallDurations,
}
