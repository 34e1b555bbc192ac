//! The idempotency keys in use, and the outcomes of their calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_types::{Outcome, PrincipalId};

use crate::engine_settings::EngineSettings;
use crate::finished_call::FinishedCall;
use crate::record::IdempotencyKey;

/// A principal's key.
pub(crate) type PrincipalKey = (PrincipalId, Arc<str>);

/// Maximum size of the outcomes in memory, in bytes. The call records have the others.
const MAX_OUTCOME_BYTES: usize = 64 << 20;
/// Approximate size of an outcome without its content, in bytes.
const SLOT_BYTES: usize = 512;

/// The idempotency keys in use.
#[derive(Debug, Default)]
pub(crate) struct IdempotencyKeys {
    slots: Arc<Mutex<KeySlots>>,
}

#[derive(Debug, Default)]
struct KeySlots {
    by_key: HashMap<PrincipalKey, KeySlot>,
    /// Total size of the outcomes in memory, in bytes.
    bytes: usize,
}

#[derive(Debug)]
struct KeySlot {
    hash: [u8; 32],
    /// The time at which the key was acquired; after the call has ended, the time of its end.
    since: Instant,
    outcome: watch::Receiver<Option<FinishedCall>>,
    /// Size of the outcome, in bytes; 0 while the call runs.
    bytes: usize,
}

/// The result of an attempt to acquire a key.
pub(crate) enum SlotAcquisition {
    /// The key was free.
    Acquired(KeyHolder),
    /// Another call has the key: the hash of its request, and the receiver of its outcome. The sender is dropped
    /// without an outcome if that call ends before it runs.
    Joined([u8; 32], watch::Receiver<Option<FinishedCall>>),
    /// There are too many keys in use.
    Full,
}

/// Holds a key until the call ends. If it is dropped before [`KeyHolder::complete`], the key becomes free.
#[derive(Debug)]
pub(crate) struct KeyHolder {
    slots: Arc<Mutex<KeySlots>>,
    principal: PrincipalId,
    key: IdempotencyKey,
    outcome: watch::Sender<Option<FinishedCall>>,
}

impl IdempotencyKeys {
    pub(crate) fn acquire(
        &self,
        settings: &EngineSettings,
        key: &PrincipalKey,
        hash: [u8; 32],
    ) -> SlotAcquisition {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.by_key.get(key).filter(|slot| slot.is_in_use(settings.key_lifetime)) {
            return SlotAcquisition::Joined(slot.hash, slot.outcome.clone());
        }
        slots.remove(key);
        if slots.by_key.len() >= settings.max_idempotency_keys && !slots.make_room(settings) {
            return SlotAcquisition::Full;
        }
        let (sender, outcome) = watch::channel(None);
        slots.by_key.insert(key.clone(), KeySlot { hash, since: Instant::now(), outcome, bytes: 0 });
        SlotAcquisition::Acquired(KeyHolder {
            slots: self.slots.clone(),
            principal: key.0.clone(),
            key: IdempotencyKey { key: key.1.clone(), hash },
            outcome: sender,
        })
    }
}

impl KeyHolder {
    pub(crate) fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// Sends the outcome to all waiting calls, and stores it for the key's lifetime.
    pub(crate) fn complete(self, finished: &FinishedCall) {
        let content = match finished.outcome.as_ref() {
            Outcome::Success(output) => output.size(),
            Outcome::Error(error) => error.message.len(),
        };
        let mut slots = self.slots.lock();
        self.outcome.send_replace(Some(finished.clone()));
        slots.record_outcome(&(self.principal, self.key.key), content + SLOT_BYTES);
    }
}

impl KeySlot {
    fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// True while its call runs, and for `lifetime` after that.
    fn is_in_use(&self, lifetime: Duration) -> bool {
        match self.has_ended() {
            true => self.since.elapsed() < lifetime,
            false => self.outcome.has_changed().is_ok(),
        }
    }
}

impl KeySlots {
    fn remove(&mut self, key: &PrincipalKey) {
        if let Some(slot) = self.by_key.remove(key) {
            self.bytes -= slot.bytes;
        }
    }

    /// Removes expired slots. If that is not enough, also removes the oldest quarter of the ended ones; the call
    /// records have their outcomes. Returns true if there is room now.
    fn make_room(&mut self, settings: &EngineSettings) -> bool {
        self.by_key.retain(|_, slot| slot.is_in_use(settings.key_lifetime));
        self.bytes = self.by_key.values().map(|slot| slot.bytes).sum();
        if self.by_key.len() >= settings.max_idempotency_keys {
            let few = (settings.max_idempotency_keys / 4).max(1);
            self.oldest_ended().iter().take(few).for_each(|key| self.remove(key));
        }
        self.by_key.len() < settings.max_idempotency_keys
    }

    fn oldest_ended(&self) -> Vec<PrincipalKey> {
        let mut ended: Vec<_> = self.by_key.iter().filter(|(_, slot)| slot.has_ended()).collect();
        ended.sort_by_key(|(_, slot)| slot.since);
        ended.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Stores the end of a call and the size of its outcome. If all outcomes together are too large, removes the
    /// oldest; the call records have them.
    fn record_outcome(&mut self, key: &PrincipalKey, bytes: usize) {
        let Some(slot) = self.by_key.get_mut(key) else { return };
        slot.since = Instant::now();
        slot.bytes = bytes;
        self.bytes += bytes;
        if self.bytes <= MAX_OUTCOME_BYTES {
            return;
        }
        for key in self.oldest_ended() {
            if self.bytes <= MAX_OUTCOME_BYTES / 2 {
                return;
            }
            self.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests;
