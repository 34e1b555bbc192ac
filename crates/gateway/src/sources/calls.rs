//! The calls that a device is running for us: which wait for its answer, and which ended lately, so that a
//! second or late answer is known for what it is.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;
use toolway_core::CallContext;
use toolway_types::{CallId, RawJson, ToolError, ToolName, ToolOutput};
use toolway_wire::from_gateway::ResultStatus;

/// What a device answered.
pub(crate) type Reply = Result<ToolOutput, ToolError>;

/// How many ended calls are remembered per device.
const REMEMBERED: usize = 256;

/// The table.
#[derive(Debug, Default)]
pub(crate) struct DeviceCalls {
    waiting: HashMap<CallId, WaitingCall>,
    ended: VecDeque<(CallId, End)>,
}

/// A call that waits for the device's answer.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) tool: ToolName,
    pub(crate) arguments: RawJson,
    pub(crate) context: CallContext,
    pub(crate) reply: oneshot::Sender<Reply>,
    /// How often its request was sent.
    pub(crate) attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By the device's answer.
    Answered,
    /// By the deadline, or its caller.
    Otherwise,
}

impl DeviceCalls {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn insert(&mut self, id: CallId, call: WaitingCall) {
        self.waiting.insert(id, call);
    }

    pub(crate) fn get(&self, id: &CallId) -> Option<&WaitingCall> {
        self.waiting.get(id)
    }

    /// Every waiting call, the oldest first.
    pub(crate) fn in_order(&mut self) -> Vec<(CallId, &mut WaitingCall)> {
        let mut calls: Vec<_> = self.waiting.iter_mut().map(|(id, call)| (*id, call)).collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        calls
    }

    /// The device answered: whose answer it is, and what becomes of it.
    pub(crate) fn answered(&mut self, id: &CallId) -> Result<WaitingCall, ResultStatus> {
        if let Some(call) = self.waiting.remove(id) {
            self.remember(*id, End::Answered);
            return Ok(call);
        }
        Err(match self.ended.iter().rev().find(|(ended, _)| ended == id) {
            Some((_, End::Answered)) => ResultStatus::Duplicate,
            Some((_, End::Otherwise)) => ResultStatus::Late,
            None => ResultStatus::Unknown,
        })
    }

    /// The call ended without the device's answer. Says whether it was still waiting.
    pub(crate) fn given_up(&mut self, id: &CallId) -> bool {
        let was_waiting = self.waiting.remove(id).is_some();
        if was_waiting {
            self.remember(*id, End::Otherwise);
        }
        was_waiting
    }

    /// Ends them all, giving back who waits.
    pub(crate) fn clear(&mut self) -> Vec<WaitingCall> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting
            .into_iter()
            .map(|(id, call)| {
                self.remember(id, End::Otherwise);
                call
            })
            .collect()
    }

    fn remember(&mut self, id: CallId, end: End) {
        if self.ended.len() >= REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((id, end));
    }
}
