//! The session of a client of 2025-11-25 or before: what it declared in the handshake, its subscriptions, its requests
//! in flight, and the requests of the server to it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, InitializeResult, LoggingLevel, ProtocolVersion, RequestId};
use serde::Deserialize;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client_scope::RESOURCES_FEATURE;
use super::json_rpc::{IncomingNotification, IncomingResponse, RequestParams};
use super::message_sink::MessageSink;
use super::notifications::{NotificationForwarder, NotificationSink, SessionSubscriptions};
use super::outgoing::to_json;
use super::protocol;
use super::scoped_server::ScopedServer;
use super::server_requests::ServerRequests;
use crate::protocol_era::ProtocolEra;

/// Maximum number of resources that one client may subscribe to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;
/// Maximum length of the URI of a subscription, in bytes.
const MAX_URI_BYTES: usize = 8 << 10;
/// Maximum number of requests of one session that are in flight.
const MAX_IN_FLIGHT: usize = 256;
/// The log level of a session before the client sets one.
const DEFAULT_LOG_LEVEL: LoggingLevel = LoggingLevel::Info;
/// An error of this server (from the range that JSON-RPC reserves for servers).
const SERVER_ERROR: i32 = -32000;

/// The session of one client.
pub(crate) struct ClientSession {
    pub(crate) server: ScopedServer,
    /// The receiver of messages that belong to no request.
    pub(crate) sink: Arc<dyn MessageSink>,
    pub(crate) server_requests: Arc<ServerRequests>,
    subscriptions: Arc<Mutex<SessionSubscriptions>>,
    client: Mutex<Option<DeclaredClient>>,
    in_flight: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Ends the notifications when the session is dropped.
    notification_guard: OnceLock<DropGuard>,
}

/// The facts that a client declared in the handshake.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredClient {
    /// The negotiated version.
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
}

/// The parameters of `initialize` that matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
    #[serde(default)]
    capabilities: Option<ClientCapabilities>,
}

impl std::fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientSession").field("client", &self.client.lock()).finish_non_exhaustive()
    }
}

impl DeclaredClient {
    /// A client that has not declared anything yet.
    pub(crate) fn undeclared(version: ProtocolVersion) -> Self {
        Self { version, capabilities: ClientCapabilities::default() }
    }

    /// Parses the parameters of `initialize`, and chooses the version.
    ///
    /// # Errors
    /// `-32602` with the problem.
    pub(crate) fn parse(params: &RequestParams) -> Result<Self, ErrorData> {
        let InitializeParams { protocol_version, capabilities } = params.to()?;
        let mut capabilities = capabilities.unwrap_or_default();
        // Kept as long as the session. These may be of any size, and nothing reads more than their presence.
        capabilities.experimental = None;
        capabilities.extensions = None;
        if let Some(sampling) = &mut capabilities.sampling {
            sampling.tools.iter_mut().chain(&mut sampling.context).for_each(serde_json::Map::clear);
        }
        Ok(Self { version: protocol::negotiate(&protocol_version), capabilities })
    }
}

impl ClientSession {
    pub(crate) fn new(server: ScopedServer, sink: Arc<dyn MessageSink>) -> Self {
        Self {
            server,
            sink,
            server_requests: Arc::default(),
            subscriptions: Arc::default(),
            client: Mutex::default(),
            in_flight: Mutex::default(),
            notification_guard: OnceLock::new(),
        }
    }

    /// The client, after its handshake.
    pub(crate) fn client(&self) -> Option<DeclaredClient> {
        self.client.lock().clone()
    }

    /// The era in which the client reaches servers of both.
    fn upstream_era(&self) -> ProtocolEra {
        let client = self.client.lock();
        let era =
            client.as_ref().map(|client| ProtocolEra::for_client(&client.version, &client.capabilities));
        era.unwrap_or(ProtocolEra::Stateless)
    }

    /// Sets the client, and returns the result of `initialize`.
    pub(crate) fn initialize(&self, client: DeclaredClient) -> String {
        let mut config = self.server.config();
        // Tasks and other extensions exist since 2026-07-28.
        config.capabilities.extensions = None;
        let result: InitializeResult = config.with_protocol_version(client.version.clone());
        *self.client.lock() = Some(client);
        to_json(&result)
    }

    /// Handles a notification of the client.
    pub(crate) fn notify(&self, notification: &IncomingNotification) {
        match (notification.method.as_str(), &notification.request_id) {
            ("notifications/initialized", _) => self.start_notifications(),
            ("notifications/cancelled", Some(id)) => self.cancel(id),
            _ => {}
        }
    }

    /// Handles a response of the client.
    pub(crate) fn respond(&self, response: IncomingResponse) {
        self.server_requests.complete(&response.id, response.answer);
    }

    /// The lowest level of log messages that the client wants.
    pub(crate) fn log_level(&self) -> LoggingLevel {
        self.subscriptions.lock().log_level.unwrap_or(DEFAULT_LOG_LEVEL)
    }

    /// Admits a request, and returns its cancellation.
    ///
    /// # Errors
    /// The error for the client, if the id is in use or too many requests are in flight.
    pub(crate) fn admit(&self, id: &RequestId) -> Result<CancellationToken, ErrorData> {
        let mut in_flight = self.in_flight.lock();
        let count = in_flight.len();
        match in_flight.entry(id.clone()) {
            Entry::Occupied(_) => {
                Err(ErrorData::invalid_request("Invalid request: a request with this id is in flight", None))
            }
            Entry::Vacant(_) if count >= MAX_IN_FLIGHT => Err(too_many_requests(MAX_IN_FLIGHT)),
            Entry::Vacant(free) => Ok(free.insert(CancellationToken::new()).clone()),
        }
    }

    /// Removes a request that has ended.
    pub(crate) fn settle(&self, id: &RequestId) {
        self.in_flight.lock().remove(id);
    }

    fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.in_flight.lock().get(id) {
            cancel.cancel();
        }
    }

    /// Requests log messages of this level and above.
    pub(crate) async fn set_log_level(&self, level: LoggingLevel) {
        let mut levels = Vec::new();
        for named in self.server.offerings(self.upstream_era()).permitted(RESOURCES_FEATURE) {
            let logs = named.offering.facts().is_some_and(|facts| facts.capabilities.logging.is_some());
            // A disconnected upstream gets the level when it reconnects.
            if logs && let Ok(level) = named.offering.request_log_level(level).await {
                levels.push(level);
            }
        }
        let before = {
            let mut wishes = self.subscriptions.lock();
            wishes.log_level = Some(level);
            std::mem::replace(&mut wishes.log_subscriptions, levels)
        };
        drop(before);
    }

    /// Subscribes to a resource.
    ///
    /// # Errors
    /// The error for the client.
    pub(crate) async fn subscribe(&self, uri: String) -> Result<(), ErrorData> {
        if uri.len() > MAX_URI_BYTES {
            let words = format!("the uri of a subscription may have at most {MAX_URI_BYTES} bytes");
            return Err(ErrorData::invalid_params(words, None));
        }
        if self.subscriptions.lock().resources.len() >= MAX_SUBSCRIPTIONS {
            return Err(ErrorData::invalid_params(
                "too many resource subscriptions; unsubscribe from some",
                None,
            ));
        }
        let subscription = self.server.subscribe_resource(self.upstream_era(), &uri).await?;
        let before = self.subscriptions.lock().resources.insert(uri, subscription);
        drop(before);
        Ok(())
    }

    /// Ends the subscription to a resource.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let before = self.subscriptions.lock().resources.remove(uri);
        drop(before);
    }

    /// Starts to send notifications that belong to no request. The client may repeat its notification, but one
    /// forwarding task is enough.
    fn start_notifications(&self) {
        let over = CancellationToken::new();
        if self.notification_guard.set(over.clone().drop_guard()).is_err() {
            return;
        }
        let reader = NotificationSink::Session(Arc::clone(&self.sink), Arc::clone(&self.subscriptions));
        let shared = &self.server.shared;
        let (engine, offerings) = (Arc::clone(&shared.engine), Arc::clone(&shared.offerings));
        let scope = self.server.scope.clone();
        // Not in the task: the client may cause a change as soon as its notification is answered.
        let forwarder = NotificationForwarder::new(engine, offerings, scope, self.upstream_era());
        tokio::spawn(async move {
            tokio::select! {
                () = forwarder.run(reader) => {}
                () = over.cancelled() => {}
            }
        });
    }
}

/// The error for a request beyond the limit of requests in flight.
pub(crate) fn too_many_requests(limit: usize) -> ErrorData {
    let words =
        format!("{limit} requests of this client are in flight already; wait for some of them to end");
    ErrorData::new(rmcp::model::ErrorCode(SERVER_ERROR), words, None)
}
