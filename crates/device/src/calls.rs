//! Which calls run and which have run: the memory that makes a call run once, whatever the network does to
//! the messages about it (rule 6 of the protocol), and the results that the gateway has not yet
//! acknowledged.

mod memory;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use toolway_wire::from_gateway::ToolCallRequest;

use crate::context::Call;
pub(crate) use memory::Bounds;
use memory::Memory;

/// Most calls that run or wait for their turn. The gateway's own limit is lower.
const MOST_OPEN: usize = 1024;
/// How long after its deadline a call is stopped whose gateway is gone.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// The way to the gateway, while there is one.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Counts connections.
    pub(crate) epoch: u64,
    /// The version spoken.
    pub(crate) version: u32,
    /// The largest frame that the gateway takes, in bytes.
    pub(crate) frame_limit: usize,
    pub(crate) queue: mpsc::Sender<Utf8Bytes>,
}

impl Link {
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
pub(crate) enum Begin {
    /// It is new: run it.
    Run(Arc<Call>),
    /// It runs already; the gateway may have to be told once more that a person is being asked.
    Running(Option<Utf8Bytes>),
    /// It has run; this was its result.
    Answer(Utf8Bytes),
    /// It has run, but the result is no longer kept.
    Forgotten,
    /// Too many are open.
    TooMany,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Link>,
    running: HashMap<Arc<str>, Running>,
    memory: Memory,
}

impl State {
    fn end(&mut self, call: &Call, frame: Utf8Bytes, settled: bool) {
        self.running.remove(&call.id);
        self.memory.remember(Arc::clone(&call.id), frame, settled, Instant::now());
    }
}

struct Running {
    call: Arc<Call>,
    /// The connection that asked for it last.
    epoch: u64,
    /// Whether the gateway has closed it, so that its result is nobody's.
    given_up: bool,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "running since connection {}", self.epoch)
    }
}

/// Every call of one device.
#[derive(Debug)]
pub(crate) struct Calls {
    state: Mutex<State>,
    /// Told each time a call ends while none other runs.
    quiet: Notify,
}

impl Calls {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let state = State { memory: Memory::new(bounds), ..State::default() };
        Self { state: Mutex::new(state), quiet: Notify::new() }
    }

    /// The way to the gateway.
    pub(crate) fn link(&self) -> Option<Link> {
        self.state.lock().link.clone()
    }

    /// The way to a gateway that knows reports.
    pub(crate) fn reporting_link(&self) -> Option<Link> {
        self.link().filter(|link| link.version >= 2)
    }

    /// A new connection. Gives back the results that no connection before has had acknowledged.
    pub(crate) fn attach(&self, link: Link) -> Vec<Utf8Bytes> {
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
                running.given_up = true;
                running.call.cancel.cancel();
            }
            state.memory.acknowledge_all();
        }
    }

    /// Takes a request.
    pub(crate) fn begin(self: &Arc<Self>, request: &ToolCallRequest, epoch: u64) -> Begin {
        let now = Instant::now();
        let deadline = request.deadline_ms.and_then(|ms| now.checked_add(Duration::from_millis(ms)));
        let mut state = self.state.lock();
        if let Some(running) = state.running.get_mut(request.id.as_str()) {
            running.epoch = epoch;
            running.given_up = false;
            return Begin::Running(running.call.requested(request.attempt, deadline));
        }
        if let Some(known) = state.memory.recall(&request.id, now) {
            return known.map_or(Begin::Forgotten, Begin::Answer);
        }
        if state.running.len() >= MOST_OPEN {
            return Begin::TooMany;
        }
        let id: Arc<str> = request.id.as_str().into();
        let call = Arc::new(Call::new(Arc::clone(&id), request.name.clone(), Arc::clone(self)));
        call.requested(request.attempt, deadline);
        state.running.insert(id, Running { call: Arc::clone(&call), epoch, given_up: false });
        Begin::Run(call)
    }

    /// A call has its result. It is kept, and given back with the way to send it, where there is one and
    /// somebody waits for it.
    pub(crate) fn finish(&self, call: &Call, frame: Utf8Bytes) -> Option<(Link, Utf8Bytes)> {
        let mut state = self.state.lock();
        let given_up = state.running.get(&call.id).is_none_or(|running| running.given_up);
        state.end(call, frame.clone(), given_up);
        self.tell_if_quiet(&state);
        state.link.clone().filter(|_| !given_up).map(|link| (link, frame))
    }

    /// A call was stopped because nobody waits for it. What would be answered if it is asked for again is
    /// kept; nothing is sent.
    pub(crate) fn abandon(&self, call: &Call, frame: Utf8Bytes) {
        let mut state = self.state.lock();
        state.end(call, frame, true);
        self.tell_if_quiet(&state);
    }

    /// The gateway has a result.
    pub(crate) fn acknowledged(&self, id: &str) {
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
    pub(crate) async fn until_quiet(&self) {
        loop {
            let told = self.quiet.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if self.state.lock().running.is_empty() {
                return;
            }
            told.await;
        }
    }

    fn tell_if_quiet(&self, state: &State) {
        if state.running.is_empty() {
            self.quiet.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
