//! Shared parts of the tests: a folder, a manual clock, and calls to record.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use tempfile::TempDir;
use toolway_core::caller::EntryPoint;
use toolway_core::record::{CallDurations, ClosedCall, IdempotencyKey, OpenedCall};
use toolway_types::{CallId, Clock, Code, Outcome, PrincipalId, RawJson, Role, ToolError, ToolOutput};

use crate::connector::DatabaseConnector;
use crate::migrations::{self, MIGRATIONS, Migration};
use crate::{
    ModelRequestRecord, NewMessage, NewTurn, RequestStatus, Store, StoreError, StoreOptions, StoredRole,
    TokenCounts, TurnEnding, TurnOpening, TurnState,
};

/// The time at which the tests' clocks start.
pub(crate) const NOW: i64 = 1_800_000_000_000;

/// A clock that only moves when the test sets it.
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

/// A data folder for one test.
pub(crate) struct StoreHarness {
    root: TempDir,
    pub(crate) clock: Arc<TestClock>,
}

impl StoreHarness {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), clock: Arc::new(TestClock(AtomicI64::new(NOW))) }
    }

    /// A path beside the data folder.
    pub(crate) fn sibling_path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.sibling_path("data")
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

    /// Creates the database as an earlier version did, with rows written by `sql`.
    pub(crate) async fn create_at_version(&self, version: usize, sql: &'static str) {
        std::fs::create_dir(self.path()).unwrap();
        let connector = DatabaseConnector::new(&self.database(), &options());
        std::fs::write(self.database(), "").unwrap();
        let mut conn = connector.writer().await.unwrap();
        migrations::claim(&mut conn).await.unwrap();
        sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&mut conn).await.unwrap();
        migrations::apply(&mut conn, &MIGRATIONS[..version], 0).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    /// Copies the files that a crash at this moment would leave.
    pub(crate) fn copy_after_crash(&self) -> Self {
        let copy = Self::new();
        std::fs::create_dir(copy.path()).unwrap();
        for name in ["toolway.db", "toolway.db-wal"] {
            std::fs::copy(self.path().join(name), copy.path().join(name)).unwrap();
        }
        copy
    }
}

/// Options with which nothing is written before a flush.
pub(crate) fn options() -> StoreOptions {
    StoreOptions { window: Duration::from_secs(600), ..StoreOptions::default() }
}

/// Opens a connection as another program would.
pub(crate) async fn other_connection(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

/// Reads one number from the database through another connection.
pub(crate) async fn number(path: &Path, sql: &str) -> i64 {
    let mut other = other_connection(path).await;
    let (number,): (i64,) =
        sqlx::query_as(AssertSqlSafe(sql.to_owned())).fetch_one(&mut other).await.unwrap();
    other.close().await.unwrap();
    number
}

/// Runs statements through another connection. It is closed before this returns, because a connection that is only
/// dropped closes later and can lock the database meanwhile.
pub(crate) async fn execute(path: &Path, sql: &str) {
    let mut other = other_connection(path).await;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

/// A call that starts now.
pub(crate) fn call(tool: &str) -> OpenedCall {
    OpenedCall {
        id: CallId::new(),
        name: tool.replace('/', "__").into(),
        tool: Some(tool.parse().unwrap()),
        principal: PrincipalId::from("owner"),
        role: Role::Owner,
        via: EntryPoint::Rest,
        agent: None,
        session: None,
        turn: None,
        arguments: Some(json(r#"{"verbose":true}"#)),
        started_ms: NOW,
        key: None,
    }
}

/// A call that starts now and has an idempotency key.
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
    let durations = CallDurations {
        total: Duration::from_micros(4321),
        waiting: Duration::from_micros(1),
        queued: Duration::from_micros(20),
        running: Duration::from_micros(4300),
    };
    ClosedCall { opened: Arc::clone(opened), outcome: Arc::new(outcome), durations, attempts: 1, notes: None }
}

/// Records a complete call.
pub(crate) fn record(store: &Store, opened: OpenedCall, outcome: Outcome) -> CallId {
    let opened = Arc::new(opened);
    let recorder = store.recorder();
    drop(recorder.open(Arc::clone(&opened)));
    drop(recorder.close(end(&opened, outcome)));
    opened.id
}

/// A new turn in a session of `t-1`.
pub(crate) fn turn(session: &str, id: &str, text: &str) -> NewTurn {
    NewTurn {
        id: id.to_owned(),
        session: session.to_owned(),
        principal: "t-1".to_owned(),
        agent: "default".to_owned(),
        started_ms: NOW,
        opening: TurnOpening::Message(said(StoredRole::User, text)),
    }
}

/// A message with one text.
pub(crate) fn said(role: StoredRole, text: &str) -> NewMessage {
    let parts = RawJson::from(&serde_json::json!([{"type": "text", "text": text}]));
    NewMessage { role, parts, text: text.to_owned(), is_cut: false }
}

/// The end of a turn without further messages.
pub(crate) fn ending(turn: &str, state: TurnState) -> TurnEnding {
    TurnEnding {
        turn: turn.to_owned(),
        state,
        ended_ms: NOW + 9,
        messages: vec![],
        requests: vec![],
        code: None,
        message: None,
        finish: Some("stop".to_owned()),
        rounds: 1,
        calls: 0,
        tokens: TokenCounts::default(),
        cost: None,
        currency: None,
    }
}

/// A completed model request with a cost.
pub(crate) fn request(principal: &str, started_ms: i64, cost: Option<f64>) -> ModelRequestRecord {
    ModelRequestRecord {
        turn: None,
        session: None,
        principal: principal.to_owned(),
        agent: "default".to_owned(),
        provider: "openai".to_owned(),
        model: "m-1".to_owned(),
        started_ms,
        duration_ms: 1200,
        first_token_ms: Some(300),
        attempts: 1,
        status: RequestStatus::Answered,
        code: None,
        tokens: TokenCounts { input: Some(100), output: Some(10), ..TokenCounts::default() },
        cost,
        currency: cost.map(|_| "USD".to_owned()),
    }
}

/// Waits for a future, at most ten seconds.
#[track_caller]
pub(crate) fn within<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        tokio::time::timeout(Duration::from_secs(10), future)
            .await
            .unwrap_or_else(|_| panic!("timed out at {caller}"))
    }
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(mut holds: impl FnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    while !holds() {
        ticks.tick().await;
    }
}
