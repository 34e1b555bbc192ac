//! The keys in use, and the outcomes they led to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_types::{Outcome, PrincipalId};

use crate::engine::{EngineSettings, FinishedCall};
use crate::record::IdempotencyKey;

/// A principal's key.
pub(super) type PrincipalKey = (PrincipalId, Arc<str>);

/// Most bytes of remembered outcomes; beyond that the call records answer.
const MAX_OUTCOME_BYTES: usize = 64 << 20;
/// What a remembered outcome takes beside its content, roughly, in bytes.
const SLOT_BYTES: usize = 512;

/// The keys in use.
#[derive(Debug, Default)]
pub(crate) struct IdempotencyKeys {
    slots: Arc<Mutex<KeySlots>>,
}

#[derive(Debug, Default)]
struct KeySlots {
    by_key: HashMap<PrincipalKey, KeySlot>,
    /// How many bytes the remembered outcomes take.
    bytes: usize,
}

#[derive(Debug)]
struct KeySlot {
    hash: [u8; 32],
    /// When the key was taken; once its call has ended, when that was.
    since: Instant,
    outcome: watch::Receiver<Option<FinishedCall>>,
    /// The remembered outcome's size, in bytes; 0 while the call runs.
    bytes: usize,
}

/// What became of a wish to use a key.
pub(super) enum SlotAcquisition {
    /// It was free.
    Acquired(KeyHolder),
    /// A call has it: the hash of what that is, and where its outcome will be. The sender goes without one
    /// where the call was given up before it could run.
    Joined([u8; 32], watch::Receiver<Option<FinishedCall>>),
    /// No key can be taken now.
    Full,
}

/// The right, and duty, to end the call under a key. Dropped without that, the key is free again.
#[derive(Debug)]
pub(crate) struct KeyHolder {
    slots: Arc<Mutex<KeySlots>>,
    principal: PrincipalId,
    key: IdempotencyKey,
    outcome: watch::Sender<Option<FinishedCall>>,
}

impl IdempotencyKeys {
    pub(super) fn acquire(
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

    /// Gives the outcome to everyone who waits for it, and from now on keeps it for the key's lifetime.
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

    /// Whether its key is in use: its call runs, or ended not long ago.
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

    /// Forgets what holds no more; where that is not enough, the oldest quarter of those that have ended, for
    /// which the records answer. Whether there is room now.
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

    /// Notes the end of a call, and the size of its outcome. Where outcomes take too much in all, the oldest
    /// are left to the records.
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
