//! Table of a device's running and finished calls. It makes sure that a call runs once, whatever happens to
//! the messages about it (docs/protocol.md, "Losing the connection"). It also keeps results until the gateway
//! acknowledges them.

mod device_call;
mod result_cache;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use toolway_wire::gateway_message::ToolCallRequest;

pub(crate) use device_call::DeviceCall;
use result_cache::ResultCache;
pub(crate) use result_cache::ResultCacheBounds;

/// Maximum number of calls that run or are queued. The gateway's own limit is lower.
const MAX_OPEN_CALLS: usize = 1024;
/// Time after its deadline until an orphaned call is stopped.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// Send queue of the current connection.
#[derive(Debug, Clone)]
pub(crate) struct GatewayLink {
    /// Number of the connection.
    pub(crate) epoch: u64,
    /// Protocol version of the connection.
    pub(crate) version: u32,
    /// Maximum frame size that the gateway accepts, in bytes.
    pub(crate) frame_limit: usize,
    pub(crate) queue: mpsc::Sender<Utf8Bytes>,
}

impl GatewayLink {
    pub(crate) async fn send(&self, frame: Utf8Bytes) -> Result<(), ()> {
        self.queue.send(frame).await.map_err(|_| ())
    }

    /// Queues a frame without waiting; returns it if the queue is full. A closed queue drops the frame
    /// without an error.
    pub(crate) fn try_send(&self, frame: Utf8Bytes) -> Result<(), Utf8Bytes> {
        match self.queue.try_send(frame) {
            Err(mpsc::error::TrySendError::Full(frame)) => Err(frame),
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }
}

/// Decision on a call request.
pub(crate) enum CallAdmission {
    /// The call is new and must run.
    Run(Arc<DeviceCall>),
    /// The call is already running. If a person is being asked, the frame repeats this to the gateway.
    Running(Option<Utf8Bytes>),
    /// The call has finished with this result.
    Cached(Utf8Bytes),
    /// The call has finished, but its result is no longer stored.
    ResultDropped,
    /// Too many calls are open.
    TooManyCalls,
}

#[derive(Debug, Default)]
struct CallTableState {
    link: Option<GatewayLink>,
    running: HashMap<Arc<str>, RunningCall>,
    memory: ResultCache,
}

impl CallTableState {
    fn finish_call(&mut self, call: &DeviceCall, frame: Utf8Bytes, settled: bool) {
        self.running.remove(&call.id);
        self.memory.remember(Arc::clone(&call.id), frame, settled, Instant::now());
    }
}

struct RunningCall {
    call: Arc<DeviceCall>,
    /// Number of the last connection that requested the call.
    epoch: u64,
    /// True if the gateway closed the call, so nobody needs the result.
    abandoned: bool,
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "running since connection {}", self.epoch)
    }
}

/// All calls of one device.
#[derive(Debug)]
pub(crate) struct CallTable {
    state: Mutex<CallTableState>,
    /// Notified when the last running call ends.
    idle: Notify,
}

impl CallTable {
    pub(crate) fn new(bounds: ResultCacheBounds) -> Self {
        let state = CallTableState { memory: ResultCache::new(bounds), ..CallTableState::default() };
        Self { state: Mutex::new(state), idle: Notify::new() }
    }

    /// Send queue of the current connection, if connected.
    pub(crate) fn link(&self) -> Option<GatewayLink> {
        self.state.lock().link.clone()
    }

    /// Send queue, if the gateway's protocol version supports progress reports.
    pub(crate) fn reporting_link(&self) -> Option<GatewayLink> {
        self.link().filter(|link| link.version >= 2)
    }

    /// Registers a new connection. Returns the unacknowledged results of earlier connections.
    pub(crate) fn attach(&self, link: GatewayLink) -> Vec<Utf8Bytes> {
        let mut state = self.state.lock();
        state.link = Some(link);
        state.memory.unacknowledged()
    }

    /// Removes the connection. If the gateway will not resume it, its calls are abandoned.
    pub(crate) fn detach(&self, resumable: bool) {
        let mut state = self.state.lock();
        state.link = None;
        if !resumable {
            for running in state.running.values_mut() {
                running.abandoned = true;
                running.call.cancel.cancel();
            }
            state.memory.acknowledge_all();
        }
    }

    /// Admits a call request.
    pub(crate) fn begin(self: &Arc<Self>, request: &ToolCallRequest, epoch: u64) -> CallAdmission {
        let now = Instant::now();
        let deadline = request.deadline_ms.and_then(|ms| now.checked_add(Duration::from_millis(ms)));
        let mut state = self.state.lock();
        if let Some(running) = state.running.get_mut(request.id.as_str()) {
            running.epoch = epoch;
            running.abandoned = false;
            return CallAdmission::Running(running.call.record_request(request.attempt, deadline));
        }
        if let Some(known) = state.memory.recall(&request.id, now) {
            return known.map_or(CallAdmission::ResultDropped, CallAdmission::Cached);
        }
        if state.running.len() >= MAX_OPEN_CALLS {
            return CallAdmission::TooManyCalls;
        }
        let id: Arc<str> = request.id.as_str().into();
        let call = Arc::new(DeviceCall::new(Arc::clone(&id), request.name.clone(), Arc::clone(self)));
        call.record_request(request.attempt, deadline);
        state.running.insert(id, RunningCall { call: Arc::clone(&call), epoch, abandoned: false });
        CallAdmission::Run(call)
    }

    /// Stores the result of a call. Returns it with the send queue if connected and the gateway still waits
    /// for it.
    pub(crate) fn finish(&self, call: &DeviceCall, frame: Utf8Bytes) -> Option<(GatewayLink, Utf8Bytes)> {
        let mut state = self.state.lock();
        let given_up = state.running.get(&call.id).is_none_or(|running| running.abandoned);
        state.finish_call(call, frame.clone(), given_up);
        self.notify_if_idle(&state);
        state.link.clone().filter(|_| !given_up).map(|link| (link, frame))
    }

    /// Ends a call that nobody waits for. Stores the answer for a repeated request, but sends nothing.
    pub(crate) fn abandon(&self, call: &DeviceCall, frame: Utf8Bytes) {
        let mut state = self.state.lock();
        state.finish_call(call, frame, true);
        self.notify_if_idle(&state);
    }

    /// Marks a result as received by the gateway.
    pub(crate) fn acknowledge(&self, id: &str) {
        self.state.lock().memory.acknowledge(id);
    }

    /// Cancels a call. Returns true if it was running.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let state = self.state.lock();
        let found = state.running.get(id);
        if let Some(running) = found {
            running.call.cancel.cancel();
        }
        found.is_some()
    }

    /// Cancels all calls.
    pub(crate) fn cancel_all(&self) {
        self.state.lock().running.values().for_each(|running| running.call.cancel.cancel());
    }

    /// Stops calls that are past their deadline and that no live connection has requested. Their gateway is
    /// gone or has forgotten them, so nobody else stops them. Returns the time of the next check.
    pub(crate) fn cancel_orphans(&self) -> Option<Instant> {
        let now = Instant::now();
        let state = self.state.lock();
        let epoch = state.link.as_ref().map(|link| link.epoch);
        let mut next: Option<Instant> = None;
        for running in state.running.values() {
            let call = &running.call;
            if Some(running.epoch) == epoch || call.cancel.is_cancelled() {
                continue;
            }
            let Some(end) = call.deadline(now).map(|deadline| deadline + ORPHAN_GRACE) else { continue };
            if end <= now {
                tracing::info!(id = %call.id, tool = %call.name, "stopped an orphaned call");
                call.cancel.cancel();
            } else {
                next = Some(next.map_or(end, |earliest| earliest.min(end)));
            }
        }
        next
    }

    /// Removes expired results.
    pub(crate) fn prune(&self) {
        self.state.lock().memory.prune(Instant::now());
    }

    /// Waits until no call is running.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.state.lock().running.is_empty() {
                return;
            }
            idle.await;
        }
    }

    fn notify_if_idle(&self, state: &CallTableState) {
        if state.running.is_empty() {
            self.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
