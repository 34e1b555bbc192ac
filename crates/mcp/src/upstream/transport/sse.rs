//! HTTP with SSE (2024-11-05): one stream for all incoming messages, whose first event names the address for outgoing
//! ones.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Method};
use toolway_types::RawJson;
use url::Url;

use super::OutgoingRequest;
use super::endpoint::{EVENT_STREAM, HttpEndpoint, has_media_type};
use super::message_handler::{MessageHandler, dispatch_messages};
use super::pending_responses::PendingResponses;
use super::sse_stream::SseStream;
use crate::upstream::error::UpstreamError;
use crate::upstream::frame;
use crate::upstream::response_body::read_excerpt;

/// The transport HTTP with SSE.
#[derive(Debug)]
pub(in crate::upstream) struct SseTransport {
    address: HttpEndpoint,
    /// The address for messages.
    endpoint: Url,
    /// True once the server has accepted a message.
    has_worked: AtomicBool,
    pending: PendingResponses,
}

/// The stream for [`pump`].
#[derive(Debug)]
pub(in crate::upstream) struct SseMessages(SseStream);

impl SseTransport {
    /// Opens the stream, and waits for the address for messages.
    pub(in crate::upstream) async fn open(
        address: HttpEndpoint,
        limit: usize,
    ) -> Result<(Self, SseMessages), UpstreamError> {
        let response = address.send(Method::GET, address.url(), &HeaderMap::new(), None).await?;
        if !response.status().is_success() || !has_media_type(&response, EVENT_STREAM) {
            return Err(UpstreamError::Status(response.status(), read_excerpt(response).await));
        }
        let mut stream = SseStream::new(response, limit);
        while let Some(event) = stream.next().await? {
            if event.kind.as_deref() != Some("endpoint") {
                continue;
            }
            let endpoint = parse_endpoint(address.url(), &event.data)?;
            return Ok((
                Self {
                    address,
                    endpoint,
                    has_worked: AtomicBool::new(false),
                    pending: PendingResponses::default(),
                },
                SseMessages(stream),
            ));
        }
        Err(UpstreamError::Malformed("it sent no address for messages".to_owned()))
    }

    pub(in crate::upstream) fn pending(&self) -> &PendingResponses {
        &self.pending
    }

    pub(in crate::upstream) async fn request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<RawJson, UpstreamError> {
        let waiter = self.pending.register(request.id)?;
        self.send(frame::request(request.id, request.method, &request.params)).await?;
        waiter.recv().await
    }

    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), UpstreamError> {
        let response =
            self.address.send(Method::POST, &self.endpoint, &HeaderMap::new(), Some(frame)).await?;
        match response.status() {
            status if status.is_success() => {
                self.has_worked.store(true, Ordering::Relaxed);
                Ok(())
            }
            status => {
                let fault = UpstreamError::Status(status, read_excerpt(response).await);
                // The address for messages contains the session.
                Err(if self.has_worked.load(Ordering::Relaxed) { fault.or_lost_session(true) } else { fault })
            }
        }
    }
}

/// Parses the address for messages. Requests contain keys, so it must have the same origin.
fn parse_endpoint(stream: &Url, said: &[u8]) -> Result<Url, UpstreamError> {
    let said = String::from_utf8_lossy(said);
    let endpoint = stream.join(said.trim());
    let endpoint =
        endpoint.map_err(|_| UpstreamError::Malformed("its address for messages is invalid".to_owned()))?;
    if endpoint.origin() != stream.origin() {
        return Err(UpstreamError::Malformed(format!(
            "its address for messages is on another server ({}), which is not allowed",
            endpoint.host_str().unwrap_or_default()
        )));
    }
    Ok(endpoint)
}

/// Passes messages to the handler until the stream ends. Returns the reason.
pub(in crate::upstream) async fn pump(handler: impl MessageHandler, messages: SseMessages) -> UpstreamError {
    let SseMessages(mut stream) = messages;
    loop {
        match stream.next().await {
            Ok(Some(event)) => {
                if event.data.is_empty() || event.kind.is_some() {
                    continue;
                }
                dispatch_messages(&handler, &event.data);
            }
            Ok(None) => return UpstreamError::ConnectionLost("it ended its stream".to_owned()),
            Err(fault) => return fault,
        }
    }
}

#[cfg(test)]
mod tests;
