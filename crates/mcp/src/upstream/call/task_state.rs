//! The state of a server's task, as both protocol versions with tasks describe it.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::InputRequests;
use serde::Deserialize;
use toolway_types::RawJson;
use toolway_types::text::{MAX_QUOTE, shorten_error, truncate};

use crate::upstream::error::UpstreamError;

/// Minimum time between two polls, even if the server recommends less.
pub(super) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time between two polls, even if the server recommends more.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Time between two polls, if the server recommends none.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum length of a task id, in bytes. It is part of every poll.
const MAX_TASK_ID: usize = 1_024;
/// Maximum length of a status message, in bytes.
const MAX_STATUS_MESSAGE: usize = 1_000;

/// The state of a task.
#[derive(Debug)]
pub(super) struct TaskState {
    pub(super) id: String,
    pub(super) status: TaskStatus,
    /// The server's description of the state.
    pub(super) message: Option<String>,
    pub(super) poll_interval: Duration,
}

#[derive(Debug)]
pub(super) enum TaskStatus {
    Working,
    /// The server needs input. A server of 2026-07-28 lists its questions here; an older one sends them.
    InputRequired(InputRequests),
    /// The task ended. A server of 2026-07-28 has its result here.
    Completed(Option<RawJson>),
    /// The task failed. A server of 2026-07-28 has the error here.
    Failed(Option<ErrorData>),
    Cancelled,
}

impl TaskState {
    /// Reads a result of `tasks/get`, or of a call that became a task in 2026-07-28.
    ///
    /// # Errors
    /// [`UpstreamError::Malformed`].
    pub(super) fn parse(raw: &RawJson) -> Result<Self, UpstreamError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct TaskFields {
            task_id: String,
            status: String,
            #[serde(default)]
            status_message: Option<String>,
            /// The name in 2026-07-28.
            #[serde(default)]
            poll_interval_ms: Option<f64>,
            /// The name in 2025-11-25.
            #[serde(default)]
            poll_interval: Option<f64>,
            #[serde(default)]
            input_requests: Option<InputRequests>,
            #[serde(default)]
            result: Option<RawJson>,
            #[serde(default)]
            error: Option<ErrorData>,
        }
        let fields: TaskFields = raw.to().map_err(|error: serde_json::Error| {
            UpstreamError::Malformed(format!("its task can't be read: {}", shorten_error(&error)))
        })?;
        if fields.task_id.is_empty() || fields.task_id.len() > MAX_TASK_ID {
            let message = format!("the id of its task is empty or has more than {MAX_TASK_ID} bytes");
            return Err(UpstreamError::Malformed(message));
        }
        let status = match fields.status.as_str() {
            "working" => TaskStatus::Working,
            "input_required" => TaskStatus::InputRequired(fields.input_requests.unwrap_or_default()),
            "completed" => TaskStatus::Completed(fields.result),
            "failed" => TaskStatus::Failed(fields.error),
            "cancelled" => TaskStatus::Cancelled,
            other => {
                let message = format!("its task has the unknown status {:?}", truncate(other, MAX_QUOTE));
                return Err(UpstreamError::Malformed(message));
            }
        };
        let limits = MIN_POLL_INTERVAL.as_secs_f64()..=MAX_POLL_INTERVAL.as_secs_f64();
        let interval = fields.poll_interval_ms.or(fields.poll_interval);
        let poll_interval = interval.map_or(DEFAULT_POLL_INTERVAL, |ms| {
            Duration::from_secs_f64((ms / 1000.0).clamp(*limits.start(), *limits.end()))
        });
        let message = fields.status_message.map(|message| truncate(&message, MAX_STATUS_MESSAGE));
        Ok(Self { id: fields.task_id, status, message, poll_interval })
    }

    /// Reads the result of a call that became a task in 2025-11-25. `None` if it is the result of the tool.
    ///
    /// # Errors
    /// [`UpstreamError::Malformed`].
    pub(super) fn parse_created(raw: &RawJson) -> Result<Option<Self>, UpstreamError> {
        #[derive(Deserialize)]
        struct CreatedTask {
            #[serde(default)]
            task: Option<RawJson>,
            #[serde(default)]
            content: Option<RawJson>,
        }
        match raw.to::<CreatedTask>() {
            Ok(CreatedTask { task: Some(task), content: None }) => Self::parse(&task).map(Some),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
