//! What carries messages to a server and back.

pub(super) mod endpoint;
pub(super) mod http;
pub(super) mod message_handler;
pub(super) mod pending_responses;
pub(super) mod process;
pub(super) mod sse;
mod sse_events;
mod sse_stream;
pub(super) mod stdio;

use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use toolway_types::RawJson;

use super::error::UpstreamError;
use super::exchange::UpstreamExchange;
use super::status::TransportKind;
use message_handler::MessageHandler;

/// A request as it goes out.
pub(super) struct OutgoingRequest<'a> {
    pub(super) id: u64,
    pub(super) method: &'static str,
    /// What it is about, where its method names something: a tool, a prompt, a resource.
    pub(super) name: Option<&'a str>,
    pub(super) params: String,
    /// Headers of its own.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Whom what comes meanwhile belongs to.
    pub(super) exchange: Option<Arc<UpstreamExchange>>,
}

/// What carries messages.
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

    /// Sends what nobody waits for an answer to.
    pub(super) async fn send(&self, frame: Bytes) -> Result<(), UpstreamError> {
        match self {
            Self::Stdio(pipes) => pipes.send(frame).await,
            Self::StreamableHttp(http) => http.send(frame).await,
            Self::Sse(sse) => sse.send(frame).await,
        }
    }

    /// An answer, or the end of the connection, for whoever waits.
    pub(super) fn pending_responses(&self) -> Option<&pending_responses::PendingResponses> {
        match self {
            Self::Stdio(pipes) => Some(pipes.pending()),
            Self::Sse(sse) => Some(sse.pending()),
            Self::StreamableHttp(_) => None,
        }
    }
}
