//! A message of a version 1 client that waits for a turn. Such a client sends its queued messages at once when it comes
//! back, while the turn of its lost connection may still be running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use toolway_agent::conversations::{Conversations, StartTurnError};
use toolway_agent::event::TurnEvent;
use toolway_agent::turn::{TurnRequest, TurnViewer};
use toolway_types::Principal;

use super::context::TurnAudience;
use super::shown_turns::{ShownTurns, TurnOrigin};
use super::turn_refusal::send_turn_refusal;

/// Maximum time that a message waits.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The waiting message of a connection; there is at most one.
#[derive(Debug, Clone, Default)]
pub(super) struct WaitingMessage(Arc<AtomicBool>);

impl WaitingMessage {
    /// Starts the turn as soon as its session is free, in a task of its own, so that the connection goes on. Returns
    /// false if another message waits already.
    pub(super) fn start_when_free(
        &self,
        audience: TurnAudience,
        shown_turns: ShownTurns,
        turn: TurnRequest,
    ) -> bool {
        if self.0.swap(true, Ordering::SeqCst) {
            return false;
        }
        let waiting = Arc::clone(&self.0);
        tokio::spawn(async move {
            let session = Arc::clone(&turn.session);
            let started =
                start_before(&audience.app.chat.conversations, turn, Instant::now() + MAX_WAIT).await;
            waiting.store(false, Ordering::SeqCst);
            // The connection may have ended; the turn goes on.
            let _ = match started {
                Ok(viewer) => shown_turns.show(&audience, session, viewer, TurnOrigin::ThisConnection).await,
                Err(refused) => send_turn_refusal(&audience, refused).await,
            };
        });
        true
    }
}

async fn start_before(
    conversations: &Arc<Conversations>,
    turn: TurnRequest,
    deadline: Instant,
) -> Result<TurnViewer, StartTurnError> {
    loop {
        match conversations.start(turn.clone()).await {
            Err(StartTurnError::Busy) => {
                let end = wait_for_end(conversations, &turn.principal, &turn.session);
                if timeout_at(deadline, end).await.is_err() {
                    return Err(StartTurnError::Busy);
                }
            }
            started => return started,
        }
    }
}

/// Waits for the end of the running turn.
async fn wait_for_end(conversations: &Conversations, who: &Principal, session: &str) {
    // So that a deadline can end this even if nothing else waits.
    tokio::task::yield_now().await;
    let Ok(Some(mut viewer)) = conversations.attach(who, session).await else { return };
    while let Some(event) = viewer.events.recv().await {
        if matches!(event, TurnEvent::Ended(_)) {
            return;
        }
    }
}
