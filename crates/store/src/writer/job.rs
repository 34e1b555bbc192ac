//! Work for the writer's connection other than records: everything that must not run at the same time as
//! another write.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use crate::error::StoreError;

/// A future that borrows the writer's connection.
pub(crate) type ConnectionFuture<'c, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'c>>;

/// A job that receives the connection, or the error why there is none.
pub(crate) type ConnectionJob = Box<
    dyn for<'c> FnOnce(
            Result<&'c mut SqliteConnection, StoreError>,
        ) -> Pin<Box<dyn Future<Output = ()> + Send + 'c>>
        + Send,
>;

/// Work for the writer between records.
pub(crate) enum WriterJob {
    /// Runs a job on the connection.
    Run {
        /// True if its commits must be on disk when they return.
        durable: bool,
        /// The job.
        task: ConnectionJob,
    },
    /// Attempts to write all earlier records, and returns the number of records that are still not written.
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
