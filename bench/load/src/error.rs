//! Errors of the harness itself. Failed calls are not errors here: they are counted.

use std::future::Future;
use std::time::Duration;

use tokio_tungstenite::tungstenite;

/// Reason why a run was aborted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadBenchError {
    /// The operating system reported an error.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: String,
        /// The error.
        source: std::io::Error,
    },
    /// A WebSocket could not be opened, or broke.
    #[error("{what}: {source}")]
    Socket {
        /// The operation.
        what: String,
        /// The error.
        source: Box<tungstenite::Error>,
    },
    /// An operation timed out.
    #[error("{what}: not done within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The operation.
        what: String,
        /// The timeout.
        limit: Duration,
    },
    /// An invalid answer, or invalid options.
    #[error("{0}")]
    Unexpected(String),
}

/// A result of the harness.
pub(crate) type Result<T> = std::result::Result<T, LoadBenchError>;

/// Creates a [`LoadBenchError::Unexpected`].
pub(crate) fn unexpected<T>(what: impl Into<String>) -> Result<T> {
    Err(LoadBenchError::Unexpected(what.into()))
}

/// Adds the operation to an error of a lower layer.
pub(crate) trait ErrorContext<T> {
    /// Adds the operation.
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

/// Waits for a future with a timeout.
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
