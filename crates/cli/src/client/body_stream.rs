//! Streams a response body.

use crate::error::CliResult;

/// The unread part of a response body.
#[derive(Debug)]
pub(crate) struct BodyStream(reqwest::Response);

impl BodyStream {
    /// Creates a stream of a response whose body is unread.
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self(response)
    }

    /// Returns the next bytes, or `None` at the end. Fails if the connection breaks.
    pub(crate) async fn next_chunk(&mut self) -> CliResult<Option<Vec<u8>>> {
        let url = self.0.url().to_string();
        let chunk = self.0.chunk().await.map_err(|error| super::errors::transport_error(&url, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
