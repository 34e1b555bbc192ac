//! Run once (rule 7 of the protocol): an idempotency key holds per principal for a time. The same call again
//! waits for and gets the first's outcome; another call under the key is a conflict.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_types::{Code, Outcome, PrincipalId, ToolError, ToolId};

use super::lookup::Target;
use crate::arguments::Arguments;
use crate::engine::{Call, Engine, EngineSettings, Finished};
use crate::record::IdempotencyKey;

type Key = (PrincipalId, Arc<str>);

/// The keys in use.
#[derive(Debug, Default)]
pub(crate) struct Once {
    slots: Arc<Mutex<Slots>>,
}

#[derive(Debug, Default)]
struct Slots {
    by_key: HashMap<Key, Slot>,
    /// How many bytes the remembered outcomes take.
    bytes: usize,
}

#[derive(Debug)]
struct Slot {
    hash: [u8; 32],
    claimed: Instant,
    outcome: watch::Receiver<Option<Finished>>,
    /// The remembered outcome's size, in bytes; 0 while the call runs.
    bytes: usize,
}

impl Slot {
    /// Whether its call has neither ended nor been given up.
    fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }
}

impl Slots {
    fn remove(&mut self, key: &Key) {
        if let Some(slot) = self.by_key.remove(key) {
            self.bytes -= slot.bytes;
        }
    }

    fn retain(&mut self, keep: impl Fn(&Slot) -> bool) {
        self.by_key.retain(|_, slot| keep(slot));
        self.bytes = self.by_key.values().map(|slot| slot.bytes).sum();
    }

    /// Notes the size of an outcome. Where they take too much in all, the oldest are left to the records.
    fn remember(&mut self, key: &Key, bytes: usize) {
        let Some(slot) = self.by_key.get_mut(key) else { return };
        slot.bytes = bytes;
        self.bytes += bytes;
        if self.bytes <= MAX_BYTES {
            return;
        }
        let mut ended: Vec<_> = self.by_key.iter().filter(|(_, slot)| slot.bytes > 0).collect();
        ended.sort_by_key(|(_, slot)| slot.claimed);
        let oldest: Vec<Key> = ended.into_iter().map(|(key, _)| key.clone()).collect();
        for key in oldest {
            if self.bytes <= MAX_BYTES / 2 {
                return;
            }
            self.remove(&key);
        }
    }
}

/// What became of a key.
pub(super) enum Claim {
    /// This call runs; none where it has no key.
    Free(Option<Turn>),
    /// An earlier one's outcome.
    Earlier(Finished),
    /// It may not run.
    Refused(ToolError),
}

/// The right, and duty, to end the call under a key.
pub(super) struct Turn {
    slots: Arc<Mutex<Slots>>,
    principal: PrincipalId,
    key: IdempotencyKey,
    outcome: watch::Sender<Option<Finished>>,
}

impl Turn {
    pub(super) fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// Gives the outcome to everyone who waits for it.
    pub(super) fn end(self, finished: &Finished) {
        self.outcome.send_replace(Some(finished.clone()));
        let bytes = match finished.outcome.as_ref() {
            Outcome::Success(output) => output.size(),
            Outcome::Error(error) => error.message.len(),
        };
        self.slots.lock().remember(&(self.principal, self.key.key), bytes + SLOT_BYTES);
    }
}

pub(super) async fn claim(
    engine: &Engine,
    settings: &EngineSettings,
    call: &Call,
    target: &Target,
    arguments: &Arguments,
) -> Claim {
    let Some(text) = &call.idempotency_key else { return Claim::Free(None) };
    if text.is_empty() || text.len() > MAX_KEY {
        return Claim::Refused(ToolError::new(
            Code::InvalidArguments,
            format!("An idempotency key has 1 to {MAX_KEY} bytes, not {}", text.len()),
        ));
    }
    let key = (call.caller.principal.id.clone(), text.clone());
    let hash = hash(&target.id, arguments);
    let turn = match engine.once.take(settings, &key, hash) {
        Taken::New(turn) => turn,
        Taken::Full => {
            return Claim::Refused(ToolError::new(Code::Overloaded, "Too many idempotency keys are in use"));
        }
        Taken::Joined(outcome) => return join(settings, call, hash, outcome).await,
    };
    // Not in memory: it may have been used before a restart.
    let lifetime = i64::try_from(settings.key_lifetime.as_millis()).unwrap_or(i64::MAX);
    let since = engine.clock.now_ms().saturating_sub(lifetime);
    let Some(earlier) = engine.recorder.find_keyed(&key.0, text, since).await else {
        return Claim::Free(Some(turn));
    };
    if earlier.hash != hash {
        engine.once.slots.lock().remove(&key);
        return Claim::Refused(conflict());
    }
    let outcome = earlier.outcome.unwrap_or_else(|| {
        let error = ToolError::new(Code::GatewayRestarted, "The gateway was restarted during the first call");
        Arc::new(Outcome::Error(error.dispatched(true)))
    });
    let finished =
        Finished { id: earlier.id, tool: Some(target.id.clone()), outcome, durations: earlier.durations };
    turn.end(&finished);
    Claim::Earlier(finished)
}

/// Waits for the outcome of the call that holds the key, as long as this caller waits.
async fn join(
    settings: &EngineSettings,
    call: &Call,
    hash: [u8; 32],
    mut slot: (watch::Receiver<Option<Finished>>, [u8; 32]),
) -> Claim {
    if slot.1 != hash {
        return Claim::Refused(conflict());
    }
    let wait = call.timeout.unwrap_or(settings.timeout_cap).min(settings.timeout_cap);
    let ended = async {
        match slot.0.wait_for(Option::is_some).await {
            Ok(finished) => finished.clone(),
            Err(_) => None,
        }
    };
    let cancelled = async {
        match &call.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        finished = ended => match finished {
            Some(finished) => Claim::Earlier(finished),
            None => Claim::Refused(ToolError::new(Code::Cancelled, "The first call with this key was given up")),
        },
        () = cancelled => Claim::Refused(ToolError::new(Code::Cancelled, "The call was cancelled")),
        () = tokio::time::sleep(wait) => Claim::Refused(ToolError::new(
            Code::Timeout,
            "The first call with this idempotency key has not ended yet",
        ).dispatched(true)),
    }
}

enum Taken {
    New(Turn),
    Joined((watch::Receiver<Option<Finished>>, [u8; 32])),
    Full,
}

impl Once {
    fn take(&self, settings: &EngineSettings, key: &Key, hash: [u8; 32]) -> Taken {
        let mut slots = self.slots.lock();
        let live = |slot: &Slot| slot.is_running() || slot.claimed.elapsed() < settings.key_lifetime;
        let given_up = |slot: &Slot| !slot.is_running() && slot.outcome.borrow().is_none();
        if let Some(slot) = slots.by_key.get(key).filter(|slot| live(slot) && !given_up(slot)) {
            return Taken::Joined((slot.outcome.clone(), slot.hash));
        }
        slots.remove(key);
        if slots.by_key.len() >= settings.keys {
            slots.retain(|slot| live(slot) && !given_up(slot));
            if slots.by_key.len() >= settings.keys {
                return Taken::Full;
            }
        }
        let (sender, outcome) = watch::channel(None);
        slots.by_key.insert(key.clone(), Slot { hash, claimed: Instant::now(), outcome, bytes: 0 });
        Taken::New(Turn {
            slots: self.slots.clone(),
            principal: key.0.clone(),
            key: IdempotencyKey { key: key.1.clone(), hash },
            outcome: sender,
        })
    }
}

/// Most bytes of remembered outcomes; beyond that the call records answer.
const MAX_BYTES: usize = 64 << 20;
/// What a remembered outcome takes beside its content, roughly, in bytes.
const SLOT_BYTES: usize = 512;
/// Longest idempotency key, in bytes.
const MAX_KEY: usize = 256;

fn conflict() -> ToolError {
    ToolError::new(
        Code::IdempotencyConflict,
        "This idempotency key was used before with another tool or other arguments",
    )
    .with_hint("Use a new key for a new call")
}

/// The hash of what a key is used for. The parsed form, so that white space and key order do not matter.
fn hash(tool: &ToolId, arguments: &Arguments) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tool.to_string().as_bytes());
    hasher.update([0]);
    hasher.update(arguments.value().to_string().as_bytes());
    hasher.finalize().into()
}
