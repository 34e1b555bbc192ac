//! The calls that run on a device: pending calls, and recently ended ones, so that the gateway recognizes a
//! second or late answer.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;
use toolway_core::CallContext;
use toolway_types::{CallId, RawJson, ToolError, ToolName, ToolOutput};
use toolway_wire::gateway_message::ResultStatus;

/// A device's answer.
pub(crate) type DeviceReply = Result<ToolOutput, ToolError>;

/// Maximum number of remembered ended calls per device.
const MAX_REMEMBERED_ENDED: usize = 256;

/// Pending and recently ended calls of a device.
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
    /// Number of times that the request was sent.
    pub(crate) attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceCallEnd {
    /// The device answered.
    Answered,
    /// The deadline passed, or the caller cancelled the call.
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

    /// Returns all pending calls, oldest first.
    pub(crate) fn in_order(&mut self) -> Vec<(CallId, &mut PendingDeviceCall)> {
        let mut calls: Vec<_> = self.waiting.iter_mut().map(|(id, call)| (*id, call)).collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        calls
    }

    /// Takes the pending call that the device answered, or returns the status of an answer without one.
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

    /// Ends a call without the device's answer. Returns true if it was pending.
    pub(crate) fn give_up(&mut self, id: &CallId) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        if was_waiting {
            self.record_end(*id, DeviceCallEnd::GivenUp);
        }
        was_waiting
    }

    /// Ends all calls and returns the pending ones.
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
