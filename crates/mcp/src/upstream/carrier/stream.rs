//! A stream of events as the answer to a request.

use std::time::Duration;

use futures_util::FutureExt as _;

use super::body::Response;
use super::sse_events::{Event, Events, TooLong};
use crate::upstream::fault::Fault;

/// How long the rest of a stream is waited for that has said all that matters.
const REST: Duration = Duration::from_secs(2);
/// How much of it is read, in bytes.
const REST_BYTES: usize = 64 << 10;

/// A stream of events.
#[derive(Debug)]
pub(super) struct Stream {
    response: Response,
    events: Events,
    limit: usize,
}

impl Stream {
    pub(super) fn new(response: Response, limit: usize) -> Self {
        Self { response, events: Events::new(limit), limit }
    }

    /// The next event; none where the stream has ended.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            match self.events.next() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(TooLong) => return Err(Fault::TooLarge(self.limit)),
            }
            match self.response.piece().await? {
                Some(piece) => self.events.push(&piece),
                None => return Ok(None),
            }
        }
    }

    /// Reads what is left, so that the connection can be used again. Servers end a stream with its last event, so
    /// mostly nothing is.
    pub(super) fn finish(mut self) {
        if let Some(Ok(None) | Err(_)) = self.response.piece().now_or_never() {
            return;
        }
        let rest = async move {
            let mut read = 0;
            while let Ok(Some(piece)) = self.response.piece().await {
                read += piece.len();
                if read > REST_BYTES {
                    break;
                }
            }
        };
        tokio::spawn(tokio::time::timeout(REST, rest));
    }
}
