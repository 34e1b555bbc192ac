//! Messages of stateless turns that ended with calls of the caller's own tools. The caller sends their
//! results with the conversation as it knows it, which is incomplete: it has neither the calls of the
//! gateway's tools nor the opaque data of the model's provider. So the messages are remembered for a while
//! under the ids of the calls, and inserted again. If they have been forgotten, the model continues with the
//! incomplete conversation, and may call a tool of the gateway again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use toolway_models::{MessagePart, MessageRole, ModelMessage, ToolCall};
use toolway_types::{CallId, PrincipalId};

/// Maximum number of remembered turns.
const MAX_TURNS: usize = 1024;
/// Approximate maximum size of all remembered turns, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Time for which turns are remembered.
const LIFETIME: Duration = Duration::from_secs(600);

/// The turns that wait for their caller.
#[derive(Debug, Default)]
pub(super) struct SuspendedTurns(Mutex<SuspendedTurnIndex>);

#[derive(Debug, Default)]
struct SuspendedTurnIndex {
    by_call: HashMap<CallId, Arc<SuspendedTurn>>,
    /// Oldest first.
    order: VecDeque<Arc<SuspendedTurn>>,
    bytes: usize,
}

/// Messages of a turn that its caller does not have.
#[derive(Debug)]
struct SuspendedTurn {
    principal: PrincipalId,
    messages: Vec<ModelMessage>,
    calls: Vec<CallId>,
    bytes: usize,
    expires_at: Instant,
}

impl SuspendedTurnIndex {
    fn remove_oldest(&mut self) {
        let Some(turn) = self.order.pop_front() else { return };
        self.bytes -= turn.bytes;
        for call in &turn.calls {
            self.by_call.remove(call);
        }
    }
}

impl SuspendedTurns {
    /// Remembers the messages of a turn that waits for the results of these calls.
    pub(super) fn suspend(&self, principal: &PrincipalId, said: Vec<ModelMessage>, calls: &[ToolCall]) {
        let bytes = said.iter().flat_map(|message| &message.parts).map(part_bytes).sum();
        if calls.is_empty() || bytes > MAX_BYTES {
            return;
        }
        let now = Instant::now();
        let calls: Vec<CallId> = calls.iter().map(|call| call.id).collect();
        let turn = Arc::new(SuspendedTurn {
            principal: principal.clone(),
            messages: said,
            calls,
            bytes,
            expires_at: now + LIFETIME,
        });
        let mut turns = self.0.lock();
        while turns.order.front().is_some_and(|oldest| {
            oldest.expires_at <= now || turns.order.len() >= MAX_TURNS || turns.bytes + bytes > MAX_BYTES
        }) {
            turns.remove_oldest();
        }
        turns.bytes += bytes;
        for call in &turn.calls {
            turns.by_call.insert(*call, Arc::clone(&turn));
        }
        turns.order.push_back(turn);
    }

    /// Replaces the caller's messages with the remembered ones.
    pub(super) fn restore(&self, principal: &PrincipalId, messages: Vec<ModelMessage>) -> Vec<ModelMessage> {
        let mut restored = Vec::with_capacity(messages.len());
        let mut rest = messages.into_iter().peekable();
        while let Some(message) = rest.next() {
            let turn = message.tool_calls().find_map(|call| self.find(principal, call.id));
            let Some(turn) = turn.filter(|_| message.role == MessageRole::Assistant) else {
                restored.push(message);
                continue;
            };
            restored.extend(turn.messages.iter().cloned());
            // Results of one answer belong together: those of the gateway's tools are already there.
            if let Some(results) = rest.next_if(|next| next.role == MessageRole::Tool) {
                match restored.last_mut().filter(|last| last.role == MessageRole::Tool) {
                    Some(last) => last.parts.extend(results.parts),
                    None => restored.push(results),
                }
                sort_results(&mut restored);
            }
        }
        restored
    }

    fn find(&self, principal: &PrincipalId, call: CallId) -> Option<Arc<SuspendedTurn>> {
        let turns = self.0.lock();
        let turn = turns.by_call.get(&call)?;
        (turn.principal == *principal && turn.expires_at > Instant::now()).then(|| Arc::clone(turn))
    }
}

/// Sorts the results at the end in the order of their calls.
fn sort_results(messages: &mut [ModelMessage]) {
    let [.., asked, results] = messages else { return };
    let order: Vec<CallId> = asked.tool_calls().map(|call| call.id).collect();
    let place = |part: &MessagePart| match part {
        MessagePart::ToolResult(result) => {
            order.iter().position(|id| *id == result.call_id).unwrap_or(order.len())
        }
        _ => order.len(),
    };
    results.parts.sort_by_key(place);
}

fn part_bytes(part: &MessagePart) -> usize {
    match part {
        MessagePart::Text { text, .. } | MessagePart::Thinking { text, .. } => text.len(),
        MessagePart::Image { data, .. } => data.len(),
        MessagePart::ToolCall(call) => call.name.len() + call.arguments.len(),
        MessagePart::ToolResult(result) => match &*result.outcome {
            toolway_types::Outcome::Success(output) => output.size(),
            toolway_types::Outcome::Error(error) => error.message.len(),
        },
    }
}

#[cfg(test)]
mod tests;
