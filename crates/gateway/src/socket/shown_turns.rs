//! The turns that a chat connection shows to its client. A turn is followed in a task of its own, which may outlive the
//! connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use toolway_agent::event::{TurnEnd, TurnEvent, TurnStatus};
use toolway_agent::turn::TurnViewer;
use toolway_wire::gateway_message::ChunkReset;

use super::context::TurnAudience;
use crate::chat::frames::{self, ChatFrame};
use crate::chat::turn_watcher::{FollowedTurn, TurnWatcher, WatcherGone, follow_turn};
use crate::outbox::PeerGone;

/// The turns that are shown to the client: a running one, and earlier ones that may still get a title. Cheap to clone;
/// all clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ShownTurns(Arc<parking_lot::Mutex<Vec<ShownTurn>>>);

/// A turn that is shown to the client.
#[derive(Debug)]
struct ShownTurn {
    is_running: Arc<AtomicBool>,
    /// Locked while a frame of the turn is sent; false once no more may be sent.
    may_show: Arc<Mutex<bool>>,
    origin: TurnOrigin,
}

/// The connection that started a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnOrigin {
    /// This connection.
    ThisConnection,
    /// An earlier connection of the session.
    EarlierConnection,
}

/// Sends events of a turn to the client.
struct SocketTurnWatcher {
    audience: TurnAudience,
    is_running: Arc<AtomicBool>,
    may_show: Arc<Mutex<bool>>,
}

impl ShownTurns {
    /// Stops sending events of turns. No frame of them is sent after this returns.
    pub(super) async fn stop_showing(&self) {
        let shown = std::mem::take(&mut *self.0.lock());
        for shown in shown {
            *shown.may_show.lock().await = false;
        }
    }

    /// Returns whether a turn is running.
    pub(super) fn is_running(&self) -> bool {
        self.0.lock().iter().any(ShownTurn::is_running)
    }

    /// Returns whether a turn of an earlier connection is running.
    pub(super) fn is_earlier_running(&self) -> bool {
        let of_earlier = |shown: &ShownTurn| shown.origin == TurnOrigin::EarlierConnection;
        self.0.lock().iter().any(|shown| of_earlier(shown) && shown.is_running())
    }

    /// Shows a turn to its end.
    ///
    /// # Errors
    /// [`PeerGone`] if the connection has ended.
    pub(super) async fn show(
        &self,
        audience: &TurnAudience,
        session: Arc<str>,
        viewer: TurnViewer,
        origin: TurnOrigin,
    ) -> Result<(), PeerGone> {
        let TurnViewer { text_so_far, running_calls: calls_so_far, events, turn: _ } = viewer;
        if audience.version < 2 && !text_so_far.is_empty() {
            // These clients keep the text of the lost connection, and would show it twice.
            audience.outbox.send(ChatFrame::of(ChunkReset {}).text).await?;
        }
        for frame in frames::catch_up_frames(text_so_far, calls_so_far) {
            audience.outbox.send(frame.text).await?;
        }
        let (is_running, may_show) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(true)));
        let watcher = SocketTurnWatcher {
            audience: audience.clone(),
            is_running: Arc::clone(&is_running),
            may_show: Arc::clone(&may_show),
        };
        {
            let mut shown = self.0.lock();
            // The watcher holds the other reference; without it, the turn has ended.
            shown.retain(|shown| Arc::strong_count(&shown.may_show) > 1);
            shown.push(ShownTurn { is_running, may_show, origin });
        }
        let (chat, token) = (Arc::clone(&audience.app.chat), Arc::clone(&audience.token));
        tokio::spawn(follow_turn(FollowedTurn { chat, token, session, events }, watcher));
        Ok(())
    }
}

impl ShownTurn {
    fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }
}

impl TurnWatcher for SocketTurnWatcher {
    async fn handle_event(&mut self, event: TurnEvent) -> Result<(), WatcherGone> {
        if matches!(event, TurnEvent::Ended(_)) {
            self.is_running.store(false, Ordering::SeqCst);
        }
        let is_older = self.audience.version < 2;
        // Clients of version 1 may handle chunks in any order. The reset lets them show the text of `done` alone.
        let reset = matches!(&event, TurnEvent::Ended(TurnEnd { status: TurnStatus::Done, .. }) if is_older)
            .then(|| ChatFrame::of(ChunkReset {}));
        let Some(frame) = frames::event_frame(event, self.audience.version) else { return Ok(()) };
        let may_show = self.may_show.lock().await;
        if !*may_show {
            return Err(WatcherGone);
        }
        for frame in reset.into_iter().chain([frame]) {
            self.audience.outbox.send(frame.text).await.map_err(|PeerGone| WatcherGone)?;
        }
        Ok(())
    }
}

impl Drop for SocketTurnWatcher {
    fn drop(&mut self) {
        self.is_running.store(false, Ordering::SeqCst);
    }
}
