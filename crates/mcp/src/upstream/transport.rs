//! The transports of messages to and from a server.

pub(super) mod endpoint;
pub(super) mod http;
pub(super) mod message_handler;
pub(super) mod pending_responses;
pub(super) mod process;
pub(super) mod sse;
mod sse_stream;
pub(super) mod stdio;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use toolway_types::RawJson;

use super::error::UpstreamError;
use super::exchange::UpstreamExchange;
use super::status::TransportKind;
use message_handler::MessageHandler;

/// An outgoing request.
pub(super) struct OutgoingRequest<'a> {
    pub(super) id: u64,
    pub(super) method: &'static str,
    /// The tool, prompt or resource that the request names, if any.
    pub(super) name: Option<&'a str>,
    pub(super) params: String,
    /// Additional headers.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The exchange that messages of the server meanwhile belong to.
    pub(super) exchange: Option<Arc<UpstreamExchange>>,
}

/// The transport of a connection.
#[derive(Debug)]
pub(super) enum McpTransport {
    Stdio(stdio::StdioTransport),
    StreamableHttp(http::StreamableHttpTransport),
    Sse(sse::SseTransport),
}

impl McpTransport {
    pub(super) fn kind(&self) -> TransportKind {
        match self {
            Self::Stdio(_) => TransportKind::Stdio,
            Self::StreamableHttp(_) => TransportKind::StreamableHttp,
            Self::Sse(_) => TransportKind::Sse,
        }
    }

    /// Sends a request and waits for its result.
    pub(super) async fn request(
        &self,
        handler: &impl MessageHandler,
        request: OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        match self {
            Self::Stdio(pipes) => pipes.request(request).await,
            Self::StreamableHttp(http) => http.request(handler, request).await,
            Self::Sse(sse) => sse.request(request).await,
        }
    }

    /// Sends a message that needs no response.
    pub(super) async fn send(&self, frame: Bytes) -> Result<(), UpstreamError> {
        match self {
            Self::Stdio(pipes) => pipes.send(frame).await,
            Self::StreamableHttp(http) => http.send(frame).await,
            Self::Sse(sse) => sse.send(frame).await,
        }
    }

    /// Returns true if requests belong to an MCP session that the server may lose.
    pub(super) fn has_session(&self) -> bool {
        match self {
            Self::StreamableHttp(http) => http.has_session(),
            Self::Stdio(_) | Self::Sse(_) => false,
        }
    }

    /// True while messages that belong to no request can arrive.
    pub(super) fn has_message_stream(&self) -> Arc<AtomicBool> {
        match self {
            Self::StreamableHttp(http) => Arc::clone(http.has_stream()),
            Self::Stdio(_) | Self::Sse(_) => Arc::new(AtomicBool::new(true)),
        }
    }

    /// The requests that wait for responses on a shared stream, if the transport has one.
    pub(super) fn pending_responses(&self) -> Option<&pending_responses::PendingResponses> {
        match self {
            Self::Stdio(pipes) => Some(pipes.pending()),
            Self::Sse(sse) => Some(sse.pending()),
            Self::StreamableHttp(_) => None,
        }
    }
}
