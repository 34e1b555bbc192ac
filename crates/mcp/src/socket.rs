//! MCP over a connection of text messages, one JSON-RPC message each: WebSocket, or lines of standard input and
//! output. Incoming messages arrive through a bounded channel, outgoing ones leave through a
//! [`MessageSink`](crate::server::MessageSink), so nothing here depends on the transport.
//!
//! All eras of MCP work, even on one connection. The requests of a connection run side by side in its task.

mod ledger;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::ProtocolVersion;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolway_core::{JobFailed, MemoryPermit};

use self::ledger::{RequestLedger, RequestRejection};
use crate::server::socket_parts::{
    BLOCKING_PARSE_BYTES, ClientHandle, ClientSession, DeclaredClient, IncomingMessage, IncomingRequest,
    MessageError, ParsedText, RequestContext, ScopedServer, check_client_description, check_supported,
    error_message, is_modern, parse, response_message, result_message, too_many_requests,
};
use crate::server::{ClientScope, McpServerState, MessageSink};

/// Maximum number of answers to invalid messages that wait to be sent.
const MAX_PENDING_REPLIES: usize = 64;

/// The limits of one connection.
#[derive(Debug, Clone, Copy)]
pub struct SocketConfig {
    /// Maximum length of a message, in bytes. A longer one is refused, and the connection stays open.
    pub max_message_bytes: usize,
    /// Maximum number of requests in flight. Further ones are refused.
    pub max_requests_in_flight: usize,
}

/// A message of the client.
#[derive(Debug)]
pub struct SocketMessage {
    /// Its text.
    pub text: Bytes,
    /// Its memory, which its requests hold until they have ended.
    pub memory: Option<MemoryPermit>,
}

impl From<Bytes> for SocketMessage {
    fn from(text: Bytes) -> Self {
        Self { text, memory: None }
    }
}

/// One connection of a client.
pub struct McpConnection {
    session: Arc<ClientSession>,
    sink: Arc<dyn MessageSink>,
    messages: mpsc::Receiver<SocketMessage>,
    config: SocketConfig,
    ledger: Arc<Mutex<RequestLedger>>,
    /// Running requests, and replies that are being sent.
    running: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpConnection").field("config", &self.config).finish_non_exhaustive()
    }
}

impl McpConnection {
    /// Creates a connection that reads messages from this channel. It ends when the channel is closed.
    #[must_use]
    pub fn new(
        shared: Arc<McpServerState>,
        scope: ClientScope,
        messages: mpsc::Receiver<SocketMessage>,
        sink: Arc<dyn MessageSink>,
        config: SocketConfig,
    ) -> Self {
        let server = ScopedServer { shared, scope };
        Self {
            session: Arc::new(ClientSession::new(server, Arc::clone(&sink))),
            sink,
            messages,
            config,
            ledger: Arc::new(Mutex::new(RequestLedger::new(config.max_requests_in_flight))),
            running: FuturesUnordered::new(),
        }
    }

    /// Serves the connection until it ends or `cancel` is cancelled. Running requests end with it.
    pub async fn serve(mut self, cancel: CancellationToken) {
        let mut parsing: Option<JoinHandle<Result<ParsedText, JobFailed>>> = None;
        let mut parsing_memory = None;
        let most_running = self.config.max_requests_in_flight.saturating_add(MAX_PENDING_REPLIES);
        loop {
            // A client that does not read its answers is not read either.
            let is_reading = parsing.is_none() && self.running.len() < most_running;
            let (parsed, memory) = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                Some(()) = self.running.next() => continue,
                parsed = async { match &mut parsing {
                    Some(parsing) => parsing.await.ok().and_then(Result::ok).unwrap_or(ParsedText::Ignored),
                    None => std::future::pending().await,
                } } => {
                    parsing = None;
                    (parsed, parsing_memory.take())
                }
                message = self.messages.recv(), if is_reading => match message {
                    Some(SocketMessage { text, memory }) if text.len() > BLOCKING_PARSE_BYTES => {
                        let limit = self.config.max_message_bytes;
                        let server = self.session.server.clone();
                        parsing_memory = memory;
                        parsing = Some(tokio::spawn(async move {
                            server.shared.parse_jobs.run(&server.scope.caller.principal.id.0, move || parse(&text, limit)).await
                        }));
                        continue;
                    }
                    Some(SocketMessage { text, memory }) => {
                        (parse(&text, self.config.max_message_bytes), memory)
                    }
                    None => return,
                },
            };
            self.handle(parsed, memory.as_ref());
        }
    }

    fn handle(&mut self, parsed: ParsedText, memory: Option<&MemoryPermit>) {
        match parsed {
            ParsedText::Empty | ParsedText::Ignored => {}
            ParsedText::Message(message) => {
                if let Err(error) = self.handle_message(message, None, memory) {
                    self.reply(error_message(error.id.as_deref(), &error.error));
                }
            }
            ParsedText::Invalid(MessageError { id, error }) => {
                self.reply(error_message(id.as_deref(), &error));
            }
            ParsedText::Batch(messages) => self.handle_batch(messages, memory),
        }
    }

    /// Handles a batch. Only one version has batches and requires support for them. Their responses form one message.
    fn handle_batch(
        &mut self,
        messages: Vec<Result<IncomingMessage, MessageError>>,
        memory: Option<&MemoryPermit>,
    ) {
        let version = self.session.client().map(|client| client.version);
        if version != Some(ProtocolVersion::V_2025_03_26) {
            let refusal = MessageError::invalid_request(None, "only MCP 2025-03-26 supports batches");
            return self.reply(error_message(None, &refusal.error));
        }
        let batch = self.ledger.lock().open_batch();
        for message in messages {
            let handled = message.and_then(|message| self.handle_message(message, Some(batch), memory));
            if let Err(MessageError { id, error }) = handled {
                self.ledger.lock().add_refusal(batch, error_message(id.as_deref(), &error));
            }
        }
        let whole = self.ledger.lock().seal(batch);
        whole.into_iter().for_each(|responses| self.reply(responses));
    }

    fn handle_message(
        &mut self,
        message: IncomingMessage,
        batch: Option<u64>,
        memory: Option<&MemoryPermit>,
    ) -> Result<(), MessageError> {
        match message {
            IncomingMessage::Request(mut request) => {
                request.memory = memory.cloned();
                self.start(*request, batch)
            }
            IncomingMessage::Response(response) => {
                self.session.respond(response);
                Ok(())
            }
            IncomingMessage::Notification(notification) => {
                if notification.method == "notifications/cancelled" {
                    let id = notification.request_id.as_ref();
                    let rest = id.and_then(|id| self.ledger.lock().cancel(id));
                    rest.into_iter().for_each(|responses| self.reply(responses));
                } else if self.session.client().is_some() {
                    self.session.notify(&notification);
                }
                Ok(())
            }
        }
    }

    /// Starts a request.
    fn start(&mut self, request: IncomingRequest, batch: Option<u64>) -> Result<(), MessageError> {
        let cancel = CancellationToken::new();
        let admitted = self.ledger.lock().admit(&request.id, batch, cancel.clone());
        admitted.map_err(|why| match why {
            // A reply with this id would look like the response to the other request.
            RequestRejection::IdInUse => MessageError::invalid_request(
                None,
                format!("a request with the id {} is in flight", request.id),
            ),
            RequestRejection::TooMany(limit) => {
                MessageError { id: Some(request.raw_id.clone()), error: too_many_requests(limit) }
            }
        })?;
        let (id, raw_id) = (request.id.clone(), request.raw_id.clone());
        if request.method == "initialize" {
            let message = match DeclaredClient::parse(&request.params) {
                Ok(declared) => result_message(&raw_id, &self.session.initialize(declared)),
                Err(error) => error_message(Some(&raw_id), &error),
            };
            let complete = self.ledger.lock().complete(&id, message);
            complete.into_iter().for_each(|text| self.reply(text));
            return Ok(());
        }
        let context = match self.context(&request, cancel.clone()) {
            Ok(context) => context,
            Err(error) => {
                let complete = self.ledger.lock().complete(&id, error_message(Some(&raw_id), &error));
                complete.into_iter().for_each(|text| self.reply(text));
                return Ok(());
            }
        };
        let (ledger, sink) = (Arc::clone(&self.ledger), Arc::clone(&self.sink));
        self.running.push(Box::pin(async move {
            let answer = context.answer(request).await;
            // A cancelled request has no response, and its id may be in use again.
            if cancel.is_cancelled() {
                return;
            }
            let complete = ledger.lock().complete(&id, response_message(&raw_id, &answer));
            if let Some(text) = complete {
                // The connection ends if its client is gone.
                let _ = sink.send(text).await;
            }
        }));
        Ok(())
    }

    /// The context of a request: it describes its client itself, or belongs to the session of the handshake.
    fn context(
        &self,
        request: &IncomingRequest,
        cancel: CancellationToken,
    ) -> Result<RequestContext, ErrorData> {
        let meta = &request.params.meta;
        let declared = self.session.client();
        let own_version = meta.protocol_version();
        if let Some(version) = &own_version {
            check_supported(version)?;
        }
        let mut client = ClientHandle {
            messages: Some(Arc::clone(&self.sink)),
            logs: Some(Arc::clone(&self.sink)),
            cancelled: Some(cancel),
            ..ClientHandle::default()
        };
        let server = self.session.server.clone();
        let is_stateless = match &own_version {
            Some(version) => is_modern(version) || declared.is_none(),
            // Before the handshake, only a ping is allowed.
            None => declared.is_none() && request.method != "ping",
        };
        if is_stateless {
            check_client_description(meta)?;
            let version = own_version.unwrap_or_default();
            let capabilities = meta.client_capabilities().unwrap_or_default();
            return Ok(RequestContext { server, session: None, version, capabilities, client, tool: None });
        }
        client.server_requests = Some(Arc::clone(&self.session.server_requests));
        let declared =
            declared.unwrap_or_else(|| DeclaredClient::undeclared(ProtocolVersion::LATEST_WITH_INITIALIZE));
        Ok(RequestContext {
            server,
            session: Some(Arc::clone(&self.session)),
            version: declared.version,
            capabilities: declared.capabilities,
            client,
            tool: None,
        })
    }

    /// Sends a message without waiting for it.
    fn reply(&mut self, message: String) {
        let sending = self.sink.send(message);
        self.running.push(Box::pin(async move {
            // The connection ends if its client is gone.
            let _ = sending.await;
        }));
    }
}

#[cfg(test)]
mod tests;
