//! A device's seat: its registration and its calls, which may outlive one socket. A socket sits down on it
//! and gets up again; with `resume`, the next socket of the same device takes the seat over, tools and calls
//! in flight included. Without, the seat ends with its socket.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolway_core::{CallContext, Lease, Progress, ToolSpec};
use toolway_types::{CallId, Code, RawJson, ToolError};
use toolway_wire::GatewayMessage;
use toolway_wire::from_gateway::{ResultStatus, ToolCallCancel, ToolCallRequest};

use super::calls::{DeviceCalls, Reply, WaitingCall};
use super::remote_tool::RemoteTool;
use super::source::Source;
use crate::socket::outbox::Outbox;

/// A registration and its calls.
#[derive(Debug)]
pub(crate) struct Seat {
    source: Arc<Source>,
    /// The protocol version agreed with the device.
    version: u32,
    /// What a later socket must give to take this seat over; none where the device can't resume.
    resume_token: Option<String>,
    calls_limit: usize,
    calls: Mutex<DeviceCalls>,
    attached: Mutex<Attached>,
    /// Owns what was registered; none once the seat has ended.
    lease: Mutex<Option<Lease>>,
    last_heard_ms: AtomicI64,
    ended: AtomicBool,
}

/// The socket that sits here.
#[derive(Debug, Default)]
struct Attached {
    /// Counts the sockets that sat here, so that a late one can't undo a newer one.
    epoch: u64,
    outbox: Option<Outbox>,
    /// Cancelled when another socket takes the seat.
    displaced: CancellationToken,
    since_ms: i64,
}

/// A socket's stay on a seat.
#[derive(Debug)]
pub(crate) struct Stay {
    pub(crate) seat: Arc<Seat>,
    epoch: u64,
}

/// What a seat can do for its device.
#[derive(Debug)]
pub(crate) struct SeatTerms {
    pub(crate) version: u32,
    pub(crate) resume_token: Option<String>,
    pub(crate) calls_limit: usize,
}

impl Seat {
    pub(crate) fn new(source: Arc<Source>, lease: Lease, terms: SeatTerms) -> Arc<Self> {
        Arc::new(Self {
            source,
            version: terms.version,
            resume_token: terms.resume_token,
            calls_limit: terms.calls_limit,
            calls: Mutex::default(),
            attached: Mutex::default(),
            lease: Mutex::new(Some(lease)),
            last_heard_ms: AtomicI64::new(0),
            ended: AtomicBool::new(false),
        })
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn resume_token(&self) -> Option<&str> {
        self.resume_token.as_deref()
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.attached.lock().outbox.is_some()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// When the present socket sat down, in milliseconds since the Unix epoch.
    pub(crate) fn since_ms(&self) -> i64 {
        self.attached.lock().since_ms
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.lock().len()
    }

    pub(crate) fn last_heard_ms(&self) -> i64 {
        self.last_heard_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn heard(&self, now_ms: i64) {
        self.last_heard_ms.store(now_ms, Ordering::Relaxed);
    }

    /// What is registered here; none once the seat has ended.
    pub(crate) fn with_lease<R>(&self, then: impl FnOnce(&Lease) -> R) -> Option<R> {
        self.lease.lock().as_ref().map(then)
    }

    /// The tools of these specs, running on this seat's device.
    pub(crate) fn tools(self: &Arc<Self>, specs: Vec<Arc<ToolSpec>>) -> Vec<Arc<dyn toolway_core::Tool>> {
        let tool = |spec| RemoteTool::new(spec, Arc::downgrade(self)) as Arc<dyn toolway_core::Tool>;
        specs.into_iter().map(tool).collect()
    }

    /// A socket sits down. The one that sat here is displaced; requests without an answer are sent again.
    pub(crate) async fn attach(
        self: &Arc<Self>,
        outbox: Outbox,
        displaced: CancellationToken,
        now_ms: i64,
    ) -> Stay {
        let (stay, again) = {
            // Calls first, then the socket: the order in which `begin` takes them.
            let mut calls = self.calls.lock();
            let mut attached = self.attached.lock();
            attached.displaced.cancel();
            attached.epoch += 1;
            attached.displaced = displaced;
            attached.outbox = Some(outbox.clone());
            attached.since_ms = now_ms;
            let stay = Stay { seat: self.clone(), epoch: attached.epoch };
            let again: Vec<String> =
                calls.in_order().into_iter().map(|(id, call)| self.request(id, call)).collect();
            (stay, again)
        };
        self.heard(now_ms);
        for frame in again {
            if outbox.send(frame).await.is_err() {
                break;
            }
        }
        stay
    }

    /// Writes a call's request, counting one more attempt.
    fn request(&self, id: CallId, call: &mut WaitingCall) -> String {
        call.attempt += 1;
        call.context.mark_dispatched();
        let newer = self.version >= 2;
        let remaining = u64::try_from(call.context.remaining().as_millis()).unwrap_or(u64::MAX);
        let (deadline_ms, attempt) = (newer.then_some(remaining), newer.then_some(call.attempt));
        ToolCallRequest::write(id, call.tool.as_str(), &call.arguments, deadline_ms, attempt)
    }

    /// Asks the device to run a tool. The answer comes through the receiver; its sender is dropped when the
    /// seat ends first.
    ///
    /// # Errors
    /// `overloaded` where too many calls are in flight, `device_disconnected` where the seat has ended.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        spec: &ToolSpec,
        arguments: RawJson,
        context: &CallContext,
    ) -> Result<InFlight, ToolError> {
        let (reply, receiver) = oneshot::channel();
        let id = context.call_id();
        let mut call =
            WaitingCall { tool: spec.name().clone(), arguments, context: context.clone(), reply, attempt: 0 };
        let send = {
            let mut calls = self.calls.lock();
            if self.has_ended() {
                return Err(disconnected(false));
            }
            if calls.len() >= self.calls_limit {
                return Err(self.overloaded());
            }
            let outbox = self.attached.lock().outbox.clone();
            let send = outbox.map(|outbox| (outbox, self.request(id, &mut call)));
            calls.insert(id, call);
            send
        };
        let in_flight = InFlight { seat: self.clone(), context: context.clone(), receiver };
        if let Some((outbox, frame)) = send {
            // A socket that is going is noticed by its own task: it detaches, and ends or resumes the calls.
            let _ = outbox.send(frame).await;
        }
        Ok(in_flight)
    }

    fn overloaded(&self) -> ToolError {
        let message = format!("{} has {} calls in flight already", self.source.slug(), self.calls_limit);
        ToolError::new(Code::Overloaded, message).with_hint(
            "Wait for some of them to end; the limit is the setting limits.calls_in_flight_per_device",
        )
    }

    /// The device answered a call.
    pub(crate) fn answer(&self, id: &str, reply: impl FnOnce() -> Reply) -> ResultStatus {
        let Ok(id) = id.parse::<CallId>() else { return ResultStatus::Unknown };
        let call = match self.calls.lock().answered(&id) {
            Ok(call) => call,
            Err(status) => return status,
        };
        // Where the call is just being ended from outside, that came first.
        if call.context.answered() && call.reply.send(reply()).is_ok() {
            ResultStatus::Accepted
        } else {
            ResultStatus::Late
        }
    }

    /// The device reported progress; unknown calls are ignored.
    pub(crate) fn progress(&self, id: &str, progress: Progress) {
        if let Some(context) = self.context(id) {
            context.progress(progress);
        }
    }

    /// A person is being asked on the device, in these words; unknown calls are ignored.
    pub(crate) fn waiting(&self, id: &str, words: impl FnOnce() -> Option<String>) {
        if let Some(context) = self.context(id) {
            context.wait_for_person();
            if let Some(words) = words() {
                context.say(words);
            }
        }
    }

    fn context(&self, id: &str) -> Option<CallContext> {
        let id = id.parse::<CallId>().ok()?;
        self.calls.lock().get(&id).map(|call| call.context.clone())
    }

    /// Ends the seat: its tools leave, its calls end as `device_disconnected`.
    pub(crate) fn end(&self) {
        let waiting = {
            let mut calls = self.calls.lock();
            self.ended.store(true, Ordering::Release);
            calls.clear()
        };
        let mut attached = self.attached.lock();
        attached.displaced.cancel();
        attached.outbox = None;
        drop(attached);
        for call in waiting {
            if call.context.answered() {
                // Where its task is gone, nobody waits.
                let _ = call.reply.send(Err(disconnected(call.attempt > 0)));
            }
        }
        let lease = self.lease.lock().take();
        drop(lease);
    }
}

impl Stay {
    /// The socket gets up. Says whether it was still the one sitting here.
    pub(crate) fn leave(&self) -> bool {
        let mut attached = self.seat.attached.lock();
        let mine = attached.epoch == self.epoch;
        if mine {
            attached.outbox = None;
        }
        mine
    }

    /// Does something while no other socket can sit down here and the seat can't end; not where one has, or it has.
    pub(crate) fn while_seated<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        let attached = self.seat.attached.lock();
        (attached.epoch == self.epoch && attached.outbox.is_some()).then(then)
    }

    /// Whether nobody has sat down since this socket got up.
    pub(crate) fn is_empty_since(&self) -> bool {
        let attached = self.seat.attached.lock();
        attached.epoch == self.epoch && attached.outbox.is_none()
    }
}

/// A call that a device is running. Dropped before its answer came, it tells the device to stop.
pub(crate) struct InFlight {
    seat: Arc<Seat>,
    context: CallContext,
    receiver: oneshot::Receiver<Reply>,
}

impl InFlight {
    /// The device's answer.
    pub(crate) async fn answer(mut self) -> Reply {
        match (&mut self.receiver).await {
            Ok(reply) => reply,
            Err(_) => Err(disconnected(self.context.is_dispatched())),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let id = self.context.call_id();
        if !self.seat.calls.lock().given_up(&id) || self.seat.version < 2 {
            return;
        }
        let Some(outbox) = self.seat.attached.lock().outbox.clone() else { return };
        let reason = self.context.cancel_reason().map_or("cancelled", |reason| reason.as_str());
        let cancel = ToolCallCancel { id: id.to_string(), reason: reason.to_owned() };
        let frame = GatewayMessage::from(cancel).encode();
        if !outbox.try_send(frame.clone())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Bounded like the calls are: each sends one.
            runtime.spawn(async move { outbox.send(frame).await });
        }
    }
}

/// The error of a call whose device went away.
pub(super) fn disconnected(dispatched: bool) -> ToolError {
    let error = ToolError::new(Code::DeviceDisconnected, "The device disconnected").dispatched(dispatched);
    if dispatched {
        error.with_hint("It may have run there; look before you call again")
    } else {
        error.with_hint("It had not been sent to the device")
    }
}

/// A seat, if it is still there.
pub(crate) type WeakSeat = Weak<Seat>;

#[cfg(test)]
mod tests;
