//! A stream of events as the response to a request.

use std::time::Duration;

use futures_util::FutureExt as _;

use super::sse_events::{McpSseEvent, McpSseParser, SseEventTooLong};
use crate::upstream::error::UpstreamError;
use crate::upstream::response_body::StreamedResponse;

/// Time to wait for the rest of a stream after its last relevant event.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of that rest, in bytes.
const DRAIN_BYTES: usize = 64 << 10;

/// A stream of events.
#[derive(Debug)]
pub(super) struct SseStream {
    response: StreamedResponse,
    events: McpSseParser,
    limit: usize,
}

impl SseStream {
    pub(super) fn new(response: StreamedResponse, limit: usize) -> Self {
        Self { response, events: McpSseParser::new(limit), limit }
    }

    /// The next event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<McpSseEvent>, UpstreamError> {
        loop {
            match self.events.next() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(SseEventTooLong) => return Err(UpstreamError::TooLarge(self.limit)),
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
