//! A stream of events as the response to a request.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::FutureExt as _;

use toolway_sse::{EventTooLong, SseParser};

use crate::upstream::error::UpstreamError;
use crate::upstream::response_body::StreamedResponse;

/// Time to wait for the rest of a stream after its last relevant event.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of that rest, in bytes.
const DRAIN_BYTES: usize = 64 << 10;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct McpSseEvent {
    /// Its kind, unless it is `message`.
    pub(super) kind: Option<String>,
    /// Its data, byte for byte.
    pub(super) data: Vec<u8>,
    /// Its id, if it has one.
    pub(super) id: Option<String>,
    /// Time to wait before connecting again, in milliseconds.
    pub(super) retry: Option<u64>,
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct SseStream {
    response: StreamedResponse,
    events: SseParser,
}

impl SseStream {
    pub(super) fn new(response: StreamedResponse, limit: usize) -> Self {
        Self { response, events: SseParser::with_limit(limit).including_empty() }
    }

    /// The next event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<McpSseEvent>, UpstreamError> {
        loop {
            let too_large = |EventTooLong(limit)| UpstreamError::TooLarge(limit);
            if let Some(event) = self.events.next_event().map_err(too_large)? {
                let kind = Some(event.name.into_owned()).filter(|kind| !matches!(&**kind, "" | "message"));
                let (data, id) = (event.bytes.to_owned(), event.id.map(Cow::into_owned));
                return Ok(Some(McpSseEvent { kind, data, id, retry: event.retry }));
            }
            match self.response.next_chunk().await? {
                Some(piece) => self.events.push(&piece),
                None => return Ok(None),
            }
        }
    }

    /// Reads the rest in the background, so that the connection can be reused. Servers usually end a stream with its
    /// last event, so there is little to read.
    pub(super) fn drain(mut self) {
        if let Some(Ok(None) | Err(_)) = self.response.next_chunk().now_or_never() {
            return;
        }
        let rest = async move {
            let mut read = 0;
            while let Ok(Some(piece)) = self.response.next_chunk().await {
                read += piece.len();
                if read > DRAIN_BYTES {
                    break;
                }
            }
        };
        tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, rest));
    }
}
