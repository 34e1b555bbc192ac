//! The time limits of a run, and the errors of runs that exceed them.

use std::time::Duration;

use toolway_types::{Code, ToolError};

use super::external_end::external_end_error;
use super::lookup::CallTarget;
use crate::call_request::CallRequest;
use crate::context::CancelReason;
use crate::engine_settings::EngineSettings;

/// The time limits of a run: in total, and without progress.
#[derive(Clone, Copy)]
pub(super) struct RunLimits {
    pub(super) run: Duration,
    pub(super) silence: Option<Duration>,
}

impl RunLimits {
    /// Error of a call that ended for this reason.
    pub(super) fn error(self, reason: CancelReason) -> ToolError {
        match reason {
            CancelReason::Deadline => ToolError::new(
                Code::Timeout,
                format!("The tool did not answer within {}", format_duration(self.run)),
            ),
            CancelReason::Silence => {
                let bound = format_duration(self.silence.unwrap_or(self.run));
                ToolError::new(Code::NoProgress, format!("The tool reported no progress for {bound}"))
            }
            CancelReason::Caller | CancelReason::Shutdown => external_end_error(reason),
        }
    }
}

/// Timeout of a run: the smallest of the tool's limit, the caller's timeout and the cap.
pub(super) fn run_timeout(settings: &EngineSettings, call: &CallRequest, target: &CallTarget) -> Duration {
    let limit = settings.tool_timeout(&target.id, target.tool.spec()).min(settings.timeout_cap);
    limit.min(call.timeout.unwrap_or(limit))
}

pub(super) fn format_duration(duration: Duration) -> String {
    if duration.as_millis().is_multiple_of(1000) {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
