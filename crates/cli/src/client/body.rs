//! An answer that is passed on as it comes.

use crate::report::Done;

/// The rest of an answer.
#[derive(Debug)]
pub(crate) struct Body(reqwest::Response);

impl Body {
    /// Of an answer whose body has not been read.
    pub(super) fn of(response: reqwest::Response) -> Self {
        Self(response)
    }

    /// The next bytes; none at its end. An answer that breaks off is a failure.
    pub(crate) async fn next(&mut self) -> Done<Option<Vec<u8>>> {
        let url = self.0.url().to_string();
        let chunk = self.0.chunk().await.map_err(|error| super::errors::of_transport(&url, &error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}
