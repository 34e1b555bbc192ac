//! Follows a turn to its end and passes events to a watcher. The turn continues if the watcher disconnects,
//! and ends when the token that started it ends.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use toolway_agent::event::TurnEvent;

use super::ChatService;
use crate::access::TokenState;

/// The watcher has disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatcherGone;

/// Receiver of the events of a turn.
pub(crate) trait TurnWatcher: Send {
    /// Handles an event. Waits while the watcher does not read.
    ///
    /// # Errors
    /// [`WatcherGone`] if the watcher has disconnected; it gets no more events.
    fn handle_event(&mut self, event: TurnEvent) -> impl Future<Output = Result<(), WatcherGone>> + Send;
}

/// The turn that is followed.
#[derive(Debug)]
pub(crate) struct FollowedTurn {
    pub(crate) chat: Arc<ChatService>,
    pub(crate) token: Arc<TokenState>,
    pub(crate) session: Arc<str>,
    pub(crate) events: mpsc::Receiver<TurnEvent>,
}

/// Follows the turn to its end.
pub(crate) async fn follow_turn(turn: FollowedTurn, watcher: impl TurnWatcher) {
    let FollowedTurn { chat, token, session, mut events } = turn;
    let mut watcher = Some(watcher);
    let mut ended = pin!(token.wait_until_ended());
    let mut is_over = false;
    loop {
        let next = async {
            let event = events.recv().await?;
            is_over |= matches!(event, TurnEvent::Ended(_));
            if let Some(watching) = &mut watcher
                && watching.handle_event(event).await == Err(WatcherGone)
            {
                watcher = None;
            }
            Some(())
        };
        let next = tokio::select! {
            next = next => next,
            _ = &mut ended => break,
        };
        if next.is_some() {
            continue;
        }
        if is_over {
            return;
        }
        // The watcher read too slowly and missed events. The turn continues.
        watcher = None;
        match chat.conversations.attach(&token.principal, &session).await {
            Ok(Some(viewer)) => events = viewer.events,
            Ok(None) | Err(_) => return,
        }
    }
    // Nobody gets the answer any more. The text so far is kept.
    chat.conversations.abort(&token.principal, &session);
}
