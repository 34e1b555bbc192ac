//! Opens and closes the store, and gives access to its tables.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use sqlx::SqliteConnection;
use toolway_core::record::Recorder;
use toolway_types::Clock;

use crate::agents::AgentRepository;
use crate::calls::CallRepository;
use crate::connector::DatabaseConnector;
use crate::database::{Database, InterruptedWork};
use crate::database_copy;
use crate::error::{StoreError, open_error};
use crate::files::{self, DATABASE, DatabaseFile};
use crate::grants::GrantRepository;
use crate::health::{RecordingCounters, StoreHealth};
use crate::migrations::{self, MIGRATIONS, Migration};
use crate::options::StoreOptions;
use crate::recorder::StoreRecorder;
use crate::rules::RuleRepository;
use crate::sessions::SessionRepository;
use crate::sources::SourceRepository;
use crate::specs::SpecRepository;
use crate::tokens::TokenRepository;
use crate::usage::UsageRepository;
use crate::writer;
use crate::writer::queue::WriteQueue;
use crate::writer::submit;

/// The database in the data folder. Cheap to clone. It closes when the last clone and the last recorder are
/// dropped, or by [`Store::close`].
#[derive(Debug, Clone)]
pub struct Store(Arc<Database>);

impl Store {
    /// Opens the database in `dir`. Creates the folder (mode 0700) and the files (0600) if they do not exist.
    /// An older database is upgraded after a copy of it was written to the folder `backups`. Calls that an
    /// earlier gateway left open are closed as `gateway_restarted`, and its running turns are marked as
    /// interrupted.
    ///
    /// Must be called within a tokio runtime; the readers belong to it.
    ///
    /// # Errors
    /// Fails if the folder or the file cannot be created or read, if the file is not a database of Toolway or
    /// belongs to a newer Toolway (it is then not changed), or if SQLite fails.
    pub async fn open(dir: &Path, clock: Arc<dyn Clock>, options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_with(dir, clock, options, MIGRATIONS).await
    }

    pub(crate) async fn open_with(
        dir: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        files::private_folder(dir)?;
        let path = dir.join(DATABASE);
        let found = files::inspect_file(&path)?;
        if let DatabaseFile::Ours { version } = found {
            migrations::check_known(&path, version, migrations::newest_version(migrations))?;
        }
        files::create_private_file(&path)?;
        let connector = DatabaseConnector::new(&path, &options);
        let mut conn = connector.writer().await.map_err(|error| open_error(&path, error))?;
        prepare(&mut conn, found, dir, &connector, &*clock, migrations).await?;
        let left_open = InterruptedWork::close_interrupted(&mut conn, clock.now_ms()).await?;
        left_open.log();
        files::restrict_database(&path)?;

        Self::from_connection(connector, conn, dir, clock, options, migrations, left_open)
    }

    /// Creates a store with an open connection.
    pub(crate) fn from_connection(
        connector: DatabaseConnector,
        conn: SqliteConnection,
        dir: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
        migrations: &'static [Migration],
        left_open: InterruptedWork,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(WriteQueue::new(&options));
        let counters = Arc::new(RecordingCounters::new(Arc::clone(&clock)));
        let readers = connector.readers();
        let ended = writer::start(
            Arc::clone(&queue),
            Arc::clone(&counters),
            connector.clone(),
            options.clone(),
            conn,
        )
        .map_err(StoreError::io("start the writer of", connector.path()))?;
        Ok(Self(Arc::new(Database {
            dir: dir.to_owned(),
            connector,
            queue,
            counters,
            readers,
            clock,
            options,
            migrations,
            maintenance_lock: tokio::sync::Mutex::new(()),
            search_lock: tokio::sync::Mutex::new(()),
            unswept_bytes: AtomicUsize::new(0),
            interrupted: left_open,
            writer_ended: Mutex::new(Some(ended)),
        })))
    }

    /// Number of calls that were open when the store was opened. They were closed as `gateway_restarted`.
    #[must_use]
    pub fn closed_at_open(&self) -> u64 {
        self.0.interrupted.calls
    }

    /// Number of turns that were running when the store was opened. They were marked as interrupted.
    #[must_use]
    pub fn interrupted_at_open(&self) -> u64 {
        self.0.interrupted.turns
    }

    /// Path of the database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.connector.path()
    }

    /// Recorder for the engine.
    #[must_use]
    pub fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::new(StoreRecorder::new(Arc::clone(&self.0)))
    }

    /// Recorded calls.
    #[must_use]
    pub fn calls(&self) -> CallRepository<'_> {
        CallRepository(&self.0)
    }

    /// Tokens.
    #[must_use]
    pub fn tokens(&self) -> TokenRepository<'_> {
        TokenRepository(&self.0)
    }

    /// Sources of tools.
    #[must_use]
    pub fn sources(&self) -> SourceRepository<'_> {
        SourceRepository(&self.0)
    }

    /// Grants.
    #[must_use]
    pub fn grants(&self) -> GrantRepository<'_> {
        GrantRepository(&self.0)
    }

    /// Policy rules that were created over the network.
    #[must_use]
    pub fn rules(&self) -> RuleRepository<'_> {
        RuleRepository(&self.0)
    }

    /// Specs of tools.
    #[must_use]
    pub fn specs(&self) -> SpecRepository<'_> {
        SpecRepository(&self.0)
    }

    /// Agents that were created over the network or on the command line.
    #[must_use]
    pub fn agents(&self) -> AgentRepository<'_> {
        AgentRepository(&self.0)
    }

    /// Conversations.
    #[must_use]
    pub fn sessions(&self) -> SessionRepository<'_> {
        SessionRepository { database: &self.0, principal: None }
    }

    /// Model requests and their costs.
    #[must_use]
    pub fn usage(&self) -> UsageRepository<'_> {
        UsageRepository(&self.0)
    }

    /// Health of recording.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        self.0.counters.health(self.0.queue.waiting())
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0
    }

    /// Writes all waiting records.
    ///
    /// # Errors
    /// [`StoreError::Unwritten`] if the database could not be written to. The records still wait.
    pub async fn flush(&self) -> Result<(), StoreError> {
        match submit::flush(&self.0.queue).await? {
            0 => Ok(()),
            waiting => {
                let why = self.0.counters.last_error_text().unwrap_or_default();
                Err(StoreError::Unwritten { waiting, why })
            }
        }
    }

    /// Writes all waiting records and closes the database. Later records are lost and counted.
    pub async fn close(&self) {
        self.0.queue.stop();
        let ended = self.0.writer_ended.lock().take();
        if let Some(ended) = ended {
            // The sender is dropped, which resolves the receiver.
            let _ = ended.await;
        }
        self.0.readers.close().await;
    }
}

/// Upgrades a newly opened database to this program's schema.
async fn prepare(
    conn: &mut SqliteConnection,
    found: DatabaseFile,
    dir: &Path,
    connector: &DatabaseConnector,
    clock: &dyn Clock,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let path = connector.path();
    if found == DatabaseFile::Empty {
        migrations::claim(conn).await?;
    }
    // The file may have an older version than its write-ahead log.
    let version = migrations::version_of(conn).await?;
    let newest = migrations::newest_version(migrations);
    migrations::check_known(path, version, newest)?;
    if version > 0 && version < newest {
        let copy = database_copy::backup_before_upgrade(dir, connector, clock, version).await?;
        tracing::info!(from = version, to = newest, copy = %copy.display(), "upgrading the database");
    }
    sqlx::query("PRAGMA journal_mode = WAL")
        .execute(&mut *conn)
        .await
        .map_err(|error| open_error(path, error))?;
    migrations::apply(conn, migrations, version).await
}
