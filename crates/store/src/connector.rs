//! Opens the database, with small caches, without memory mapping, and without logging statements.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use crate::options::{Durability, StoreOptions};

/// Pages in the write-ahead log at which SQLite itself checkpoints during a commit. A backstop: normally a
/// helper connection does it earlier, in parallel with the writer.
const CHECKPOINT_BACKSTOP: &str = "16384";
/// Size to which the write-ahead log's file is truncated after a checkpoint, in bytes.
const LOG_KEPT: &str = "8388608";
/// Number of statements that the writer caches: up to fifty for call records, and thirty others.
const WRITER_STATEMENTS: usize = 80;
/// Maximum number of readers.
const READERS: u32 = 3;

/// Opens connections to one database.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseConnector {
    path: PathBuf,
    busy_timeout: Duration,
    durability: Durability,
}

impl DatabaseConnector {
    pub(crate) fn new(path: &Path, options: &StoreOptions) -> Self {
        Self { path: path.to_owned(), busy_timeout: options.busy_timeout, durability: options.durability }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Options of any connection. Opening it changes nothing in the file.
    fn base_options(&self, thread: &'static str) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .thread_name(move |_| thread.to_owned())
            .busy_timeout(self.busy_timeout)
            .statement_cache_capacity(12)
            .foreign_keys(false)
            .disable_statement_logging()
    }

    /// Opens the only connection that writes.
    pub(crate) async fn writer(&self) -> Result<SqliteConnection, sqlx::Error> {
        let synchronous = match self.durability {
            Durability::Batch => "NORMAL",
            Durability::Each => "FULL",
        };
        self.base_options("toolway-sqlite")
            .pragma("synchronous", synchronous)
            .pragma("fullfsync", "ON")
            .pragma("cache_size", "-512")
            .pragma("wal_autocheckpoint", CHECKPOINT_BACKSTOP)
            .pragma("journal_size_limit", LOG_KEPT)
            .statement_cache_capacity(WRITER_STATEMENTS)
            .connect()
            .await
    }

    /// Opens another connection for long work: backups, checkpoints, checks.
    pub(crate) async fn helper(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.base_options("toolway-helper")
            .pragma("synchronous", "NORMAL")
            .pragma("cache_size", "-256")
            .connect()
            .await
    }

    /// Pool of connections that read. It is empty until first used, and idle connections close after a
    /// minute.
    pub(crate) fn readers(&self) -> SqlitePool {
        SqlitePoolOptions::new()
            .max_connections(READERS)
            .min_connections(0)
            .idle_timeout(Duration::from_secs(60))
            .max_lifetime(None)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .connect_lazy_with(
                self.base_options("toolway-reader")
                    .pragma("query_only", "ON")
                    .pragma("cache_size", "-256")
                    .row_buffer_size(8),
            )
    }
}
