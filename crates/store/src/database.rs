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
    /// Held by backups and restores, of which one goes on at a time.
    pub(crate) maintenance_lock: tokio::sync::Mutex<()>,
    /// Held by statements that look through calls, of which one runs at a time.
    pub(crate) search_lock: tokio::sync::Mutex<()>,
    /// Bytes of documents of specs that were written since those that no tool has were last thrown away.
    pub(crate) unswept_bytes: AtomicUsize,
    /// Calls and turns that were found running when the database was opened.
    pub(crate) interrupted: InterruptedWork,
    pub(crate) writer_ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// Calls and turns that were still open when the database was opened. They are closed then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InterruptedWork {
    pub(crate) calls: u64,
    pub(crate) turns: u64,
}

impl Database {
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Runs something on the connection that writes; its commits are on disk when it answers.
    pub(crate) async fn write_durably<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> ConnectionFuture<'c, T> + Send + 'static,
    {
        submit::run(&self.queue, true, job).await
    }

    /// Runs something on the connection that writes; its commits survive the program, not the computer.
    pub(crate) async fn write<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> ConnectionFuture<'c, T> + Send + 'static,
    {
        submit::run(&self.queue, false, job).await
    }

    /// Runs one statement, durably. Answers whether it changed anything.
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

    /// Reads one statement's rows, of which there are few. As long as nobody has needed a reader, the connection
    /// that writes reads them: opening another takes longer than all that a start reads.
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

    /// Before something is read: what was recorded so far should be in it. Not where the database can't be
    /// written to, which would only hold up the reader.
    pub(crate) async fn flush_before_read(&self) {
        if !self.queue.is_degraded() {
            // What fails here is in the store's health.
            let _ = submit::flush(&self.queue).await;
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.queue.stop();
    }
}
