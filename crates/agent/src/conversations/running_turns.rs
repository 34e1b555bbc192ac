//! The running turns: at most one per session, a limited number in total, and none once the gateway stops.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_types::PrincipalId;

use super::error::StartTurnError;
use crate::turn::broadcast::TurnBroadcast;
use crate::turn::stop_signal::{StopReason, StopSignal};

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
}

impl RunningTurns {
    /// Reserves a slot for a turn, of a session if one is given.
    pub(super) fn acquire(
        self: &Arc<Self>,
        id: Arc<str>,
        session: Option<Arc<str>>,
        principal: PrincipalId,
        most: usize,
    ) -> Result<TurnSlot, StartTurnError> {
        let mut turns = self.0.lock();
        if turns.is_closed {
            return Err(StartTurnError::ShuttingDown);
        }
        if session.as_ref().is_some_and(|session| turns.by_session.contains_key(session)) {
            return Err(StartTurnError::Busy);
        }
        if turns.by_session.len() + turns.stateless.len() >= most {
            return Err(StartTurnError::TooMany(most));
        }
        let turn = Arc::new(RunningTurn {
            id: Arc::clone(&id),
            principal,
            broadcast: Arc::default(),
            stop: Arc::default(),
            finished: CancellationToken::new(),
        });
        match &session {
            Some(session) => turns.by_session.insert(Arc::clone(session), Arc::clone(&turn)),
            None => turns.stateless.insert(id, Arc::clone(&turn)),
        };
        Ok(TurnSlot { running: Arc::clone(self), session, turn })
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
