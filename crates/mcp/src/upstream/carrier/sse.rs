//! HTTP with SSE (2024-11-05): one stream that all messages come in by, and an address to send them to, which the
//! stream names first.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use toolway_types::RawJson;
use url::Url;

use super::address::{Address, EVENTS, is_type};
use super::pending::Pending;
use super::stream::Stream;
use super::{Outgoing, body};
use crate::upstream::connection::Connection;
use crate::upstream::exchange::Origin;
use crate::upstream::fault::Fault;
use crate::upstream::frame;

/// A server that is spoken to in this way.
#[derive(Debug)]
pub(in crate::upstream) struct Sse {
    address: Address,
    /// Where messages go.
    endpoint: Url,
    pending: Pending,
}

/// The stream that [`pump`] serves.
#[derive(Debug)]
pub(in crate::upstream) struct Messages(Stream);

impl Sse {
    /// Opens the stream, and waits until it has said where messages go.
    pub(in crate::upstream) async fn open(address: Address, limit: usize) -> Result<(Self, Messages), Fault> {
        let response = address.send(Method::GET, address.url(), &HeaderMap::new(), None).await?;
        if !response.status().is_success() || !is_type(&response, EVENTS) {
            return Err(Fault::Status(response.status(), body::excerpt(response).await));
        }
        let mut stream = Stream::new(response, limit);
        while let Some(event) = stream.next().await? {
            if event.kind.as_deref() != Some("endpoint") {
                continue;
            }
            let endpoint = endpoint(address.url(), &event.data)?;
            return Ok((Self { address, endpoint, pending: Pending::default() }, Messages(stream)));
        }
        Err(Fault::Malformed("it did not say where messages go".to_owned()))
    }

    pub(in crate::upstream) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(in crate::upstream) async fn request(&self, request: Outgoing<'_>) -> Result<RawJson, Fault> {
        let waiter = self.pending.wait(request.id)?;
        self.send(frame::request(request.id, request.method, &request.params)).await?;
        waiter.answer().await
    }

    pub(in crate::upstream) async fn send(&self, frame: Bytes) -> Result<(), Fault> {
        let response =
            self.address.send(Method::POST, &self.endpoint, &HeaderMap::new(), Some(frame)).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(Fault::Status(status, body::excerpt(response).await)),
        }
    }
}

/// Where messages go. Keys are sent there, so it must be of the same origin.
fn endpoint(stream: &Url, said: &[u8]) -> Result<Url, Fault> {
    let said = String::from_utf8_lossy(said);
    let endpoint = stream.join(said.trim());
    let endpoint = endpoint
        .map_err(|_| Fault::Malformed("the address that it names for messages is none".to_owned()))?;
    if endpoint.origin() != stream.origin() {
        return Err(Fault::Malformed(format!(
            "it wants messages sent to another server ({}), which may not be",
            endpoint.host_str().unwrap_or_default()
        )));
    }
    Ok(endpoint)
}

/// Takes messages until the stream ends; says why it did.
pub(in crate::upstream) async fn pump(connection: Arc<Connection>, messages: Messages) -> Fault {
    let Messages(mut stream) = messages;
    loop {
        match stream.next().await {
            Ok(Some(event)) => {
                if event.data.is_empty() || event.kind.as_deref().is_some_and(|kind| kind != "message") {
                    continue;
                }
                let read =
                    frame::read_all(&event.data, |message| connection.incoming(message, Origin::Shared));
                if let Err(error) = read {
                    connection.odd(&format!("its stream has an event that is no MCP message: {error}"));
                }
            }
            Ok(None) => return Fault::Lost("it ended its stream".to_owned()),
            Err(fault) => return fault,
        }
    }
}

#[cfg(test)]
mod tests;
