//! Which calls run and which have run: the memory that makes a call run once, whatever the network does to
//! the messages about it (docs/protocol.md, "Losing the connection"), and the results that the gateway has not yet
//! acknowledged.

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

/// Most calls that run or wait for their turn. The gateway's own limit is lower.
const MAX_OPEN_CALLS: usize = 1024;
/// How long after its deadline a call is stopped whose gateway is gone.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// The way to the gateway, while there is one.
#[derive(Debug, Clone)]
pub(crate) struct GatewayLink {
    /// Counts connections.
    pub(crate) epoch: u64,
    /// The version spoken.
    pub(crate) version: u32,
    /// The largest frame that the gateway takes, in bytes.
    pub(crate) frame_limit: usize,
    pub(crate) queue: mpsc::Sender<Utf8Bytes>,
}

impl GatewayLink {
    pub(crate) async fn send(&self, frame: Utf8Bytes) -> Result<(), ()> {
        self.queue.send(frame).await.map_err(|_| ())
    }

    /// Gives the frame back where the queue is full. A closed queue is like one that took it.
    pub(crate) fn try_send(&self, frame: Utf8Bytes) -> Result<(), Utf8Bytes> {
        match self.queue.try_send(frame) {
            Err(mpsc::error::TrySendError::Full(frame)) => Err(frame),
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }
}

/// What a request comes to.
pub(crate) enum CallAdmission {
    /// It is new: run it.
    Run(Arc<DeviceCall>),
    /// It runs already; the gateway may have to be told once more that a person is being asked.
    Running(Option<Utf8Bytes>),
    /// It has run; this was its result.
    Cached(Utf8Bytes),
    /// It has run, but the result is no longer kept.
    ResultDropped,
    /// Too many are open.
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
    /// The connection that asked for it last.
    epoch: u64,
    /// Whether the gateway has closed it, so that its result is nobody's.
    abandoned: bool,
}

impl std::fmt::Debug for RunningCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "running since connection {}", self.epoch)
    }
}

/// Every call of one device.
#[derive(Debug)]
pub(crate) struct CallTable {
    state: Mutex<CallTableState>,
    /// Told each time a call ends while none other runs.
    idle: Notify,
}

impl CallTable {
    pub(crate) fn new(bounds: ResultCacheBounds) -> Self {
        let state = CallTableState { memory: ResultCache::new(bounds), ..CallTableState::default() };
        Self { state: Mutex::new(state), idle: Notify::new() }
    }

    /// The way to the gateway.
    pub(crate) fn link(&self) -> Option<GatewayLink> {
        self.state.lock().link.clone()
    }

    /// The way to a gateway that knows reports.
    pub(crate) fn reporting_link(&self) -> Option<GatewayLink> {
        self.link().filter(|link| link.version >= 2)
    }

    /// A new connection. Gives back the results that no connection before has had acknowledged.
    pub(crate) fn attach(&self, link: GatewayLink) -> Vec<Utf8Bytes> {
        let mut state = self.state.lock();
        state.link = Some(link);
        state.memory.unacknowledged()
    }

    /// The connection is gone. Where the gateway will not resume it, its calls are over there.
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

    /// Takes a request.
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

    /// A call has its result. It is kept, and given back with the way to send it, where there is one and
    /// somebody waits for it.
    pub(crate) fn finish(&self, call: &DeviceCall, frame: Utf8Bytes) -> Option<(GatewayLink, Utf8Bytes)> {
        let mut state = self.state.lock();
        let given_up = state.running.get(&call.id).is_none_or(|running| running.abandoned);
        state.finish_call(call, frame.clone(), given_up);
        self.notify_if_idle(&state);
        state.link.clone().filter(|_| !given_up).map(|link| (link, frame))
    }

    /// A call was stopped because nobody waits for it. What would be answered if it is asked for again is
    /// kept; nothing is sent.
    pub(crate) fn abandon(&self, call: &DeviceCall, frame: Utf8Bytes) {
        let mut state = self.state.lock();
        state.finish_call(call, frame, true);
        self.notify_if_idle(&state);
    }

    /// The gateway has a result.
    pub(crate) fn acknowledge(&self, id: &str) {
        self.state.lock().memory.acknowledge(id);
    }

    /// Nobody waits for a call any more. Says whether it was running.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let state = self.state.lock();
        let found = state.running.get(id);
        if let Some(running) = found {
            running.call.cancel.cancel();
        }
        found.is_some()
    }

    /// Nobody waits for any of them.
    pub(crate) fn cancel_all(&self) {
        self.state.lock().running.values().for_each(|running| running.call.cancel.cancel());
    }

    /// Stops the calls that no live connection has asked for and whose time is over: their gateway is gone,
    /// or has forgotten them, and nobody else will. Says when to look again.
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
                tracing::info!(id = %call.id, tool = %call.name, "stopped a call that its gateway left behind");
                call.cancel.cancel();
            } else {
                next = Some(next.map_or(end, |earliest| earliest.min(end)));
            }
        }
        next
    }

    /// Forgets what is older than it need be.
    pub(crate) fn prune(&self) {
        self.state.lock().memory.prune(Instant::now());
    }

    /// Waits until no call runs.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            let told = self.idle.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.state.lock().running.is_empty() {
                return;
            }
            told.await;
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
