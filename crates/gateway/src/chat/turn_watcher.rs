//! Follows a turn to its end for whoever watches it. The turn goes on when they go, and ends when the token ends
//! with which it was asked for.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use toolway_agent::event::TurnEvent;

use super::ChatService;
use crate::access::TokenState;

/// Whoever watches is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WatcherGone;

/// Somebody who watches a turn.
pub(crate) trait TurnWatcher: Send {
    /// Takes what happened. Waits for as long as the watcher does not read.
    ///
    /// # Errors
    /// [`Gone`], and then it is not asked again.
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

/// Follows it to its end.
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
        // Whoever watched read too slowly and has lost the view. The turn goes on.
        watcher = None;
        match chat.conversations.attach(&token.principal, &session).await {
            Ok(Some(viewer)) => events = viewer.events,
            Ok(None) | Err(_) => return,
        }
    }
    // Nobody is told any more. What was said is kept.
    let _ = chat.conversations.abort(&token.principal, &session).await;
}
