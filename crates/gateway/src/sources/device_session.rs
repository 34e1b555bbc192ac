//! A device's session: its registration and its calls, which may outlive a socket. A socket attaches to the
//! session and detaches again. With `resume`, the next socket of the same device takes the session over, with
//! its tools and its calls in flight. Without, the session ends with its socket.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolway_core::{CallContext, Lease, ProgressReport, ToolSpec};
use toolway_types::{CallId, Code, RawJson, Slug, ToolError};
use toolway_wire::GatewayMessage;
use toolway_wire::gateway_message::{ResultStatus, ToolCallCancel, ToolCallRequest};

use super::device_calls::{DeviceCalls, DeviceReply, PendingDeviceCall};
use crate::memory_budget::{MemoryAccount, MemoryReservation, OverBudget};
use crate::outbox::Outbox;

/// A registration and its calls.
#[derive(Debug)]
pub(crate) struct DeviceSession {
    /// Slug of the session's source.
    source: Slug,
    /// Protocol version of the device.
    version: u32,
    /// Token with which a later socket takes over this session, if the device can resume.
    resume_token: Option<String>,
    /// Maximum number of calls in flight.
    calls_limit: usize,
    calls: Mutex<DeviceCalls>,
    attached: Mutex<AttachedSocket>,
    /// Memory of the registered tools.
    definitions: Mutex<Option<MemoryReservation>>,
    /// Owns the registered tools. It is dropped when the session ends, which removes them.
    lease: Mutex<Option<Lease>>,
    last_heard_ms: AtomicI64,
    ended: AtomicBool,
}

/// The attached socket, if there is one.
#[derive(Debug, Default)]
struct AttachedSocket {
    /// Number of sockets that were attached so far, so that an old one can't detach a newer one.
    epoch: u64,
    outbox: Option<Outbox>,
    /// Cancelled when another socket attaches.
    displaced: CancellationToken,
    attached_since_ms: i64,
}

/// A socket's attachment to a session.
#[derive(Debug)]
pub(crate) struct DeviceAttachment {
    pub(crate) session: Arc<DeviceSession>,
    epoch: u64,
}

/// Options of a new session.
#[derive(Debug)]
pub(crate) struct DeviceSessionOptions {
    /// Protocol version of the device.
    pub(crate) version: u32,
    /// Token with which a later socket may take over the session.
    pub(crate) resume_token: Option<String>,
    /// Maximum number of calls in flight.
    pub(crate) calls_limit: usize,
}

impl DeviceSession {
    pub(crate) fn new(source: Slug, lease: Lease, options: DeviceSessionOptions) -> Arc<Self> {
        Arc::new(Self {
            source,
            version: options.version,
            resume_token: options.resume_token,
            calls_limit: options.calls_limit,
            calls: Mutex::default(),
            attached: Mutex::default(),
            definitions: Mutex::default(),
            lease: Mutex::new(Some(lease)),
            last_heard_ms: AtomicI64::new(0),
            ended: AtomicBool::new(false),
        })
    }

    /// Returns the slug of the session's source.
    pub(crate) fn source(&self) -> &Slug {
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

    /// Returns the time at which the current socket was attached, in milliseconds since the Unix epoch.
    pub(crate) fn attached_since_ms(&self) -> i64 {
        self.attached.lock().attached_since_ms
    }

    pub(crate) fn calls_in_flight(&self) -> usize {
        self.calls.lock().len()
    }

    pub(crate) fn last_heard_ms(&self) -> i64 {
        self.last_heard_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn record_heard(&self, now_ms: i64) {
        self.last_heard_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Runs a function with the lease that owns the registered tools; `None` if the session has ended.
    pub(crate) fn with_lease<R>(&self, then: impl FnOnce(&Lease) -> R) -> Option<R> {
        self.lease.lock().as_ref().map(then)
    }

    /// Counts the memory of the session's tools. The first time, it is taken from `account`.
    ///
    /// # Errors
    /// [`OverBudget`]: then the count is as before.
    pub(crate) fn count_definitions(&self, account: &MemoryAccount, memory: usize) -> Result<(), OverBudget> {
        let mut definitions = self.definitions.lock();
        match &mut *definitions {
            Some(counted) => counted.resize(memory)?,
            None => *definitions = Some(account.reserve(memory)?),
        }
        Ok(())
    }

    /// Attaches a socket. The previous socket is displaced; requests without an answer are sent again.
    pub(crate) async fn attach(
        self: &Arc<Self>,
        outbox: Outbox,
        displaced: CancellationToken,
        now_ms: i64,
    ) -> DeviceAttachment {
        let (attachment, again) = {
            // Calls first, then the socket: the same order as in `begin_call`.
            let mut calls = self.calls.lock();
            let mut attached = self.attached.lock();
            attached.displaced.cancel();
            attached.epoch += 1;
            attached.displaced = displaced;
            attached.outbox = Some(outbox.clone());
            attached.attached_since_ms = now_ms;
            let attachment = DeviceAttachment { session: self.clone(), epoch: attached.epoch };
            let again: Vec<String> =
                calls.in_order().into_iter().map(|(id, call)| self.write_request(id, call)).collect();
            (attachment, again)
        };
        self.record_heard(now_ms);
        for frame in again {
            if outbox.send(frame).await.is_err() {
                break;
            }
        }
        attachment
    }

    /// Creates a call's request and counts the attempt.
    fn write_request(&self, id: CallId, call: &mut PendingDeviceCall) -> String {
        call.attempt += 1;
        call.context.mark_dispatched();
        let newer = self.version >= 2;
        let remaining = u64::try_from(call.context.remaining().as_millis()).unwrap_or(u64::MAX);
        let (deadline_ms, attempt) = (newer.then_some(remaining), newer.then_some(call.attempt));
        ToolCallRequest::write(id, call.tool.as_str(), &call.arguments, deadline_ms, attempt)
    }

    /// Sends a request to run a tool to the device. The answer comes through the receiver; its sender is
    /// dropped if the session ends first.
    ///
    /// # Errors
    /// `overloaded` if too many calls are in flight, `device_disconnected` if the session has ended.
    pub(crate) async fn begin_call(
        self: &Arc<Self>,
        spec: &ToolSpec,
        arguments: RawJson,
        context: &CallContext,
    ) -> Result<InFlightDeviceCall, ToolError> {
        let (reply, receiver) = oneshot::channel();
        let id = context.call_id();
        let mut call = PendingDeviceCall {
            tool: spec.name().clone(),
            arguments,
            context: context.clone(),
            reply,
            attempt: 0,
        };
        let send = {
            let mut calls = self.calls.lock();
            if self.has_ended() {
                return Err(disconnected_error(false));
            }
            if calls.len() >= self.calls_limit {
                return Err(self.overloaded_error());
            }
            let outbox = self.attached.lock().outbox.clone();
            let send = outbox.map(|outbox| (outbox, self.write_request(id, &mut call)));
            calls.insert(id, call);
            send
        };
        let in_flight = InFlightDeviceCall { session: self.clone(), context: context.clone(), receiver };
        if let Some((outbox, frame)) = send {
            // The socket's own task notices that the socket is gone: it detaches, and ends or resumes the
            // calls.
            let _ = outbox.send(frame).await;
        }
        Ok(in_flight)
    }

    fn overloaded_error(&self) -> ToolError {
        let message = format!("{} already has {} calls in flight", self.source, self.calls_limit);
        ToolError::new(Code::Overloaded, message).with_hint(
            "Wait for some of them to end; the limit is the setting limits.calls_in_flight_per_device",
        )
    }

    /// Handles the device's answer to a call.
    pub(crate) fn answer(&self, id: &str, reply: impl FnOnce() -> DeviceReply) -> ResultStatus {
        let Ok(id) = id.parse::<CallId>() else { return ResultStatus::Unknown };
        let call = match self.calls.lock().take_answered(&id) {
            Ok(call) => call,
            Err(status) => return status,
        };
        // If the call is being ended from outside, that came first.
        if call.context.mark_answered() && call.reply.send(reply()).is_ok() {
            ResultStatus::Accepted
        } else {
            ResultStatus::Late
        }
    }

    /// Handles a progress report of the device; ignores unknown calls.
    pub(crate) fn report_progress(&self, id: &str, progress: ProgressReport) {
        if let Some(context) = self.context(id) {
            context.report_progress(progress);
        }
    }

    /// Handles the message that the device asks a person. Ignores unknown calls.
    pub(crate) fn report_waiting(&self, id: &str, words: impl FnOnce() -> Option<String>) {
        if let Some(context) = self.context(id) {
            context.pause_for_person();
            if let Some(words) = words() {
                context.report_message(words);
            }
        }
    }

    fn context(&self, id: &str) -> Option<CallContext> {
        let id = id.parse::<CallId>().ok()?;
        self.calls.lock().get(&id).map(|call| call.context.clone())
    }

    /// Ends the session: removes its tools and ends its calls as `device_disconnected`. Its socket is displaced.
    pub(crate) fn end(&self) {
        self.retire();
        self.attached.lock().displaced.cancel();
    }

    /// Ends the session, without a message to its socket.
    pub(crate) fn retire(&self) {
        let waiting = {
            let mut calls = self.calls.lock();
            self.ended.store(true, Ordering::Release);
            calls.drain()
        };
        self.attached.lock().outbox = None;
        for call in waiting {
            if call.context.mark_answered() {
                // The task may be gone; then nobody waits.
                let _ = call.reply.send(Err(disconnected_error(call.attempt > 0)));
            }
        }
        let lease = self.lease.lock().take();
        drop(lease);
        *self.definitions.lock() = None;
    }
}

impl DeviceAttachment {
    /// Detaches the socket. Returns true if it was still attached.
    pub(crate) fn detach(&self) -> bool {
        let mut attached = self.session.attached.lock();
        let mine = attached.epoch == self.epoch;
        if mine {
            attached.outbox = None;
        }
        mine
    }

    /// Runs a function while no other socket can attach and the session can't end; `None` if either has
    /// happened.
    pub(crate) fn while_attached<R>(&self, then: impl FnOnce() -> R) -> Option<R> {
        let attached = self.session.attached.lock();
        (attached.epoch == self.epoch && attached.outbox.is_some()).then(then)
    }

    /// Returns true if no other socket has attached since this one was detached.
    pub(crate) fn is_unattached_since(&self) -> bool {
        let attached = self.session.attached.lock();
        attached.epoch == self.epoch && attached.outbox.is_none()
    }
}

/// A call that runs on a device. If dropped before the answer, it cancels the call on the device.
pub(crate) struct InFlightDeviceCall {
    session: Arc<DeviceSession>,
    context: CallContext,
    receiver: oneshot::Receiver<DeviceReply>,
}

impl InFlightDeviceCall {
    /// Waits for the device's answer.
    pub(crate) async fn wait_for_answer(mut self) -> DeviceReply {
        match (&mut self.receiver).await {
            Ok(reply) => reply,
            Err(_) => Err(disconnected_error(self.context.is_dispatched())),
        }
    }
}

impl Drop for InFlightDeviceCall {
    fn drop(&mut self) {
        let id = self.context.call_id();
        if !self.session.calls.lock().give_up(&id) || self.session.version < 2 {
            return;
        }
        let Some(outbox) = self.session.attached.lock().outbox.clone() else { return };
        let reason = self.context.cancel_reason().map_or("cancelled", |reason| reason.as_str());
        let cancel = ToolCallCancel { id: id.to_string(), reason: reason.to_owned() };
        let frame = GatewayMessage::from(cancel).encode();
        if !outbox.try_send(frame.clone())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Bounded by the number of calls: each sends one frame.
            runtime.spawn(async move { outbox.send(frame).await });
        }
    }
}

/// Creates the error of a call whose device disconnected.
pub(super) fn disconnected_error(dispatched: bool) -> ToolError {
    let error =
        ToolError::new(Code::DeviceDisconnected, "The device disconnected").with_dispatched(dispatched);
    if dispatched {
        error.with_hint("The tool may have run; check before you call it again")
    } else {
        error.with_hint("The call had not been sent to the device")
    }
}

/// A weak reference to a session.
pub(crate) type WeakDeviceSession = Weak<DeviceSession>;

#[cfg(test)]
mod tests;
