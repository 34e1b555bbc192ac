//! Context of a running tool: remaining time, cancellation, and progress reports.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;
use toolway_types::ContentPart;
use toolway_wire::ClientMessage;
use toolway_wire::client_message::{ToolProgress, ToolWaiting, WaitingFor};

use crate::call_table::{CallTable, DeviceCall, ResultCacheBounds};

/// Progress report of a running tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProgressReport {
    /// Progress so far.
    pub progress: f64,
    /// Total number of steps, if known.
    pub total: Option<f64>,
    /// Description of the current step.
    pub message: Option<String>,
    /// Partial output.
    pub content: Vec<ContentPart>,
}

impl ProgressReport {
    /// Creates a report.
    #[must_use]
    pub fn new(progress: f64) -> Self {
        Self { progress, ..Self::default() }
    }

    /// Sets the total.
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Adds a part of the output.
    #[must_use]
    pub fn with_content(mut self, part: ContentPart) -> Self {
        self.content.push(part);
        self
    }
}

/// Context that a tool's function gets in addition to its arguments. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext(pub(crate) Arc<DeviceCall>);

impl ToolContext {
    /// Creates a context for a local call, without a gateway.
    pub(crate) fn without_gateway(
        tool: &str,
        cancel: CancellationToken,
        remaining: Option<Duration>,
    ) -> Self {
        let calls = Arc::new(CallTable::new(ResultCacheBounds::default()));
        let call = DeviceCall { cancel, ..DeviceCall::new("local".into(), tool.to_owned(), calls) };
        call.record_request(None, remaining.and_then(|left| Instant::now().checked_add(left)));
        Self(Arc::new(call))
    }

    /// Id of the call.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.0.id
    }

    /// Name under which the tool was called.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.0.name
    }

    /// Remaining time before the gateway cancels the call; `None` if the gateway did not send a deadline. Use
    /// it if the tool can do less work in less time.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let now = Instant::now();
        self.0.deadline(now).map(|deadline| deadline.saturating_duration_since(now))
    }

    /// True if nobody waits for the result any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Waits until the call is cancelled. A tool that needs to clean up awaits this next to its work. Other
    /// tools are dropped shortly after the cancellation.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// Token that is cancelled with the call, to pass on.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.cancel.child_token()
    }

    /// Reports progress. Waits if the socket is slow. Does nothing without a connection, or if the gateway
    /// does not support progress reports.
    pub async fn report_progress(&self, report: ProgressReport) {
        self.0.timing.lock().last_progress = report.progress;
        let ProgressReport { progress, total, message, content } = report;
        self.send(ToolProgress { id: self.call_id().to_owned(), progress, total, message, content }).await;
    }

    /// Reports that a person is being asked on this device. The gateway's clock for this call pauses until
    /// the guard is dropped, for at most two minutes per call.
    pub async fn start_waiting(&self, waiting_for: WaitingFor, prompt: impl Into<String>) -> WaitingGuard {
        self.start_waiting_with_hint(waiting_for, prompt, None).await
    }

    /// Like [`start_waiting`](Self::start_waiting), with a hint that tells the person where or how to answer.
    pub async fn start_waiting_with_hint(
        &self,
        waiting_for: WaitingFor,
        prompt: impl Into<String>,
        hint: Option<String>,
    ) -> WaitingGuard {
        let message =
            ToolWaiting { id: self.call_id().to_owned(), waiting_for, prompt: Some(prompt.into()), hint };
        let frame = Utf8Bytes::from(ClientMessage::from(message).encode());
        {
            let mut timing = self.0.timing.lock();
            timing.waiting_since = Some(Instant::now());
            timing.waiting_frame = Some(frame.clone());
        }
        self.send_frame(frame).await;
        WaitingGuard(self.clone())
    }

    async fn send(&self, message: impl Into<ClientMessage>) {
        self.send_frame(message.into().encode().into()).await;
    }

    async fn send_frame(&self, frame: Utf8Bytes) {
        if let Some(link) = self.0.calls.reporting_link() {
            // A closed queue means that the connection is gone, so nobody would read the frame.
            let _ = link.send(frame).await;
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("id", &self.0.id)
            .field("tool", &self.0.name)
            .finish_non_exhaustive()
    }
}

/// Guard that pauses the gateway's clock while a person is asked. Dropping it resumes the clock.
#[derive(Debug)]
pub struct WaitingGuard(ToolContext);

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        let call = &self.0.0;
        let progress = {
            let mut timing = call.timing.lock();
            if let Some(since) = timing.waiting_since.take() {
                timing.waited += since.elapsed();
            }
            timing.waiting_frame = None;
            timing.last_progress
        };
        let Some(link) = call.calls.reporting_link() else { return };
        let message = ToolProgress { id: call.id.to_string(), progress, ..ToolProgress::default() };
        let frame = Utf8Bytes::from(ClientMessage::from(message).encode());
        // The next frame of the call resumes the clock. If the queue is full, a task sends one when there is
        // room.
        if let (Err(frame), Ok(runtime)) = (link.try_send(frame), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { link.send(frame).await });
        }
    }
}

#[cfg(test)]
mod tests;
