//! A stream of events as the answer to a request.

use std::time::Duration;

use futures_util::FutureExt as _;

use super::sse_events::{McpSseEvent, McpSseParser, SseEventTooLong};
use crate::upstream::error::UpstreamError;
use crate::upstream::response_body::StreamedResponse;

/// How long the rest of a stream is waited for that has said all that matters.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of it is read, in bytes.
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

    /// The next event; none where the stream has ended.
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

    /// Reads what is left, so that the connection can be used again. Servers end a stream with its last event, so
    /// mostly nothing is.
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
