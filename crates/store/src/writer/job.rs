//! Work for the writer's connection other than records: whatever must not run beside another write.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::queue::WriteQueue;
use crate::error::StoreError;

/// A future that borrows the writer's connection.
pub(crate) type ConnectionFuture<'c, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'c>>;

type ConnectionJob = Box<
    dyn for<'c> FnOnce(
            Result<&'c mut SqliteConnection, StoreError>,
        ) -> Pin<Box<dyn Future<Output = ()> + Send + 'c>>
        + Send,
>;

/// Something for the writer to do between records.
pub(crate) enum WriterJob {
    /// Runs on the connection.
    Run {
        /// Whether its commits must be on disk, rather than with the system.
        durable: bool,
        /// What to do.
        task: ConnectionJob,
    },
    /// Answers how many records are still not written, after one attempt at those that were in before it.
    Flush(oneshot::Sender<usize>),
}

impl fmt::Debug for WriterJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { durable, .. } => {
                f.debug_struct("Run").field("durable", durable).finish_non_exhaustive()
            }
            Self::Flush(_) => f.write_str("Flush"),
        }
    }
}

/// Runs something on the writer's connection, after the records that wait already.
///
/// # Errors
/// What the work itself failed with; [`StoreError::Closed`] where there is no writer any more.
pub(crate) async fn run<T, F>(queue: &Arc<WriteQueue>, durable: bool, job: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut SqliteConnection) -> ConnectionFuture<'c, T> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let task: ConnectionJob = Box::new(move |conn| {
        Box::pin(async move {
            let result = match conn {
                Ok(conn) => job(conn).await,
                Err(error) => Err(error),
            };
            // Nobody waits any more; the work is done all the same.
            let _ = answer.send(result);
        })
    });
    queue.push_work(WriterJob::Run { durable, task }).map_err(|_| StoreError::Closed)?;
    answered.await.unwrap_or(Err(StoreError::Closed))
}

/// Has everything written that waits now. Answers how many records are left.
pub(crate) async fn flush(queue: &Arc<WriteQueue>) -> Result<usize, StoreError> {
    let (answer, answered) = oneshot::channel();
    queue.push_work(WriterJob::Flush(answer)).map_err(|_| StoreError::Closed)?;
    answered.await.map_err(|_| StoreError::Closed)
}
