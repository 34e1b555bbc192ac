//! The calls that a device is running for us: which wait for its answer, and which ended lately, so that a
//! second or late answer is known for what it is.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;
use toolway_core::CallContext;
use toolway_types::{CallId, RawJson, ToolError, ToolName, ToolOutput};
use toolway_wire::gateway_message::ResultStatus;

/// A device's answer.
pub(crate) type DeviceReply = Result<ToolOutput, ToolError>;

/// Maximum number of remembered ended calls per device.
const MAX_REMEMBERED_ENDED: usize = 256;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct DeviceCalls {
    waiting: HashMap<CallId, PendingDeviceCall>,
    ended: VecDeque<(CallId, DeviceCallEnd)>,
}

/// A call that waits for the device's answer.
#[derive(Debug)]
pub(crate) struct PendingDeviceCall {
    pub(crate) tool: ToolName,
    pub(crate) arguments: RawJson,
    pub(crate) context: CallContext,
    pub(crate) reply: oneshot::Sender<DeviceReply>,
    /// The number of times that its request was sent.
    pub(crate) attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceCallEnd {
    /// By the device's answer.
    Answered,
    /// By the deadline, or its caller.
    GivenUp,
}

impl DeviceCalls {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn insert(&mut self, id: CallId, call: PendingDeviceCall) {
        self.waiting.insert(id, call);
    }

    pub(crate) fn get(&self, id: &CallId) -> Option<&PendingDeviceCall> {
        self.waiting.get(id)
    }

    /// Every waiting call, the oldest first.
    pub(crate) fn in_order(&mut self) -> Vec<(CallId, &mut PendingDeviceCall)> {
        let mut calls: Vec<_> = self.waiting.iter_mut().map(|(id, call)| (*id, call)).collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        calls
    }

    /// The device answered: whose answer it is, and what becomes of it.
    pub(crate) fn take_answered(&mut self, id: &CallId) -> Result<PendingDeviceCall, ResultStatus> {
        if let Some(call) = self.waiting.remove(id) {
            self.record_end(*id, DeviceCallEnd::Answered);
            return Ok(call);
        }
        Err(match self.ended.iter().rev().find(|(ended, _)| ended == id) {
            Some((_, DeviceCallEnd::Answered)) => ResultStatus::Duplicate,
            Some((_, DeviceCallEnd::GivenUp)) => ResultStatus::Late,
            None => ResultStatus::Unknown,
        })
    }

    /// The call ended without the device's answer. Says whether it was still waiting.
    pub(crate) fn give_up(&mut self, id: &CallId) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        if was_waiting {
            self.record_end(*id, DeviceCallEnd::GivenUp);
        }
        was_waiting
    }

    /// Ends them all, giving back who waits.
    pub(crate) fn drain(&mut self) -> Vec<PendingDeviceCall> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting
            .into_iter()
            .map(|(id, call)| {
                self.record_end(id, DeviceCallEnd::GivenUp);
                call
            })
            .collect()
    }

    fn record_end(&mut self, id: CallId, end: DeviceCallEnd) {
        if self.ended.len() >= MAX_REMEMBERED_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((id, end));
    }
}
