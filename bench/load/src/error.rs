//! What can go wrong in the harness itself. Calls that fail are not errors here: they are counted.

use std::future::Future;
use std::time::Duration;

use tokio_tungstenite::tungstenite;

/// Why a run was given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadBenchError {
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
    TimedOut {
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
pub(crate) type Result<T> = std::result::Result<T, LoadBenchError>;

/// Shorthand for [`Failure::Unexpected`].
pub(crate) fn unexpected<T>(what: impl Into<String>) -> Result<T> {
    Err(LoadBenchError::Unexpected(what.into()))
}

/// Says what was being done when a lower layer failed.
pub(crate) trait ErrorContext<T> {
    /// Adds it.
    fn context(self, what: impl Into<String>) -> Result<T>;
}

impl<T> ErrorContext<T> for std::io::Result<T> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| LoadBenchError::Io { what: what.into(), source })
    }
}

impl<T> ErrorContext<T> for std::result::Result<T, tungstenite::Error> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| LoadBenchError::Socket { what: what.into(), source: Box::new(source) })
    }
}

impl<T> ErrorContext<T> for serde_json::Result<T> {
    fn context(self, what: impl Into<String>) -> Result<T> {
        self.map_err(|source| LoadBenchError::Unexpected(format!("{}: {source}", what.into())))
    }
}

/// Waits for something, but not for ever.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_) => Err(LoadBenchError::TimedOut { what: what.to_owned(), limit }),
    }
}
