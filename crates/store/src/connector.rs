//! Opens the database, with small caches, without memory mapping, and without logging statements.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use crate::options::{Durability, StoreOptions};

/// Pages in the write-ahead log at which SQLite itself moves them to the database while it commits. A
/// backstop: normally that is done beside the writer, long before.
const CHECKPOINT_BACKSTOP: &str = "16384";
/// Bytes of the write-ahead log's file that are kept after it was emptied.
const LOG_KEPT: &str = "8388608";
/// Statements that the writer keeps prepared; it has thirty of its own.
const WRITER_STATEMENTS: usize = 40;
/// Most readers at a time.
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

    /// Any connection; it sees the file as it is and changes nothing about it.
    fn base_options(&self, thread: &'static str) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .thread_name(move |_| thread.to_owned())
            .busy_timeout(self.busy_timeout)
            .statement_cache_capacity(12)
            .foreign_keys(false)
            .disable_statement_logging()
    }

    /// The one connection that writes.
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

    /// One more connection, for work that takes long: backups, checkpoints, checks.
    pub(crate) async fn helper(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.base_options("toolway-helper")
            .pragma("synchronous", "NORMAL")
            .pragma("cache_size", "-256")
            .connect()
            .await
    }

    /// The connections that read: none until one is needed, gone again after a minute.
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
