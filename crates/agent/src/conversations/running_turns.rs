//! The running turns: at most one per session, a limited number in total and for each principal, and none once the
//! gateway stops.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_core::MemoryPermit;
use toolway_types::{Principal, PrincipalId};

use super::error::StartTurnError;
use crate::turn::broadcast::TurnBroadcast;
use crate::turn::stop_signal::{StopReason, StopSignal};

/// Part of the turns that one principal may run: one of this many.
const PRINCIPAL_PART: usize = 4;
/// Number of turns that every principal may run, if the total allows it.
const MIN_SHARE: usize = 8;
/// Part of the turns that only the owner may run: one of this many.
const OWNER_PART: usize = 4;

/// The running turns.
#[derive(Debug, Default)]
pub(super) struct RunningTurns(Mutex<RunningTurnIndex>);

#[derive(Debug, Default)]
struct RunningTurnIndex {
    /// Turns of sessions, by session id.
    by_session: HashMap<Arc<str>, Arc<RunningTurn>>,
    /// Stateless turns, by turn id.
    stateless: HashMap<Arc<str>, Arc<RunningTurn>>,
    is_closed: bool,
}

/// A running turn.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) id: Arc<str>,
    pub(super) principal: PrincipalId,
    is_owner: bool,
    pub(super) broadcast: Arc<TurnBroadcast>,
    pub(super) stop: Arc<StopSignal>,
    /// Cancelled when the turn has ended.
    pub(super) finished: CancellationToken,
}

/// A turn's permit to run. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct TurnSlot {
    running: Arc<RunningTurns>,
    session: Option<Arc<str>>,
    pub(super) turn: Arc<RunningTurn>,
    /// Memory of the turn.
    pub(super) memory: Option<MemoryPermit>,
}

impl RunningTurns {
    /// Reserves a slot for a turn, of a session if one is given.
    pub(super) fn acquire(
        self: &Arc<Self>,
        id: Arc<str>,
        session: Option<Arc<str>>,
        principal: &Principal,
        most: usize,
    ) -> Result<TurnSlot, StartTurnError> {
        let mut turns = self.0.lock();
        if turns.is_closed {
            return Err(StartTurnError::ShuttingDown);
        }
        if session.as_ref().is_some_and(|session| turns.by_session.contains_key(session)) {
            return Err(StartTurnError::Busy);
        }
        turns.check_limits(principal, most)?;
        let turn = Arc::new(RunningTurn {
            id: Arc::clone(&id),
            principal: principal.id.clone(),
            is_owner: principal.role.is_owner(),
            broadcast: Arc::default(),
            stop: Arc::default(),
            finished: CancellationToken::new(),
        });
        match &session {
            Some(session) => turns.by_session.insert(Arc::clone(session), Arc::clone(&turn)),
            None => turns.stateless.insert(id, Arc::clone(&turn)),
        };
        Ok(TurnSlot { running: Arc::clone(self), session, turn, memory: None })
    }

    /// Returns the running turn of a session.
    pub(super) fn in_session(&self, session: &str) -> Option<Arc<RunningTurn>> {
        self.0.lock().by_session.get(session).cloned()
    }

    /// Refuses new turns.
    pub(super) fn close(&self) {
        self.0.lock().is_closed = true;
    }

    /// Returns whether new turns are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    /// Ends all turns.
    pub(super) fn stop_all(&self, reason: StopReason) {
        let turns = self.0.lock();
        for turn in turns.by_session.values().chain(turns.stateless.values()) {
            turn.stop.stop(reason);
        }
    }
}

impl RunningTurnIndex {
    /// Checks the limits of all turns and of the principal's, so that nobody keeps others from running any.
    fn check_limits(&self, principal: &Principal, most: usize) -> Result<(), StartTurnError> {
        let all = || self.by_session.values().chain(self.stateless.values());
        if all().count() >= most {
            return Err(StartTurnError::TooMany(most));
        }
        if principal.role.is_owner() {
            return Ok(());
        }
        let share = (most / PRINCIPAL_PART).max(MIN_SHARE);
        if all().filter(|turn| turn.principal == principal.id).count() >= share {
            return Err(StartTurnError::ShareUsed(share));
        }
        let for_others = most - most / OWNER_PART;
        if all().filter(|turn| !turn.is_owner).count() >= for_others {
            return Err(StartTurnError::TooMany(for_others));
        }
        Ok(())
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        let mut turns = self.running.0.lock();
        match &self.session {
            Some(session) => turns.by_session.remove(session),
            None => turns.stateless.remove(&self.turn.id),
        };
        drop(turns);
        self.turn.finished.cancel();
    }
}
