//! A connection to a server, from the handshake to its end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_types::RawJson;

use super::carrier::{Carrier, Outgoing};
use super::exchange::{Exchange, Origin};
use super::fault::Fault;
use super::frame::{self, Incoming};
use super::meta::Meta;
use super::server::Upstream;
use super::status::Era;
use crate::link::Client;
use crate::offering::ServerFacts;

/// How many requests of a server are looked at at a time.
const MAX_ASKED: usize = 64;
/// How long after an answer comes what its server said before it, where that took another way.
const OVERTAKEN: Duration = Duration::from_millis(250);

/// A connection to a server.
pub(super) struct Connection {
    upstream: Arc<Upstream>,
    carrier: Carrier,
    ids: AtomicU64,
    settled: OnceLock<Settled>,
    meta: Meta,
    /// Requests that somebody outside waits for.
    exchanges: Mutex<HashMap<u64, Arc<Exchange>>>,
    /// The client of the request that ended last, and when it did.
    last: Mutex<Option<(Arc<dyn Client>, Instant)>>,
    /// Room for what the server asks.
    pub(super) room: Arc<Semaphore>,
    ended: CancellationToken,
    fault: Mutex<Option<Fault>>,
}

/// What the handshake came to.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    pub(super) era: Era,
    pub(super) facts: Arc<ServerFacts>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn new(upstream: Arc<Upstream>, carrier: Carrier) -> Arc<Self> {
        let meta = Meta::new(&upstream.parts().client_name, &upstream.parts().client_version);
        Arc::new(Self {
            upstream,
            carrier,
            ids: AtomicU64::new(1),
            settled: OnceLock::new(),
            meta,
            exchanges: Mutex::default(),
            last: Mutex::default(),
            room: Arc::new(Semaphore::new(MAX_ASKED)),
            ended: CancellationToken::new(),
            fault: Mutex::default(),
        })
    }

    pub(super) fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    pub(super) fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The longest message, in bytes.
    pub(super) fn limit(&self) -> usize {
        self.upstream.parts().settings.message_bytes
    }

    /// The handshake is over.
    pub(super) fn settle(&self, settled: Settled) {
        if let Carrier::Http(http) = &self.carrier {
            http.settle(settled.facts.protocol_version.as_str(), settled.era);
        }
        // It is settled once.
        let _ = self.settled.set(settled);
    }

    /// What the handshake came to; none before that.
    pub(super) fn settled(&self) -> Option<&Settled> {
        self.settled.get()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.settled().is_some_and(|settled| settled.era == Era::Stateless)
    }

    /// A number for the next request.
    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and waits for its result. Dropped before that, the server is told that nobody waits any more.
    pub(super) async fn request(self: &Arc<Self>, request: Outgoing<'_>) -> Result<RawJson, Fault> {
        let is_handshake = matches!(request.method, "initialize" | "server/discover");
        let mut guard = Guard { connection: self, id: request.id, exchange: None, told: !is_handshake };
        if let Some(exchange) = &request.exchange {
            self.exchanges.lock().insert(request.id, Arc::clone(exchange));
            guard.exchange = Some(Arc::clone(exchange));
        }
        // Over HTTP, a request that is under way goes on when the connection is given up: whether it has run can only
        // be learnt from its own answer.
        let result = self.carrier.request(self, request).await;
        guard.told = false;
        result
    }

    /// A request of the gateway's own, with these members of its parameters, each as `"name":value`.
    pub(super) async fn ask(
        self: &Arc<Self>,
        method: &'static str,
        name: Option<&str>,
        members: &str,
    ) -> Result<RawJson, Fault> {
        let id = self.next_id();
        let mut params = String::with_capacity(members.len() + 300);
        params.push('{');
        params.push_str(members);
        if self.is_stateless() {
            if !members.is_empty() {
                params.push(',');
            }
            let level = self.upstream.wanted().lock().level();
            self.meta.write(&mut params, None, Some(Era::Stateless), None, level);
        }
        params.push('}');
        self.request(Outgoing { id, method, name, params, headers: Vec::new(), exchange: None }).await
    }

    /// Sends what nobody waits for an answer to, without waiting for it to be gone.
    pub(super) fn post(self: &Arc<Self>, frame: Bytes) {
        let connection = Arc::clone(self);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let sent = tokio::select! {
                sent = connection.carrier.send(frame) => sent,
                () = connection.ended.cancelled() => return,
            };
            if let Err(fault) = sent {
                tracing::debug!(server = %connection.upstream.slug(), %fault, "a message could not be sent");
            }
        });
    }

    /// A message came.
    pub(super) fn incoming(self: &Arc<Self>, message: Incoming<'_>, origin: Origin<'_>) {
        match message {
            Incoming::Result(id, result) => self.answered(id, Ok(result.to_owned().into())),
            Incoming::Error(Some(id), error) => self.answered(id, Err(Fault::Refused(error))),
            Incoming::Error(None, error) => match self.carrier.pending().and_then(|pending| pending.only()) {
                // It could not read what was sent to it, and only this was.
                Some(id) => self.answered(id, Err(Fault::Refused(error))),
                None => self.odd(&format!("it refuses something, and does not say what: {}", error.message)),
            },
            Incoming::Request(id, method, params) => {
                super::asked::asked(self, id, &method, params, origin);
            }
            Incoming::Notification(method, params) => super::told::told(self, &method, params, origin),
        }
    }

    fn answered(&self, id: u64, answer: Result<RawJson, Fault>) {
        let is_waited_for = self.carrier.pending().is_some_and(|pending| pending.answer(id, answer));
        if !is_waited_for {
            tracing::debug!(server = %self.upstream.slug(), id, "an answer that nobody waits for");
        }
    }

    /// Whom a message belongs to that came in by this way; none where that can't be told.
    pub(super) fn exchange_of(&self, origin: Origin<'_>) -> Option<Arc<Exchange>> {
        match origin {
            Origin::Exchange(exchange) => Some(Arc::clone(exchange)),
            Origin::Own => None,
            Origin::Shared => {
                let exchanges = self.exchanges.lock();
                let mut all = exchanges.values();
                all.next().filter(|_| all.next().is_none()).cloned()
            }
        }
    }

    /// The client whose request has just ended: what comes in now was most likely said for it, and was overtaken by the
    /// answer.
    pub(super) fn just_ended(&self) -> Option<Arc<dyn Client>> {
        let last = self.last.lock();
        let (client, _) = last.as_ref().filter(|(_, when)| when.elapsed() < OVERTAKEN)?;
        Some(Arc::clone(client))
    }

    /// The request of this number, where it is still waited for.
    pub(super) fn exchange(&self, id: u64) -> Option<Arc<Exchange>> {
        self.exchanges.lock().get(&id).cloned()
    }

    /// Whether somebody outside waits for something.
    pub(super) fn is_busy(&self) -> bool {
        !self.exchanges.lock().is_empty()
    }

    /// Something about its messages is odd: told where its owner looks.
    pub(super) fn odd(&self, what: &str) {
        self.upstream.log().add(what.as_bytes());
    }

    /// It is of no use any more.
    pub(super) fn fail(&self, fault: Fault) {
        let fault = self.fault.lock().get_or_insert(fault).clone();
        if let Some(pending) = self.carrier.pending() {
            pending.end(&fault);
        }
        self.ended.cancel();
    }

    /// Why it is of no use any more.
    pub(super) fn fault(&self) -> Fault {
        self.fault.lock().clone().unwrap_or_else(|| Fault::Lost("it was closed".to_owned()))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until it is of no use any more.
    pub(super) async fn closed(&self) {
        self.ended.cancelled().await;
    }
}

/// Belongs to a request on its way.
struct Guard<'a> {
    connection: &'a Arc<Connection>,
    id: u64,
    exchange: Option<Arc<Exchange>>,
    /// Whether the server is to be told that nobody waits.
    told: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            exchange.over();
            self.connection.exchanges.lock().remove(&self.id);
            if let Some(client) = &exchange.client {
                let last = (Arc::clone(client), Instant::now());
                let before = self.connection.last.lock().replace(last);
                drop(before);
            }
        }
        // In the newer era over HTTP, the end of the request's own connection says it.
        let says_by_itself =
            matches!(self.connection.carrier, Carrier::Http(_)) && self.connection.is_stateless();
        if self.told && !says_by_itself && !self.connection.is_closed() {
            self.connection.post(frame::cancelled(self.id));
        }
    }
}
