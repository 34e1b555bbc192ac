//! The open database: its writer, its readers, and the statements that all repositories share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::oneshot;
use toolway_types::Clock;

use crate::connector::DatabaseConnector;
use crate::error::StoreError;
use crate::health::RecordingCounters;
use crate::migrations::Migration;
use crate::options::StoreOptions;
use crate::writer::job::ConnectionFuture;
use crate::writer::queue::WriteQueue;
use crate::writer::submit;

/// An open database. The writer stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) dir: PathBuf,
    pub(crate) connector: DatabaseConnector,
    pub(crate) queue: Arc<WriteQueue>,
    pub(crate) counters: Arc<RecordingCounters>,
    pub(crate) readers: SqlitePool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: StoreOptions,
    pub(crate) migrations: &'static [Migration],
    /// Lock of backups and restores, so that only one runs at a time.
    pub(crate) maintenance_lock: tokio::sync::Mutex<()>,
    /// Lock of statements that scan calls, so that only one runs at a time.
    pub(crate) search_lock: tokio::sync::Mutex<()>,
    /// Bytes of spec documents written since unused documents were last removed.
    pub(crate) unswept_bytes: AtomicUsize,
    /// Calls and turns that were running when the database was opened.
    pub(crate) interrupted: InterruptedWork,
    pub(crate) writer_ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Calls and turns that were open when the database was opened, and were closed then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InterruptedWork {
    pub(crate) calls: u64,
    pub(crate) turns: u64,
}

impl Database {
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Runs a job on the connection that writes. Its commits are on disk when this returns.
    pub(crate) async fn write_durably<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> ConnectionFuture<'c, T> + Send + 'static,
    {
        submit::run(&self.queue, true, job).await
    }

    /// Runs a job on the connection that writes. Its commits survive a crash of the program, but not of the
    /// computer.
    pub(crate) async fn write<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> ConnectionFuture<'c, T> + Send + 'static,
    {
        submit::run(&self.queue, false, job).await
    }

    /// Runs one statement durably. Returns true if it changed a row.
    pub(crate) async fn change(
        &self,
        doing: &'static str,
        query: Query<'static, Sqlite, SqliteArguments>,
    ) -> Result<bool, StoreError> {
        self.write_durably(move |conn| {
            Box::pin(async move {
                let done = query.execute(conn).await.map_err(StoreError::database(doing))?;
                Ok(done.rows_affected() > 0)
            })
        })
        .await
    }

    /// Reads the few rows of one statement. The connection that writes is used until a reader exists, because
    /// opening another connection takes longer than everything that a start reads.
    pub(crate) async fn rows(
        &self,
        doing: &'static str,
        query: Query<'static, Sqlite, SqliteArguments>,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        if self.readers.size() > 0 || self.queue.is_degraded() {
            return query.fetch_all(&self.readers).await.map_err(StoreError::database(doing));
        }
        self.write(move |conn| {
            Box::pin(async move { query.fetch_all(conn).await.map_err(StoreError::database(doing)) })
        })
        .await
    }

    /// Writes all queued records, so that a following read sees them. Does nothing while the database cannot
    /// be written to, because that would only delay the reader.
    pub(crate) async fn flush_before_read(&self) {
        if !self.queue.is_degraded() {
            // A failure is visible in the store's health.
            let _ = submit::flush(&self.queue).await;
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.queue.stop();
    }
}
