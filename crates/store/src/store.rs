//! Opening, closing and asking after the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::oneshot;
use toolway_core::record::Recorder;
use toolway_types::Clock;

use crate::agents::Agents;
use crate::backup;
use crate::calls::Calls;
use crate::connect::Connector;
use crate::error::{StoreError, sqlite_code};
use crate::files::{self, DATABASE, Found};
use crate::grants::Grants;
use crate::health::{Counters, StoreHealth};
use crate::migrate::{self, MIGRATIONS, Migration};
use crate::options::StoreOptions;
use crate::outcome;
use crate::recorder::StoreRecorder;
use crate::rules::Rules;
use crate::sessions::{Sessions, close_running_turns};
use crate::sources::Sources;
use crate::specs::Specs;
use crate::tokens::Tokens;
use crate::usage::Usage;
use crate::writer;
use crate::writer::queue::Queue;
use crate::writer::work::{self, OnConnection};

/// The database in the data folder. Cheap to clone; closed when the last clone and the last recorder go, or
/// by [`Store::close`].
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) dir: PathBuf,
    pub(crate) connector: Connector,
    pub(crate) queue: Arc<Queue>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) readers: SqlitePool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: StoreOptions,
    pub(crate) migrations: &'static [Migration],
    /// Held by backups and restores, of which one goes on at a time.
    pub(crate) long_work: tokio::sync::Mutex<()>,
    /// Held by statements that look through calls, of which one runs at a time.
    pub(crate) looking_through: tokio::sync::Mutex<()>,
    /// Bytes of documents of specs that were written since those that no tool has were last thrown away.
    pub(crate) unswept: AtomicUsize,
    left_open: LeftOpen,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

/// What was found going on when the store was opened, and closed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeftOpen {
    calls: u64,
    turns: u64,
}

impl Store {
    /// Opens the database in `dir`, and makes both where they don't exist: the folder for its owner only
    /// (0700), the files too (0600). An older database is brought up to date, after a copy of it was put into
    /// the folder `backups`. Calls that are still open, because an earlier gateway did not end properly, are
    /// closed as `gateway_restarted`; turns that still run are marked as interrupted.
    ///
    /// Must be called within a tokio runtime; the readers belong to it.
    ///
    /// # Errors
    /// Where folder or file can't be made or read, where the file is not a database of Toolway or one of a newer
    /// Toolway (it is left as it is then), or where SQLite fails.
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
        let found = files::look_at(&path)?;
        if let Found::Ours { version } = found {
            migrate::check_known(&path, version, migrate::newest(migrations))?;
        }
        files::private_file(&path)?;
        let connector = Connector::new(&path, &options);
        let mut conn = connector.writer().await.map_err(|error| opening(&path, error))?;
        prepare(&mut conn, found, dir, &connector, &*clock, migrations).await?;
        let left_open = LeftOpen::close(&mut conn, clock.now_ms()).await?;
        left_open.say();
        files::tighten_database(&path)?;

        Self::around(connector, conn, dir, clock, options, migrations, left_open)
    }

    /// Over an open connection.
    pub(crate) fn around(
        connector: Connector,
        conn: SqliteConnection,
        dir: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
        migrations: &'static [Migration],
        left_open: LeftOpen,
    ) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::new(&options));
        let counters = Arc::new(Counters::new(Arc::clone(&clock)));
        let readers = connector.readers();
        let ended = writer::start(
            Arc::clone(&queue),
            Arc::clone(&counters),
            connector.clone(),
            options.clone(),
            conn,
        )
        .map_err(StoreError::io("start the writer of", connector.path()))?;
        Ok(Self(Arc::new(Inner {
            dir: dir.to_owned(),
            connector,
            queue,
            counters,
            readers,
            clock,
            options,
            migrations,
            long_work: tokio::sync::Mutex::new(()),
            looking_through: tokio::sync::Mutex::new(()),
            unswept: AtomicUsize::new(0),
            left_open,
            ended: Mutex::new(Some(ended)),
        })))
    }

    /// How many calls were found open when the store was opened, and closed as `gateway_restarted`.
    #[must_use]
    pub fn closed_at_open(&self) -> u64 {
        self.0.left_open.calls
    }

    /// How many turns were found running when the store was opened, and marked as interrupted.
    #[must_use]
    pub fn interrupted_at_open(&self) -> u64 {
        self.0.left_open.turns
    }

    /// The database's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.connector.path()
    }

    /// What the engine records its calls with.
    #[must_use]
    pub fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::new(StoreRecorder::new(Arc::clone(&self.0)))
    }

    /// The recorded calls.
    #[must_use]
    pub fn calls(&self) -> Calls<'_> {
        Calls(self)
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> Tokens<'_> {
        Tokens(self)
    }

    /// The sources of tools.
    #[must_use]
    pub fn sources(&self) -> Sources<'_> {
        Sources(self)
    }

    /// The grants.
    #[must_use]
    pub fn grants(&self) -> Grants<'_> {
        Grants(self)
    }

    /// The policy rules that were made over the network.
    #[must_use]
    pub fn rules(&self) -> Rules<'_> {
        Rules(self)
    }

    /// The specs of tools.
    #[must_use]
    pub fn specs(&self) -> Specs<'_> {
        Specs(self)
    }

    /// The agents that were made over the network or on the command line.
    #[must_use]
    pub fn agents(&self) -> Agents<'_> {
        Agents(self)
    }

    /// The conversations.
    #[must_use]
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { store: self, principal: None }
    }

    /// What models were asked, and what it cost.
    #[must_use]
    pub fn usage(&self) -> Usage<'_> {
        Usage(self)
    }

    /// How the recording of calls fares.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        self.0.counters.read(self.0.queue.waiting())
    }

    /// Has everything written that waits now.
    ///
    /// # Errors
    /// [`StoreError::Unwritten`] where the database could not be written to: the records still wait.
    pub async fn flush(&self) -> Result<(), StoreError> {
        match work::flush(&self.0.queue).await? {
            0 => Ok(()),
            waiting => {
                let why = self.0.counters.last_text().unwrap_or_default();
                Err(StoreError::Unwritten { waiting, why })
            }
        }
    }

    /// Writes what waits and closes the database. Records that come later are lost, and counted.
    pub async fn close(&self) {
        self.0.queue.stop();
        let ended = self.0.ended.lock().take();
        if let Some(ended) = ended {
            // It resolves by being dropped.
            let _ = ended.await;
        }
        self.0.readers.close().await;
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.0.readers
    }

    /// Runs something on the connection that writes; its commits are on disk when it answers.
    pub(crate) async fn durably<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> OnConnection<'c, T> + Send + 'static,
    {
        work::run(&self.0.queue, true, job).await
    }

    /// Runs something on the connection that writes; its commits survive the program, not the computer.
    pub(crate) async fn write<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> OnConnection<'c, T> + Send + 'static,
    {
        work::run(&self.0.queue, false, job).await
    }

    /// Runs one statement, durably. Answers whether it changed anything.
    pub(crate) async fn change(
        &self,
        doing: &'static str,
        query: Query<'static, Sqlite, SqliteArguments>,
    ) -> Result<bool, StoreError> {
        self.durably(move |conn| {
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
        if self.0.readers.size() > 0 || self.0.queue.is_degraded() {
            return query.fetch_all(self.readers()).await.map_err(StoreError::database(doing));
        }
        self.write(move |conn| {
            Box::pin(async move { query.fetch_all(conn).await.map_err(StoreError::database(doing)) })
        })
        .await
    }

    /// Before something is read: what was recorded so far should be in it. Not where the database can't be
    /// written to, which would only hold up the reader.
    pub(crate) async fn catch_up(&self) {
        if !self.0.queue.is_degraded() {
            // What fails here is in the store's health.
            let _ = work::flush(&self.0.queue).await;
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.stop();
    }
}

pub(crate) fn opening(path: &Path, error: sqlx::Error) -> StoreError {
    match sqlite_code(&error) {
        // "File is not a database", which the first bytes did not tell.
        Some(26) => StoreError::NotADatabase { path: path.to_owned() },
        _ => StoreError::Database { doing: "opening", source: error },
    }
}

/// Brings a database just opened to this program's schema.
async fn prepare(
    conn: &mut SqliteConnection,
    found: Found,
    dir: &Path,
    connector: &Connector,
    clock: &dyn Clock,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let path = connector.path();
    if found == Found::Empty {
        migrate::claim(conn).await?;
    }
    // The version in the file may be behind the one in the log.
    let version = migrate::version_of(conn).await?;
    let newest = migrate::newest(migrations);
    migrate::check_known(path, version, newest)?;
    if version > 0 && version < newest {
        let copy = backup::before_upgrade(dir, connector, clock, version).await?;
        tracing::info!(from = version, to = newest, copy = %copy.display(), "bringing the database up to date");
    }
    sqlx::query("PRAGMA journal_mode = WAL")
        .execute(&mut *conn)
        .await
        .map_err(|error| opening(path, error))?;
    migrate::apply(conn, migrations, version).await
}

impl LeftOpen {
    /// Closes the calls and turns whose end nobody saw.
    pub(crate) async fn close(conn: &mut SqliteConnection, now_ms: i64) -> Result<Self, StoreError> {
        Ok(Self { calls: close_open_calls(conn).await?, turns: close_running_turns(conn, now_ms).await? })
    }

    fn say(self) {
        let Self { calls, turns } = self;
        if calls > 0 {
            tracing::warn!(
                calls,
                "calls were open when the gateway last stopped; closed as gateway_restarted"
            );
        }
        if turns > 0 {
            tracing::warn!(turns, "turns were running when the gateway last stopped; marked as interrupted");
        }
    }
}

async fn close_open_calls(conn: &mut SqliteConnection) -> Result<u64, StoreError> {
    let outcome = outcome::restarted();
    let done = sqlx::query("UPDATE calls SET status = ?, code = ?, outcome = ? WHERE status = 0")
        .bind(writer::rows::status_of(&outcome))
        .bind(outcome.error().map(|error| error.code.as_str()))
        .bind(outcome::encode(&outcome, usize::MAX))
        .execute(conn)
        .await
        .map_err(StoreError::database("closing of calls left open"))?;
    Ok(done.rows_affected())
}
