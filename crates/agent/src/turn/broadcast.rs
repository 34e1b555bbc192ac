//! Sends the events of a turn to its viewers. Earlier events are kept for later viewers. A viewer that does
//! not read delays the turn for a while and is then disconnected.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use toolway_core::ProgressReport;
use toolway_types::CallId;

use super::{RunningToolCall, TurnViewer};
use crate::event::TurnEvent;

/// Number of events that a viewer may be behind before it delays the turn.
const VIEWER_CAPACITY: usize = 256;
/// Time for which a viewer that does not read delays the turn.
const VIEWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of viewers of one turn.
const MAX_VIEWERS: usize = 64;

/// The viewers of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnBroadcast(Mutex<BroadcastState>);

#[derive(Debug, Default)]
struct BroadcastState {
    viewers: Vec<ViewerQueue>,
    next_viewer: u64,
    /// The valid text of the turn.
    text: String,
    /// The running calls.
    calls: Vec<RunningToolCall>,
    ended: bool,
}

#[derive(Debug)]
struct ViewerQueue {
    id: u64,
    events: mpsc::Sender<TurnEvent>,
    /// Events that did not fit into the channel. They come before any other.
    backlog: VecDeque<TurnEvent>,
}

impl ViewerQueue {
    /// Queues an event. Returns false if the viewer has disconnected.
    fn push(&mut self, event: TurnEvent) -> bool {
        if !self.backlog.is_empty() {
            self.backlog.push_back(event);
            return true;
        }
        match self.events.try_send(event) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(event)) => {
                self.backlog.push_back(event);
                true
            }
        }
    }
}

impl BroadcastState {
    fn apply(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Chunk(text) => self.text.push_str(text),
            TurnEvent::ToolCall { id, name, arguments } => {
                self.calls.push(RunningToolCall {
                    id: *id,
                    name: name.clone(),
                    arguments: arguments.clone(),
                });
            }
            TurnEvent::ToolResult { id, .. } => self.calls.retain(|call| call.id != *id),
            TurnEvent::Ended(_) => {
                self.ended = true;
                self.calls.clear();
            }
            _ => {}
        }
    }

    /// Publishes an event. Returns true if a viewer is behind.
    fn publish(&mut self, event: TurnEvent) -> bool {
        match self.viewers.as_mut_slice() {
            [] => return false,
            // The usual case copies nothing.
            [only] => {
                if !only.push(event) {
                    self.viewers.clear();
                    return false;
                }
            }
            _ => self.viewers.retain_mut(|viewer| viewer.push(event.clone())),
        }
        self.viewers.iter().any(|viewer| !viewer.backlog.is_empty())
    }
}

impl TurnBroadcast {
    /// Adds a viewer; returns `None` if the turn has ended or has too many viewers.
    pub(crate) fn subscribe(&self, turn: &Arc<str>) -> Option<TurnViewer> {
        let (sender, events) = mpsc::channel(VIEWER_CAPACITY);
        let mut state = self.0.lock();
        if state.ended || state.viewers.len() >= MAX_VIEWERS {
            return None;
        }
        let id = state.next_viewer;
        state.next_viewer += 1;
        state.viewers.push(ViewerQueue { id, events: sender, backlog: VecDeque::new() });
        Some(TurnViewer {
            turn: Arc::clone(turn),
            text_so_far: state.text.clone(),
            running_calls: state.calls.clone(),
            events,
        })
    }

    /// Publishes an event. Returns true if a viewer is behind and should be waited for.
    pub(crate) fn publish(&self, event: TurnEvent) -> bool {
        let mut state = self.0.lock();
        state.apply(&event);
        state.publish(event)
    }

    /// Publishes an event and waits for viewers that are behind.
    pub(crate) async fn publish_and_wait(&self, event: TurnEvent) {
        if self.publish(event) {
            self.wait_for_viewers().await;
        }
    }

    /// Publishes the progress of a running call to viewers with space for it.
    pub(crate) fn publish_progress(&self, id: CallId, progress: ProgressReport) {
        let state = self.0.lock();
        let Some(call) = state.calls.iter().find(|call| call.id == id) else { return };
        let event = TurnEvent::ToolProgress { id, name: call.name.clone(), progress };
        for viewer in state.viewers.iter().filter(|viewer| viewer.backlog.is_empty()) {
            // The next report supersedes this one.
            let _ = viewer.events.try_send(event.clone());
        }
    }

    /// Waits until no viewer is behind. Viewers that stay behind are disconnected.
    pub(crate) async fn wait_for_viewers(&self) {
        let deadline = Instant::now() + VIEWER_TIMEOUT;
        while let Some((id, events)) = self.first_lagging_viewer() {
            let room = timeout_at(deadline, events.reserve_owned()).await;
            let mut state = self.0.lock();
            match room {
                Ok(Ok(room)) => {
                    let viewer = state.viewers.iter_mut().find(|viewer| viewer.id == id);
                    if let Some(event) = viewer.and_then(|viewer| viewer.backlog.pop_front()) {
                        room.send(event);
                    }
                }
                Ok(Err(_)) => state.viewers.retain(|viewer| viewer.id != id),
                Err(_) => {
                    tracing::debug!("a viewer of a turn did not read and was disconnected");
                    state.viewers.retain(|viewer| viewer.id != id);
                }
            }
        }
    }

    fn first_lagging_viewer(&self) -> Option<(u64, mpsc::Sender<TurnEvent>)> {
        let state = self.0.lock();
        let behind = state.viewers.iter().find(|viewer| !viewer.backlog.is_empty())?;
        Some((behind.id, behind.events.clone()))
    }

    /// Resolves when there are no viewers any more.
    pub(crate) async fn wait_until_unwatched(&self) {
        loop {
            let first = self.0.lock().viewers.first().map(|viewer| (viewer.id, viewer.events.clone()));
            let Some((id, events)) = first else { return };
            events.closed().await;
            self.0.lock().viewers.retain(|viewer| viewer.id != id);
        }
    }

    /// Returns the length of the text so far in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.0.lock().text.len()
    }

    /// Returns whether the next text needs a separator before it.
    pub(crate) fn needs_separator(&self) -> bool {
        let state = self.0.lock();
        !state.text.is_empty() && !state.text.ends_with('\n')
    }

    /// Returns the text from a position on.
    pub(crate) fn text_from(&self, place: usize) -> String {
        self.0.lock().text.get(place..).unwrap_or_default().to_owned()
    }

    /// Removes the text from a position on.
    pub(crate) fn truncate_text(&self, place: usize) -> bool {
        let mut state = self.0.lock();
        if state.text.len() <= place {
            return false;
        }
        let kept = std::mem::take(&mut state.text);
        let kept = kept.get(..place).unwrap_or_default().to_owned();
        let mut behind = state.publish(TurnEvent::ChunkReset);
        if !kept.is_empty() {
            behind = state.publish(TurnEvent::Chunk(kept.clone()));
        }
        state.text = kept;
        behind
    }
}

#[cfg(test)]
mod tests;
