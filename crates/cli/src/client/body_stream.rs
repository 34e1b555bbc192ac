//! An answer that is passed on as it comes.

use crate::error::CliResult;

/// The rest of an answer.
#[derive(Debug)]
pub(crate) struct BodyStream(reqwest::Response);

impl BodyStream {
    /// Of an answer whose body has not been read.
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self(response)
    }

    /// The next bytes; none at its end. An answer that breaks off is a failure.
    pub(crate) async fn next_chunk(&mut self) -> CliResult<Option<Vec<u8>>> {
        let url = self.0.url().to_string();
        let chunk = self.0.chunk().await.map_err(|error| super::errors::transport_error(&url, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
