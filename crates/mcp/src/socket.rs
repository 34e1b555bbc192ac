//! MCP over a connection of text messages, one JSON-RPC message each: WebSocket, or lines of standard input and
//! output. Incoming messages arrive through a bounded channel, outgoing ones leave through a [`MessageSink`], so
//! nothing here depends on the transport.
//!
//! All eras of MCP work. This module answers only invalid input itself: text that is not JSON, JSON that is not a
//! message, messages that are too long, and requests beyond the limit in flight.

mod ledger;
mod parser;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{QuitReason, ServerInitializeError, Service, serve_server_with_ct};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::ledger::{RequestLedger, RequestRejection};
use self::parser::{JsonRpcErrorReply, ParsedText, parse};
use crate::verbatim::VerbatimMarker;

/// Messages longer than this are parsed on a thread for blocking work, so that they don't delay others.
const BLOCKING_PARSE_BYTES: usize = 256 << 10;

/// The receiver of the messages is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is closed")]
pub struct SinkClosed;

/// The receiver of outgoing messages. Its queue is bounded: sending waits for room.
pub trait MessageSink: Clone + Send + Sync + 'static {
    /// Sends one message.
    ///
    /// # Errors
    /// [`SinkClosed`] if the receiver is gone.
    fn send(&self, message: String) -> impl Future<Output = Result<(), SinkClosed>> + Send + 'static;
}

impl MessageSink for mpsc::Sender<String> {
    fn send(&self, message: String) -> impl Future<Output = Result<(), SinkClosed>> + Send + 'static {
        let queue = self.clone();
        async move { Self::send(&queue, message).await.map_err(|_| SinkClosed) }
    }
}

/// The limits of one connection.
#[derive(Debug, Clone)]
pub struct SocketConfig {
    /// Maximum length of a message, in bytes. A longer one is refused, and the connection stays open.
    pub max_message_bytes: usize,
    /// Maximum number of requests in flight. Further ones are refused.
    pub max_requests_in_flight: usize,
    /// The marker of JSON that must not change.
    pub verbatim: VerbatimMarker,
}

/// One connection as a transport of `rmcp`. Cheap to clone; clones share the connection.
#[derive(Debug)]
pub struct SocketTransport<O> {
    incoming: Arc<tokio::sync::Mutex<SocketReadState>>,
    outlet: O,
    ledger: Arc<Mutex<RequestLedger>>,
    verbatim: VerbatimMarker,
}

/// Messages that were read but not delivered yet. `rmcp` drops the future of a read whenever it has other work, so
/// all progress of a read is stored here.
#[derive(Debug)]
struct SocketReadState {
    messages: mpsc::Receiver<Bytes>,
    max_message_bytes: usize,
    /// A long message that is being parsed.
    parsing: Option<JoinHandle<ParsedText>>,
    ready: VecDeque<ClientJsonRpcMessage>,
    /// Error replies to invalid input.
    replies: VecDeque<String>,
}

impl<O: Clone> Clone for SocketTransport<O> {
    fn clone(&self) -> Self {
        Self {
            incoming: Arc::clone(&self.incoming),
            outlet: self.outlet.clone(),
            ledger: Arc::clone(&self.ledger),
            verbatim: self.verbatim.clone(),
        }
    }
}

impl<O: MessageSink> SocketTransport<O> {
    /// Creates a connection that reads messages from this channel. It ends when the channel is closed.
    #[must_use]
    pub fn new(messages: mpsc::Receiver<Bytes>, outlet: O, terms: SocketConfig) -> Self {
        let SocketConfig {
            max_message_bytes: message_bytes,
            max_requests_in_flight: requests_in_flight,
            verbatim,
        } = terms;
        Self {
            incoming: Arc::new(tokio::sync::Mutex::new(SocketReadState {
                messages,
                max_message_bytes: message_bytes,
                parsing: None,
                ready: VecDeque::new(),
                replies: VecDeque::new(),
            })),
            outlet,
            ledger: Arc::new(Mutex::new(RequestLedger::new(requests_in_flight))),
            verbatim,
        }
    }

    /// Serves the connection until it ends or `cancel` is cancelled, which also cancels running requests. `service`
    /// creates the handler. If the first message is not a valid start, the connection starts again with the next one.
    pub async fn serve<S: Service<RoleServer>>(self, service: impl Fn() -> S, cancel: CancellationToken) {
        loop {
            match serve_server_with_ct(service(), self.clone(), cancel.child_token()).await {
                Ok(running) => match running.waiting().await {
                    Ok(QuitReason::Closed | QuitReason::Cancelled) => return,
                    ended => return tracing::warn!(?ended, "an MCP connection ended unexpectedly"),
                },
                // A notification or response before the first request has no receiver.
                Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {}
                // The client got an error, and may retry with another version.
                Err(ServerInitializeError::InitializeFailed(_)) => {}
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return,
                Err(error) => return tracing::debug!(%error, "an MCP connection could not start"),
            }
            if cancel.is_cancelled() {
                return;
            }
        }
    }

    /// Processes parsed input: messages are delivered, the rest gets an error reply.
    fn accept(&self, incoming: &mut SocketReadState, read: ParsedText) {
        match read {
            ParsedText::Ignored => {}
            ParsedText::Message(message) => match self.admit(&message, None) {
                Ok(()) => {
                    let done = self.settle_cancelled(&message);
                    incoming.ready.push_back(*message);
                    incoming.replies.extend(done);
                }
                Err(refusal) => incoming.replies.push_back(refusal.to_string()),
            },
            ParsedText::Refused(refusal) => incoming.replies.push_back(refusal.to_string()),
            ParsedText::Batch(parts) => self.accept_batch(incoming, parts),
        }
    }

    /// Processes a batch. Only one protocol version has batches and requires support for them. Their responses form
    /// one message.
    fn accept_batch(
        &self,
        incoming: &mut SocketReadState,
        parts: Vec<Result<ClientJsonRpcMessage, JsonRpcErrorReply>>,
    ) {
        if self.ledger.lock().version() != Some(&ProtocolVersion::V_2025_03_26) {
            let refusal = JsonRpcErrorReply::invalid_request(None, "only MCP 2025-03-26 supports batches");
            return incoming.replies.push_back(refusal.to_string());
        }
        let batch = self.ledger.lock().open_batch();
        for part in parts {
            let admitted = part.and_then(|message| self.admit(&message, Some(batch)).map(|()| message));
            match admitted {
                Ok(message) => {
                    let done = self.settle_cancelled(&message);
                    incoming.ready.push_back(message);
                    incoming.replies.extend(done);
                }
                Err(refusal) => self.ledger.lock().add_refusal(batch, refusal.to_string()),
            }
        }
        incoming.replies.extend(self.ledger.lock().seal(batch));
    }

    fn admit(&self, message: &ClientJsonRpcMessage, batch: Option<u64>) -> Result<(), JsonRpcErrorReply> {
        let JsonRpcMessage::Request(request) = message else { return Ok(()) };
        self.ledger.lock().admit(&request.id, batch).map_err(|why| match why {
            RequestRejection::IdInUse => {
                // A reply with this id would look like the response to the other request.
                JsonRpcErrorReply::invalid_request(
                    None,
                    format!("a request with the id {} is in flight", request.id),
                )
            }
            RequestRejection::TooMany(limit) => JsonRpcErrorReply::overloaded(request.id.clone(), limit),
        })
    }

    /// Removes a cancelled request: it gets no response, so it is no longer in flight.
    fn settle_cancelled(&self, message: &ClientJsonRpcMessage) -> Option<String> {
        let JsonRpcMessage::Notification(notification) = message else { return None };
        let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
            return None;
        };
        self.ledger.lock().cancel(cancelled.params.request_id.as_ref()?)
    }
}

impl<O: MessageSink> Transport<RoleServer> for SocketTransport<O> {
    type Error = SinkClosed;

    fn name() -> Cow<'static, str> {
        "socket".into()
    }

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SinkClosed>> + Send + 'static {
        let (outlet, ledger, verbatim) =
            (self.outlet.clone(), Arc::clone(&self.ledger), self.verbatim.clone());
        async move {
            let Some(text) = serialize_message(&message, &verbatim) else { return Ok(()) };
            let text = match answered_request(&message) {
                Some(id) => {
                    let mut ledger = ledger.lock();
                    if let Some(version) = negotiated_version(&message) {
                        ledger.set_version(version.clone());
                    }
                    ledger.complete(id, text)
                }
                None => Some(text),
            };
            match text {
                Some(text) => outlet.send(text).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut incoming = self.incoming.lock().await;
        loop {
            while let Some(reply) = incoming.replies.front() {
                // Removed only after sending, because this future may be dropped meanwhile.
                self.outlet.send(reply.clone()).await.ok()?;
                incoming.replies.pop_front();
            }
            if let Some(message) = incoming.ready.pop_front() {
                return Some(message);
            }
            let read = if let Some(parsing) = &mut incoming.parsing {
                let read = parsing.await.unwrap_or(ParsedText::Ignored);
                incoming.parsing = None;
                read
            } else {
                let text = incoming.messages.recv().await?;
                let limit = incoming.max_message_bytes;
                if text.len() > BLOCKING_PARSE_BYTES {
                    incoming.parsing = Some(tokio::task::spawn_blocking(move || parse(&text, limit)));
                    continue;
                }
                parse(&text, limit)
            };
            self.accept(&mut incoming, read);
        }
    }

    async fn close(&mut self) -> Result<(), SinkClosed> {
        self.incoming.lock().await.messages.close();
        Ok(())
    }
}

/// Serializes a message and restores the marked JSON in it.
fn serialize_message(message: &ServerJsonRpcMessage, verbatim: &VerbatimMarker) -> Option<String> {
    let text = match serde_json::to_vec(message) {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, "a message could not be written");
            return None;
        }
    };
    let mut splicer = verbatim.splicer();
    let mut out = splicer.push(&text);
    out.extend(splicer.finish());
    String::from_utf8(out).inspect_err(|error| tracing::error!(%error, "a message is not UTF-8")).ok()
}

/// The id of the request that a message answers.
fn answered_request(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// The protocol version from this message on, if the message sets it.
fn negotiated_version(message: &ServerJsonRpcMessage) -> Option<&ProtocolVersion> {
    match message {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => Some(&result.protocol_version),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
