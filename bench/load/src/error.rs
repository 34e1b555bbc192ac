//! What can go wrong in the harness itself. Calls that fail are not errors here: they are counted.

use std::future::Future;
use std::time::Duration;

use tokio_tungstenite::tungstenite;

/// Why a run was given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What it said.
        source: std::io::Error,
    },
    /// A WebSocket could not be opened, or broke.
    #[error("{what}: {source}")]
    Socket {
        /// What was being done.
        what: String,
        /// What it said.
        source: Box<tungstenite::Error>,
    },
    /// Something took longer than it may.
    #[error("{what}: not done within {} s", limit.as_secs_f64())]
    Late {
        /// What was being done.
        what: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// An answer that makes no sense, or a wish that can't be met.
    #[error("{0}")]
    Unexpected(String),
}

/// A result of the harness.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Shorthand for [`Failure::Unexpected`].
pub(crate) fn unexpected<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::Unexpected(what.into()))
}

/// Says what was being done when a lower layer failed.
pub(crate) trait During<T> {
    /// Adds it.
    fn during(self, what: impl Into<String>) -> Result<T>;
}

impl<T> During<T> for std::io::Result<T> {
    fn during(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Failure::Io { what: what.into(), source })
    }
}

impl<T> During<T> for std::result::Result<T, tungstenite::Error> {
    fn during(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Failure::Socket { what: what.into(), source: Box::new(source) })
    }
}

impl<T> During<T> for serde_json::Result<T> {
    fn during(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| Failure::Unexpected(format!("{}: {source}", what.into())))
    }
}

/// Waits for something, but not for ever.
pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::Late { what: what.to_owned(), limit }),
    }
}
