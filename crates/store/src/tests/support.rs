//! What the tests share: a folder, a clock that stands still, and calls to record.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use tempfile::TempDir;
use toolway_core::caller::Door;
use toolway_core::record::{ClosedCall, Durations, IdempotencyKey, OpenedCall};
use toolway_types::{CallId, Clock, Code, Outcome, PrincipalId, RawJson, Role, ToolError, ToolOutput};

use crate::migrate::Migration;
use crate::{Store, StoreError, StoreOptions};

/// The time at which the tests' clocks start.
pub(crate) const NOW: i64 = 1_800_000_000_000;

/// A clock that moves when it is told to.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A data folder.
pub(crate) struct Folder {
    root: TempDir,
    pub(crate) clock: Arc<TestClock>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), clock: Arc::new(TestClock(AtomicI64::new(NOW))) }
    }

    /// A place beside the data folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.beside("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("toolway.db")
    }

    pub(crate) async fn open(&self) -> Store {
        self.open_with(options()).await
    }

    pub(crate) async fn open_with(&self, options: StoreOptions) -> Store {
        Store::open(&self.path(), self.clock.clone(), options).await.unwrap()
    }

    pub(crate) async fn open_migrated(&self, migrations: &'static [Migration]) -> Result<Store, StoreError> {
        Store::open_with(&self.path(), self.clock.clone(), options(), migrations).await
    }

    /// What a crash at this moment would leave behind, as a folder of its own.
    pub(crate) fn as_after_a_crash(&self) -> Self {
        let copy = Self::new();
        std::fs::create_dir(copy.path()).unwrap();
        for name in ["toolway.db", "toolway.db-wal"] {
            std::fs::copy(self.path().join(name), copy.path().join(name)).unwrap();
        }
        copy
    }
}

/// Settings with which nothing is written before the test says so.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { window: Duration::from_secs(600), ..StoreOptions::default() }
}

/// A connection of another program.
pub(crate) async fn stranger(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

/// One number from the database, read by another program.
pub(crate) async fn number(path: &Path, sql: &str) -> i64 {
    let (number,): (i64,) =
        sqlx::query_as(AssertSqlSafe(sql.to_owned())).fetch_one(&mut stranger(path).await).await.unwrap();
    number
}

/// A call that starts now.
pub(crate) fn call(tool: &str) -> OpenedCall {
    OpenedCall {
        id: CallId::new(),
        name: tool.replace('/', "__").into(),
        tool: Some(tool.parse().unwrap()),
        principal: PrincipalId::from("owner"),
        role: Role::Owner,
        door: Door::Rest,
        agent: None,
        session: None,
        turn: None,
        arguments: Some(json(r#"{"verbose":true}"#)),
        started_ms: NOW,
        key: None,
    }
}

/// The same with an idempotency key.
pub(crate) fn keyed(tool: &str, key: &str) -> OpenedCall {
    OpenedCall { key: Some(IdempotencyKey { key: key.into(), hash: [7; 32] }), ..call(tool) }
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

pub(crate) fn success(text: &str) -> Outcome {
    Outcome::Success(ToolOutput::text(text))
}

pub(crate) fn failure(code: Code) -> Outcome {
    Outcome::Error(ToolError::new(code, "it failed"))
}

/// The end of a call.
pub(crate) fn end(opened: &Arc<OpenedCall>, outcome: Outcome) -> ClosedCall {
    let durations = Durations {
        total: Duration::from_micros(4321),
        waiting: Duration::from_micros(1),
        queued: Duration::from_micros(20),
        running: Duration::from_micros(4300),
    };
    ClosedCall { opened: Arc::clone(opened), outcome: Arc::new(outcome), durations, attempts: 1, notes: None }
}

/// Records a whole call.
pub(crate) fn record(store: &Store, opened: OpenedCall, outcome: Outcome) -> CallId {
    let opened = Arc::new(opened);
    let recorder = store.recorder();
    drop(recorder.open(Arc::clone(&opened)));
    drop(recorder.close(end(&opened, outcome)));
    opened.id
}

/// Waits for something that must come about, for at most ten seconds.
#[track_caller]
pub(crate) fn within<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        tokio::time::timeout(Duration::from_secs(10), future)
            .await
            .unwrap_or_else(|_| panic!("nothing came of what {caller} waits for"))
    }
}

/// Waits until a condition holds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    while !holds() {
        ticks.tick().await;
    }
}
