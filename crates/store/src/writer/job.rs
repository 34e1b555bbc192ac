//! Work for the writer's connection other than records: whatever must not run beside another write.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use crate::error::StoreError;

/// A future that borrows the writer's connection.
pub(crate) type ConnectionFuture<'c, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'c>>;

/// Work that gets the connection, or the reason why there is none.
pub(crate) type ConnectionJob = Box<
    dyn for<'c> FnOnce(
            Result<&'c mut SqliteConnection, StoreError>,
        ) -> Pin<Box<dyn Future<Output = ()> + Send + 'c>>
        + Send,
>;

/// Something for the writer to do between records.
pub(crate) enum WriterJob {
    /// Runs on the connection.
    Run {
        /// True if its commits must be on disk when they return.
        durable: bool,
        /// The work.
        task: ConnectionJob,
    },
    /// Answers how many records are still not written, after one attempt at those that were in before it.
    Flush(oneshot::Sender<usize>),
}

impl fmt::Debug for WriterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { durable, .. } => {
                f.debug_struct("WriterJob").field("durable", durable).finish_non_exhaustive()
            }
            Self::Flush(_) => f.write_str("Flush"),
        }
    }
}
