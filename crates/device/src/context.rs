//! What a running tool gets beside its arguments: the time that remains, word that nobody waits any more,
//! and ways to report.

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

/// One report of a running tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProgressReport {
    /// How far.
    pub progress: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
    /// Output so far.
    pub content: Vec<ContentPart>,
}

impl ProgressReport {
    /// So far.
    #[must_use]
    pub fn new(progress: f64) -> Self {
        Self { progress, ..Self::default() }
    }

    /// Of so much.
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// In words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// With a part of the output.
    #[must_use]
    pub fn with_content(mut self, part: ContentPart) -> Self {
        self.content.push(part);
        self
    }
}

/// What a tool's function gets beside its arguments. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext(pub(crate) Arc<DeviceCall>);

impl ToolContext {
    /// Of a call that no gateway made.
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

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.0.id
    }

    /// The name under which the tool was called.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.0.name
    }

    /// How much time the gateway leaves; nothing where it did not say. It is for tools that can do less in
    /// less time: the gateway itself cancels what is late.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let now = Instant::now();
        self.0.deadline(now).map(|deadline| deadline.saturating_duration_since(now))
    }

    /// Whether nobody waits for the result any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Waits until nobody waits for the result any more. A tool that wants to clean up awaits this beside
    /// its work; one that does not is dropped a moment after.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// A token that is cancelled with the call, to hand on.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.cancel.child_token()
    }

    /// Reports how far it is. Waits for room where the socket is slow; where there is no connection, or the
    /// gateway does not know reports, nothing is sent.
    pub async fn report_progress(&self, report: ProgressReport) {
        self.0.timing.lock().last_progress = report.progress;
        let ProgressReport { progress, total, message, content } = report;
        self.send(ToolProgress { id: self.call_id().to_owned(), progress, total, message, content }).await;
    }

    /// Says that a person is being asked on this device. The gateway's clock for this call stands still, for
    /// two minutes a call in all, until the guard is dropped.
    pub async fn start_waiting(&self, waiting_for: WaitingFor, prompt: impl Into<String>) -> WaitingGuard {
        self.start_waiting_with_hint(waiting_for, prompt, None).await
    }

    /// The same with a hint: where or how the person can answer.
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
            // A closed queue means that the connection is gone, and with it whoever would read this.
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

/// While it lives, a person is being asked. Dropping it lets the gateway's clock run on.
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
        // The next frame of the call starts the clock again. Where the queue is full, one is sent as soon
        // as there is room.
        if let (Err(frame), Ok(runtime)) = (link.try_send(frame), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { link.send(frame).await });
        }
    }
}

#[cfg(test)]
mod tests;
