//! A connection to a server, from the handshake to its end.

mod followed_tasks;
mod server_notifications;
mod server_requests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_types::RawJson;

use self::followed_tasks::FollowedTasks;
pub(super) use self::followed_tasks::TaskAttachment;
use super::client_group::{ClientGroup, ServedClients};
use super::error::UpstreamError;
use super::exchange::{MessageOrigin, UpstreamExchange};
use super::frame::{self, IncomingMessage, UnreadableMessage};
use super::meta::MetaWriter;
use super::server_context::ServerContext;
use super::transport::message_handler::MessageHandler;
use super::transport::{McpTransport, OutgoingRequest};
use crate::client_link::RequestingClient;
use crate::offering::{ServerFacts, UpstreamEvent};
use crate::protocol_era::ProtocolEra;

/// Maximum number of a server's requests to handle at a time.
const MAX_SERVER_REQUESTS: usize = 64;
/// Maximum length of the part of an unreadable message in the log, in bytes.
const MAX_SHOWN_BYTES: usize = 256;
/// Time after a response in which earlier messages of the server may still arrive on another stream.
const LATE_MESSAGE_WINDOW: Duration = Duration::from_millis(250);

/// A connection to a server.
pub(super) struct UpstreamConnection {
    server: Arc<ServerContext>,
    served: ServedClients,
    transport: McpTransport,
    ids: AtomicU64,
    negotiated: OnceLock<NegotiatedProtocol>,
    meta: MetaWriter,
    /// The requests on behalf of clients.
    exchanges: Mutex<HashMap<u64, Arc<UpstreamExchange>>>,
    followed_tasks: FollowedTasks,
    /// The client of the most recently ended request, and the time of its end.
    last_client: Mutex<Option<(Arc<dyn RequestingClient>, Instant)>>,
    /// Permits for requests of the server.
    pub(super) server_request_permits: Arc<Semaphore>,
    closed: CancellationToken,
    fault: Mutex<Option<UpstreamError>>,
}

/// The result of the handshake.
#[derive(Debug, Clone)]
pub(super) struct NegotiatedProtocol {
    pub(super) era: ProtocolEra,
    pub(super) facts: Arc<ServerFacts>,
    /// True if a server of the older era takes calls of tools as tasks.
    pub(super) takes_tool_tasks: bool,
}

impl std::fmt::Debug for UpstreamConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamConnection").field("server", &self.server).finish_non_exhaustive()
    }
}

impl UpstreamConnection {
    pub(super) fn new(
        server: Arc<ServerContext>,
        served: ServedClients,
        transport: McpTransport,
    ) -> Arc<Self> {
        let meta = MetaWriter::new(&server.deps().client_name, &server.deps().client_version);
        Arc::new(Self {
            server,
            served,
            transport,
            ids: AtomicU64::new(1),
            negotiated: OnceLock::new(),
            meta,
            exchanges: Mutex::default(),
            followed_tasks: FollowedTasks::default(),
            last_client: Mutex::default(),
            server_request_permits: Arc::new(Semaphore::new(MAX_SERVER_REQUESTS)),
            closed: CancellationToken::new(),
            fault: Mutex::default(),
        })
    }

    pub(super) fn server(&self) -> &Arc<ServerContext> {
        &self.server
    }

    /// The kind of clients that the connection serves.
    pub(super) fn served(&self) -> ServedClients {
        self.served
    }

    /// The clients that the connection serves.
    pub(super) fn clients(&self) -> &ClientGroup {
        self.server.clients(self.served)
    }

    /// Sends an event to the clients that the connection serves.
    pub(super) fn emit(&self, event: UpstreamEvent) {
        self.server.emit(self.served, event);
    }

    pub(super) fn transport(&self) -> &McpTransport {
        &self.transport
    }

    pub(super) fn meta(&self) -> &MetaWriter {
        &self.meta
    }

    /// Sets the result of the handshake.
    pub(super) fn set_negotiated(&self, settled: NegotiatedProtocol) {
        if let McpTransport::StreamableHttp(http) = &self.transport {
            http.set_version(settled.facts.protocol_version.as_str(), settled.era);
        }
        // There is only one handshake.
        let _ = self.negotiated.set(settled);
    }

    /// The result of the handshake; `None` before its end.
    pub(super) fn negotiated(&self) -> Option<&NegotiatedProtocol> {
        self.negotiated.get()
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.negotiated().is_some_and(|settled| settled.era == ProtocolEra::Stateless)
    }

    /// Returns true if a call of a tool can be sent as a task of 2025-11-25.
    pub(super) fn takes_tool_tasks(&self) -> bool {
        self.negotiated().is_some_and(|settled| settled.takes_tool_tasks)
    }

    /// The id of the next request.
    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and waits for its result. If the future is dropped before that, the server is told that the
    /// request is cancelled.
    pub(super) async fn request(
        self: &Arc<Self>,
        request: OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        let is_handshake = matches!(request.method, "initialize" | "server/discover");
        let mut guard = RequestGuard {
            connection: self,
            id: request.id,
            exchange: None,
            notify_cancelled: !is_handshake,
        };
        // A call that follows a task keeps its exchange here by itself.
        if let Some(exchange) = request.exchange.as_ref().filter(|exchange| !exchange.is_kept()) {
            self.exchanges.lock().insert(request.id, Arc::clone(exchange));
            guard.exchange = Some(Arc::clone(exchange));
        }
        // Over HTTP, a running request continues when the connection is closed: only its own response tells if it has
        // run.
        let result = self.transport.request(self, request).await;
        guard.notify_cancelled = false;
        if let Err(fault @ UpstreamError::SessionExpired(_)) = &result {
            self.fail(fault.clone());
        }
        result
    }

    /// Sends a request of the gateway itself. `members` are the members of its parameters, each as `"name":value`.
    pub(super) async fn request_own(
        self: &Arc<Self>,
        method: &'static str,
        name: Option<&str>,
        members: &str,
    ) -> Result<RawJson, UpstreamError> {
        let id = self.next_id();
        let mut params = String::with_capacity(members.len() + 300);
        params.push('{');
        params.push_str(members);
        if self.is_stateless() {
            if !members.is_empty() {
                params.push(',');
            }
            let level = self.clients().interest().lock().lowest_level();
            self.meta.write(&mut params, None, Some(ProtocolEra::Stateless), None, level);
        }
        params.push('}');
        self.request(OutgoingRequest { id, method, name, params, headers: Vec::new(), exchange: None }).await
    }

    /// Sends a message in the background, if it needs no response.
    pub(super) fn send_detached(self: &Arc<Self>, frame: Bytes) {
        let connection = Arc::clone(self);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let sent = tokio::select! {
                sent = connection.transport.send(frame) => sent,
                () = connection.closed.cancelled() => return,
            };
            let Err(fault) = sent else { return };
            tracing::debug!(server = %connection.server.slug(), %fault, "a message could not be sent");
            if matches!(fault, UpstreamError::SessionExpired(_)) {
                connection.fail(fault);
            }
        });
    }

    fn complete(&self, id: u64, answer: Result<RawJson, UpstreamError>) {
        let is_waited_for =
            self.transport.pending_responses().is_some_and(|pending| pending.complete(id, answer));
        if !is_waited_for {
            tracing::debug!(server = %self.server.slug(), id, "an answer that nobody waits for");
        }
    }

    /// The exchange that a message of this origin belongs to, if that is clear.
    pub(super) fn exchange_of(&self, origin: MessageOrigin<'_>) -> Option<Arc<UpstreamExchange>> {
        match origin {
            MessageOrigin::Exchange(exchange) => Some(Arc::clone(exchange)),
            MessageOrigin::Gateway => None,
            MessageOrigin::Shared => {
                let exchanges = self.exchanges.lock();
                let mut all = exchanges.values();
                all.next().filter(|_| all.next().is_none()).cloned()
            }
        }
    }

    /// The client whose request has just ended. A message now most likely belongs to it, and was overtaken by the
    /// response.
    pub(super) fn recently_ended_client(&self) -> Option<Arc<dyn RequestingClient>> {
        let last = self.last_client.lock();
        let (client, _) = last.as_ref().filter(|(_, when)| when.elapsed() < LATE_MESSAGE_WINDOW)?;
        Some(Arc::clone(client))
    }

    /// The tasks that calls follow.
    fn followed_tasks(&self) -> &FollowedTasks {
        &self.followed_tasks
    }

    /// Ends the exchange of a request on behalf of a client.
    fn forget_exchange(&self, id: u64, exchange: &UpstreamExchange) {
        exchange.abort_questions();
        self.exchanges.lock().remove(&id);
        if let Some(client) = &exchange.client {
            let last = (Arc::clone(client), Instant::now());
            let before = self.last_client.lock().replace(last);
            drop(before);
        }
    }

    /// The exchange with this request id, if it is still running.
    pub(super) fn exchange(&self, id: u64) -> Option<Arc<UpstreamExchange>> {
        self.exchanges.lock().get(&id).cloned()
    }

    /// Returns true if a request on behalf of a client is running.
    pub(super) fn is_busy(&self) -> bool {
        !self.exchanges.lock().is_empty()
    }

    /// Adds a line about an invalid message to the server's log.
    pub(super) fn log_anomaly(&self, what: &str) {
        self.server.log().add(what.as_bytes());
    }

    /// Closes the connection. The first reason counts.
    pub(super) fn fail(&self, fault: UpstreamError) {
        let fault = self.fault.lock().get_or_insert(fault).clone();
        if let Some(pending) = self.transport.pending_responses() {
            pending.fail_all(&fault);
        }
        self.closed.cancel();
    }

    /// The reason why the connection is closed.
    pub(super) fn fault(&self) -> UpstreamError {
        self.fault.lock().clone().unwrap_or_else(|| UpstreamError::ConnectionLost("it was closed".to_owned()))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits until the connection is closed.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl MessageHandler for Arc<UpstreamConnection> {
    fn handle_message(&self, message: IncomingMessage<'_>, origin: MessageOrigin<'_>) {
        match message {
            IncomingMessage::Result(id, result) => self.complete(id, Ok(result.to_owned().into())),
            IncomingMessage::Error(Some(id), error) => self.complete(id, Err(UpstreamError::RpcError(error))),
            IncomingMessage::Error(None, error) => {
                match self.transport.pending_responses().and_then(|pending| pending.sole_id()) {
                    // The server could not read a request, and only this one is pending.
                    Some(id) => self.complete(id, Err(UpstreamError::RpcError(error))),
                    None => self.log_anomaly(&format!(
                        "it refuses something, and does not say what: {}",
                        error.message
                    )),
                }
            }
            IncomingMessage::Request(id, method, params) => {
                server_requests::handle_request(self, id, &method, params, origin);
            }
            IncomingMessage::Notification(method, params) => {
                server_notifications::handle_notification(self, &method, params, origin);
            }
        }
    }

    fn handle_unreadable(&self, message: &UnreadableMessage, place: &str, text: &[u8]) {
        let reason = &message.reason;
        let shown = String::from_utf8_lossy(text.get(..MAX_SHOWN_BYTES).unwrap_or(text));
        self.log_anomaly(&format!("{place} that is not an MCP message ({reason}): {shown}"));
        if let Some(id) = message.answered_request {
            self.complete(id, Err(UpstreamError::unreadable_answer(reason)));
        }
        if let Some(id) = &message.own_request {
            let error =
                ErrorData::new(ErrorCode::PARSE_ERROR, format!("the request can't be read: {reason}"), None);
            self.send_detached(frame::reply::<()>(id, &Err(error)));
        }
    }

    fn log_anomaly(&self, text: &str) {
        UpstreamConnection::log_anomaly(self, text);
    }
}

/// Cleans up after a request.
struct RequestGuard<'a> {
    connection: &'a Arc<UpstreamConnection>,
    id: u64,
    exchange: Option<Arc<UpstreamExchange>>,
    /// True if the server must be told that the request is cancelled.
    notify_cancelled: bool,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            self.connection.forget_exchange(self.id, exchange);
        }
        // In the newer era over HTTP, closing the request's own connection cancels it.
        let says_by_itself = matches!(self.connection.transport, McpTransport::StreamableHttp(_))
            && self.connection.is_stateless();
        if self.notify_cancelled && !says_by_itself && !self.connection.is_closed() {
            self.connection.send_detached(frame::cancelled(self.id));
        }
    }
}
