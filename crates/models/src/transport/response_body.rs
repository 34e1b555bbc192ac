//! The body of a response, read as it arrives. Dropping it closes the connection, unless it was read to its end.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use reqwest::Url;
use tokio::time::{Instant, timeout, timeout_at};

use super::transport_failure::transport_failure;
use crate::config::ProviderConfig;
use crate::failure::AttemptFailure;

/// Timeout for the unread rest of a complete response. Reading it makes the connection reusable.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of that rest, in bytes.
const MAX_DRAIN_BYTES: usize = 64 * 1024;

/// Maximum size of the body of an error response, in bytes. The rest is ignored.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// Timeout for the body of an error response.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A body that may still be arriving.
#[derive(Debug)]
pub(crate) struct ModelResponseBody {
    response: reqwest::Response,
    url: Url,
}

/// Result of waiting for more of a body.
#[derive(Debug)]
pub(crate) enum BodyChunk {
    /// More bytes.
    Bytes(Bytes),
    /// The end of the body.
    End,
    /// The deadline passed.
    TimedOut,
}

impl ModelResponseBody {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        let url = response.url().clone();
        Self { response, url }
    }

    /// Waits for more until `deadline`.
    ///
    /// # Errors
    /// [`AttemptFailure`] if the connection breaks.
    pub(crate) async fn next_chunk(
        &mut self,
        config: &ProviderConfig,
        deadline: Instant,
    ) -> Result<BodyChunk, AttemptFailure> {
        let Ok(came) = timeout_at(deadline, self.response.chunk()).await else {
            return Ok(BodyChunk::TimedOut);
        };
        match came {
            Ok(Some(bytes)) => Ok(BodyChunk::Bytes(bytes)),
            Ok(None) => Ok(BodyChunk::End),
            Err(error) => Err(transport_failure(config, &self.url, &error)),
        }
    }

    /// Reads the body of an error response as far as it is needed.
    pub(crate) async fn read_error(self) -> Vec<u8> {
        self.read_start(MAX_ERROR_BODY_BYTES, ERROR_BODY_TIMEOUT).await.0
    }

    /// Reads at most `limit` bytes, for at most `time`. Returns them, and whether the body is complete.
    pub(crate) async fn read_start(mut self, limit: usize, time: Duration) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        let deadline = Instant::now() + time;
        while let Ok(came) = timeout_at(deadline, self.response.chunk()).await {
            match came {
                Ok(Some(chunk)) => {
                    let room = limit - bytes.len();
                    bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                    if chunk.len() > room {
                        break;
                    }
                }
                Ok(None) => return (bytes, true),
                Err(_) => break,
            }
        }
        (bytes, false)
    }

    /// Discards the rest of the body. Usually its end has already arrived. If not, a task waits for it for a moment, so
    /// that the next request can reuse the connection.
    pub(crate) fn drain(mut self) {
        while let Some(came) = self.response.chunk().now_or_never() {
            if !matches!(came, Ok(Some(_))) {
                return;
            }
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(timeout(DRAIN_TIMEOUT, self.read_start(MAX_DRAIN_BYTES, DRAIN_TIMEOUT)));
        }
    }
}
