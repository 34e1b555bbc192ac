//! What carries messages to a server and back.

pub(super) mod address;
pub(super) mod body;
pub(super) mod http;
pub(super) mod pending;
pub(super) mod pipes;
pub(super) mod process;
pub(super) mod sse;
mod sse_events;
mod stream;

use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use toolway_types::RawJson;

use super::connection::Connection;
use super::exchange::Exchange;
use super::fault::Fault;
use super::status::TransportKind;

/// A request as it goes out.
pub(super) struct Outgoing<'a> {
    pub(super) id: u64,
    pub(super) method: &'static str,
    /// What it is about, where its method names something: a tool, a prompt, a resource.
    pub(super) name: Option<&'a str>,
    pub(super) params: String,
    /// Headers of its own.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Whom what comes meanwhile belongs to.
    pub(super) exchange: Option<Arc<Exchange>>,
}

/// What carries messages.
#[derive(Debug)]
pub(super) enum Carrier {
    Pipes(pipes::Pipes),
    Http(http::Http),
    Sse(sse::Sse),
}

impl Carrier {
    pub(super) fn kind(&self) -> TransportKind {
        match self {
            Self::Pipes(_) => TransportKind::Stdio,
            Self::Http(_) => TransportKind::StreamableHttp,
            Self::Sse(_) => TransportKind::Sse,
        }
    }

    /// Sends a request and waits for its result.
    pub(super) async fn request(
        &self,
        connection: &Arc<Connection>,
        request: Outgoing<'_>,
    ) -> Result<RawJson, Fault> {
        match self {
            Self::Pipes(pipes) => pipes.request(request).await,
            Self::Http(http) => http.request(connection, request).await,
            Self::Sse(sse) => sse.request(request).await,
        }
    }

    /// Sends what nobody waits for an answer to.
    pub(super) async fn send(&self, frame: Bytes) -> Result<(), Fault> {
        match self {
            Self::Pipes(pipes) => pipes.send(frame).await,
            Self::Http(http) => http.send(frame).await,
            Self::Sse(sse) => sse.send(frame).await,
        }
    }

    /// An answer, or the end of the connection, for whoever waits.
    pub(super) fn pending(&self) -> Option<&pending::Pending> {
        match self {
            Self::Pipes(pipes) => Some(pipes.pending()),
            Self::Sse(sse) => Some(sse.pending()),
            Self::Http(_) => None,
        }
    }
}
