//! A session over HTTP: the session of its client, and its streams. A response that the client could not read stays
//! for a while, so that the client can read it from another connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::event_stream::{EventId, EventIds, EventReader, EventStream};
use super::principal_quota::{PrincipalQuota, QuotaPermit};
use super::scoped_server::ScopedServer;
use super::session::{ClientSession, DeclaredClient};

/// Retention of a response that was not read.
const RETENTION: Duration = Duration::from_secs(60);

/// A session over HTTP.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) client: Arc<ClientSession>,
    /// Cancelled at the end of the session.
    pub(crate) over: CancellationToken,
    /// The stream of messages that belong to no request.
    own_stream: Arc<EventStream>,
    is_primed: bool,
    unread: Arc<PrincipalQuota>,
    requests: Mutex<RequestStreams>,
}

/// The streams of requests that run or whose responses were not read.
#[derive(Debug, Default)]
struct RequestStreams {
    last_number: u64,
    streams: HashMap<u64, RequestStream>,
}

#[derive(Debug)]
struct RequestStream {
    stream: Arc<EventStream>,
    /// Set while the response waits to be read.
    waiting: Option<(Instant, QuotaPermit)>,
}

impl HttpSession {
    /// Creates the session of a client that has declared this in its handshake. Returns it together with the result of
    /// `initialize`.
    pub(crate) fn open(
        server: ScopedServer,
        declared: DeclaredClient,
        unread: Arc<PrincipalQuota>,
    ) -> (Arc<Self>, String) {
        // Older official SDKs raise an exception for an event without data.
        let is_primed = declared.version.as_str() >= "2025-11-25";
        let own_stream = EventStream::new(EventIds::Session, is_primed);
        let client = Arc::new(ClientSession::new(server, Arc::clone(&own_stream) as _));
        let result = client.initialize(declared);
        let session = Self {
            client,
            over: CancellationToken::new(),
            own_stream,
            is_primed,
            unread,
            requests: Mutex::default(),
        };
        (Arc::new(session), result)
    }

    /// The stream of messages that belong to no request.
    pub(crate) fn own_stream(&self) -> &Arc<EventStream> {
        &self.own_stream
    }

    /// Opens the stream of a request, and returns its number.
    pub(crate) fn open_stream(&self) -> (u64, Arc<EventStream>) {
        let mut requests = self.requests.lock();
        let now = Instant::now();
        requests.streams.retain(|_, it| !it.is_over(now));
        requests.last_number += 1;
        let number = requests.last_number;
        let stream = EventStream::new(EventIds::Request(number), self.is_primed);
        requests.streams.insert(number, RequestStream { stream: Arc::clone(&stream), waiting: None });
        (number, stream)
    }

    /// Opens a stream again after this event. `None` if it is not stored any more.
    pub(crate) fn resume(&self, after: EventId) -> Option<(Option<u64>, EventReader)> {
        let Some(number) = after.request else { return Some((None, self.own_stream.resume(after.index))) };
        let stream = self.requests.lock().streams.get(&number).map(|it| Arc::clone(&it.stream))?;
        Some((Some(number), stream.resume(after.index)))
    }

    /// Decides after the end of a request, or after its reader has left, whether its stream stays.
    pub(crate) fn settle_stream(&self, number: u64) {
        let mut requests = self.requests.lock();
        let Some(found) = requests.streams.get_mut(&number) else { return };
        let stream = &found.stream;
        if stream.is_done() {
            requests.streams.remove(&number);
            return;
        }
        if !stream.is_closed() || stream.has_reader() || found.waiting.is_some() {
            return;
        }
        let principal = &self.client.server.scope.caller.principal.id;
        match self.unread.acquire(principal, stream.stored_bytes()) {
            Some(permit) => found.waiting = Some((Instant::now(), permit)),
            None => {
                requests.streams.remove(&number);
            }
        }
    }

    /// Removes responses that waited too long.
    pub(crate) fn expire_streams(&self) {
        let now = Instant::now();
        self.requests.lock().streams.retain(|_, it| !it.is_over(now));
    }

    /// Ends the session: its streams end, and its requests are cancelled.
    pub(crate) fn end(&self) {
        self.over.cancel();
        self.own_stream.close();
    }
}

impl RequestStream {
    fn is_over(&self, now: Instant) -> bool {
        let waits_too_long = self.waiting.as_ref().is_some_and(|(since, _)| {
            now.saturating_duration_since(*since) >= RETENTION && !self.stream.has_reader()
        });
        self.stream.is_done() || waits_too_long
    }
}
