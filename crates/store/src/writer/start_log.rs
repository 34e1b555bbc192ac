//! Calls that have started and not ended, by the slot of their stored start.
//!
//! Most calls end soon, so a start is only stored in case of a crash: the starts of a batch share a row in a slot of
//! `started_calls`. A slot is used again when all its calls have ended. If every slot is in use, the calls of the
//! oldest one get rows of their own.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use toolway_core::record::OpenedCall;
use toolway_types::CallId;

use super::call_id_hasher::CallIdHashBuilder;
use super::queue::{QueueEntry, QueuedCall};

/// Maximum number of slots.
const MAX_SLOTS: usize = 64;
/// Largest arguments of a start in a slot, in bytes. Larger ones would be written twice.
const MAX_START_BYTES: usize = 2048;

/// Calls whose starts are in slots.
#[derive(Debug, Default)]
pub(super) struct StartLog {
    slots: Vec<StartSlot>,
    free: Vec<usize>,
    /// Slots with running calls, oldest first.
    used: VecDeque<usize>,
    running: HashMap<CallId, RunningCall, CallIdHashBuilder>,
    /// True if a slot was written since all were removed.
    is_stored: bool,
}

#[derive(Debug, Default)]
struct StartSlot {
    ids: Vec<CallId>,
    /// Number of calls that have not ended.
    running: usize,
}

#[derive(Debug)]
struct RunningCall {
    slot: usize,
    call: Arc<OpenedCall>,
}

/// True if a record is a start that a slot can store. A start for which a call waits gets a row at once, and so does
/// one with an idempotency key, because a repeated call looks for it there.
pub(super) fn is_for_slot(entry: &QueueEntry) -> bool {
    let is_start = matches!(entry.record, QueuedCall::Opened(_));
    is_start && entry.done.is_none() && entry.record.opened().key.is_none() && entry.weight <= MAX_START_BYTES
}

impl StartLog {
    /// Slot for the next starts. Its running calls, if there are any, need rows in the same transaction.
    pub(super) fn next_slot(&self) -> usize {
        let unused = Some(self.slots.len()).filter(|unused| *unused < MAX_SLOTS);
        self.free.last().copied().or(unused).or(self.used.front().copied()).unwrap_or_default()
    }

    /// Running calls of a slot.
    pub(super) fn calls_in(&self, slot: usize) -> impl Iterator<Item = &Arc<OpenedCall>> {
        let ids = self.slots.get(slot).into_iter().flat_map(|slot| &slot.ids);
        ids.filter_map(move |id| self.running.get(id).filter(|call| call.slot == slot).map(|call| &call.call))
    }

    /// All running calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Arc<OpenedCall>> {
        self.running.values().map(|running| &running.call)
    }

    /// True if starts are stored, even if all their calls have ended.
    pub(super) fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// Notes that a slot may have been written.
    pub(super) fn mark_stored(&mut self) {
        self.is_stored = true;
    }

    /// Notes that starts were stored in a slot instead of its earlier ones.
    pub(super) fn add(&mut self, slot: usize, calls: impl Iterator<Item = Arc<OpenedCall>>) {
        self.free_slot(slot);
        self.free.retain(|free| *free != slot);
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, StartSlot::default);
        }
        let Some(starts) = self.slots.get_mut(slot) else { return };
        for call in calls {
            starts.ids.push(call.id);
            starts.running += 1;
            self.running.insert(call.id, RunningCall { slot, call });
        }
        self.used.push_back(slot);
    }

    /// Notes that a call has a row.
    pub(super) fn remove(&mut self, id: CallId) {
        let Some(ended) = self.running.remove(&id) else { return };
        let Some(slot) = self.slots.get_mut(ended.slot) else { return };
        slot.running = slot.running.saturating_sub(1);
        if slot.running == 0 {
            self.free_slot(ended.slot);
        }
    }

    /// Notes that all starts were removed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn free_slot(&mut self, number: usize) {
        let Some(position) = self.used.iter().position(|used| *used == number) else { return };
        self.used.remove(position);
        self.free.push(number);
        let Some(slot) = self.slots.get_mut(number) else { return };
        if slot.running > 0 {
            slot.running = 0;
            for id in &slot.ids {
                if self.running.get(id).is_some_and(|call| call.slot == number) {
                    self.running.remove(id);
                }
            }
        }
        slot.ids.clear();
    }
}

#[cfg(test)]
mod tests;
