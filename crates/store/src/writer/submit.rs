//! Submits work to the writer and waits for its answer.

use std::sync::Arc;

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::job::{ConnectionFuture, ConnectionJob, WriterJob};
use super::queue::WriteQueue;
use crate::error::StoreError;

/// Runs a job on the writer's connection, after all records queued before it.
///
/// # Errors
/// The error of the work; [`StoreError::Closed`] if the writer has ended.
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
            // The caller may be gone; the job's effect remains.
            let _ = answer.send(result);
        })
    });
    queue.push_work(WriterJob::Run { durable, task }).map_err(|_| StoreError::Closed)?;
    answered.await.unwrap_or(Err(StoreError::Closed))
}

/// Writes all queued records. Returns the number of records that are still not written.
pub(crate) async fn flush(queue: &Arc<WriteQueue>) -> Result<usize, StoreError> {
    let (answer, answered) = oneshot::channel();
    queue.push_work(WriterJob::Flush(answer)).map_err(|_| StoreError::Closed)?;
    answered.await.map_err(|_| StoreError::Closed)
}
