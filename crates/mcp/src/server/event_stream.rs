//! Messages to a client as server-sent events: the stream of one request, or the stream of a session for messages that
//! belong to no request. A session's client can read a stream again from an event on (`Last-Event-ID`).
//!
//! Writing never waits. A client that does not read loses the oldest messages.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::message_sink::{MessageSink, SinkClosed};

/// Maximum number of stored events.
const MAX_EVENTS: usize = 256;
/// Maximum total size of the stored events, in bytes. The newest event is stored in any case.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of open readers. Only the first one gets events.
const MAX_READERS: usize = 32;
/// Time that a client waits before it opens a stream again, in milliseconds.
const RETRY_MS: u64 = 3_000;
/// Keeps an idle connection open.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// The names of the events of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventIds {
    /// Events have no ids, because there is no session.
    None,
    /// Events of a session's own stream.
    Session,
    /// Events of the request with this number.
    Request(u64),
}

/// A stream of messages.
#[derive(Debug)]
pub(crate) struct EventStream {
    ids: EventIds,
    /// True if the client's version has an event without data that tells the id to continue from.
    is_primed: bool,
    state: Mutex<StreamState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct StreamState {
    /// The stored events with their numbers, oldest first.
    events: VecDeque<(u64, String)>,
    bytes: usize,
    last_index: u64,
    /// The number of the last event that was read.
    read_index: u64,
    /// Open readers, by their tickets.
    readers: VecDeque<u64>,
    last_ticket: u64,
    is_closed: bool,
}

/// A reader of a stream.
#[derive(Debug)]
pub(crate) struct EventReader {
    stream: Arc<EventStream>,
    ticket: u64,
    is_primed: bool,
}

/// The id of an event: its number, and the request of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) index: u64,
    pub(crate) request: Option<u64>,
}

impl EventId {
    /// Parses the id of an event.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once('/') {
            Some((index, request)) => {
                Some(Self { index: index.parse().ok()?, request: Some(request.parse().ok()?) })
            }
            None => Some(Self { index: text.parse().ok()?, request: None }),
        }
    }
}

impl EventStream {
    pub(crate) fn new(ids: EventIds, is_primed: bool) -> Arc<Self> {
        Arc::new(Self {
            ids,
            is_primed: is_primed && ids != EventIds::None,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Adds a message. Returns false if the stream is closed.
    pub(crate) fn push(&self, message: String) -> bool {
        {
            let mut state = self.state.lock();
            if state.is_closed {
                return false;
            }
            state.last_index += 1;
            state.bytes += message.len();
            let index = state.last_index;
            state.events.push_back((index, message));
            while state.events.len() > MAX_EVENTS || (state.bytes > MAX_BYTES && state.events.len() > 1) {
                let Some((_, dropped)) = state.events.pop_front() else { break };
                state.bytes -= dropped.len();
            }
        }
        self.changed.notify_waiters();
        true
    }

    /// Ends the stream after the present events.
    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_waiters();
    }

    /// Returns true if nothing was written yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().last_index == 0
    }

    /// Returns true if somebody reads the stream.
    pub(crate) fn has_reader(&self) -> bool {
        !self.state.lock().readers.is_empty()
    }

    /// Returns true if nothing more can be written.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Returns true if the stream has ended and was read to its end.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state.lock();
        state.is_closed && state.read_index == state.last_index
    }

    /// The size of the stored events, in bytes.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Waits until something was written.
    pub(crate) async fn wait_for_event(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Opens the stream. If it has a reader already, the new one gets nothing until that one leaves. `None` if there
    /// are too many.
    pub(crate) fn read(self: &Arc<Self>) -> Option<EventReader> {
        let mut state = self.state.lock();
        if state.readers.len() >= MAX_READERS {
            return None;
        }
        Some(self.add_reader(&mut state))
    }

    /// Opens the stream after an event that the client has read. Earlier readers end.
    pub(crate) fn resume(self: &Arc<Self>, after: u64) -> EventReader {
        let reader = {
            let mut state = self.state.lock();
            state.readers.clear();
            state.read_index = after.min(state.last_index);
            self.add_reader(&mut state)
        };
        self.changed.notify_waiters();
        reader
    }

    fn add_reader(self: &Arc<Self>, state: &mut StreamState) -> EventReader {
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.readers.push_back(ticket);
        EventReader { stream: Arc::clone(self), ticket, is_primed: self.is_primed }
    }

    /// Writes an event. The message has no line breaks outside of strings that are escaped there, but a result of
    /// another program may.
    fn event(&self, index: u64, message: &str) -> Bytes {
        let mut event = String::with_capacity(message.len() + 48);
        self.write_id(&mut event, index);
        for line in message.split(['\n', '\r']) {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
        event.push('\n');
        event.into()
    }

    /// Writes the event without data that tells the id to continue from.
    fn priming_event(&self, index: u64) -> Bytes {
        let mut event = String::new();
        self.write_id(&mut event, index);
        let _ = write!(event, "retry: {RETRY_MS}\ndata:\n\n");
        event.into()
    }

    fn write_id(&self, event: &mut String, index: u64) {
        let _ = match self.ids {
            EventIds::None => Ok(()),
            EventIds::Session => writeln!(event, "id: {index}"),
            EventIds::Request(request) => writeln!(event, "id: {index}/{request}"),
        };
    }
}

impl EventReader {
    /// The next event as bytes; `None` at the end of the stream, or if another reader has taken over.
    pub(crate) async fn next_event(&mut self) -> Option<Bytes> {
        loop {
            let stream = &self.stream;
            let changed = stream.changed.notified();
            {
                let mut state = stream.state.lock();
                if !state.readers.contains(&self.ticket) {
                    return None;
                }
                if std::mem::take(&mut self.is_primed) {
                    return Some(stream.priming_event(state.read_index));
                }
                if state.readers.front() == Some(&self.ticket) {
                    let unread = state.events.iter().find(|(index, _)| *index > state.read_index);
                    if let Some((index, message)) = unread {
                        let (index, event) = (*index, stream.event(*index, message));
                        state.read_index = index;
                        return Some(event);
                    }
                }
                if state.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.stream.state.lock().readers.retain(|ticket| *ticket != self.ticket);
        self.stream.changed.notify_waiters();
    }
}

impl MessageSink for EventStream {
    fn send(&self, message: String) -> BoxFuture<'static, Result<(), SinkClosed>> {
        let is_open = self.push(message);
        Box::pin(std::future::ready(if is_open { Ok(()) } else { Err(SinkClosed) }))
    }
}

#[cfg(test)]
mod tests;
