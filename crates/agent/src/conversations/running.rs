//! The turns that run: one at a time in each session, so many at once, and none once the gateway stops.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_types::PrincipalId;

use super::error::TurnRefused;
use crate::turn::audience::Audience;
use crate::turn::stop::{Stop, StopReason};

/// The turns that run.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    /// Those of sessions, by the session.
    of_sessions: HashMap<Arc<str>, Arc<RunningTurn>>,
    /// Those of none, by their id.
    others: HashMap<Arc<str>, Arc<RunningTurn>>,
    is_closed: bool,
}

/// A turn that runs.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) id: Arc<str>,
    pub(super) principal: PrincipalId,
    pub(super) audience: Arc<Audience>,
    pub(super) stop: Arc<Stop>,
    /// Is cancelled when it is over.
    pub(super) over: CancellationToken,
}

/// A turn's place among those that run. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Seat {
    running: Arc<Running>,
    session: Option<Arc<str>>,
    pub(super) turn: Arc<RunningTurn>,
}

impl Running {
    /// Takes a place for a turn, of a session where one is said.
    pub(super) fn take(
        self: &Arc<Self>,
        id: Arc<str>,
        session: Option<Arc<str>>,
        principal: PrincipalId,
        most: usize,
    ) -> Result<Seat, TurnRefused> {
        let mut turns = self.0.lock();
        if turns.is_closed {
            return Err(TurnRefused::ShuttingDown);
        }
        if session.as_ref().is_some_and(|session| turns.of_sessions.contains_key(session)) {
            return Err(TurnRefused::Busy);
        }
        if turns.of_sessions.len() + turns.others.len() >= most {
            return Err(TurnRefused::TooMany(most));
        }
        let turn = Arc::new(RunningTurn {
            id: Arc::clone(&id),
            principal,
            audience: Arc::default(),
            stop: Arc::default(),
            over: CancellationToken::new(),
        });
        match &session {
            Some(session) => turns.of_sessions.insert(Arc::clone(session), Arc::clone(&turn)),
            None => turns.others.insert(id, Arc::clone(&turn)),
        };
        Ok(Seat { running: Arc::clone(self), session, turn })
    }

    /// The turn that runs in a session.
    pub(super) fn of(&self, session: &str) -> Option<Arc<RunningTurn>> {
        self.0.lock().of_sessions.get(session).cloned()
    }

    /// Lets no more turns begin.
    pub(super) fn close(&self) {
        self.0.lock().is_closed = true;
    }

    /// Whether no more turns may begin.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    /// Ends all turns.
    pub(super) fn stop_all(&self, reason: StopReason) {
        let turns = self.0.lock();
        for turn in turns.of_sessions.values().chain(turns.others.values()) {
            turn.stop.stop(reason);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut turns = self.running.0.lock();
        match &self.session {
            Some(session) => turns.of_sessions.remove(session),
            None => turns.others.remove(&self.turn.id),
        };
        drop(turns);
        self.turn.over.cancel();
    }
}
