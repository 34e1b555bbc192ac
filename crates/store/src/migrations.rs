//! Schema versions and migrations. SQLite stores the version in the file's header (`user_version`), and next
//! to it a number that identifies the program (`application_id`).

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::error::StoreError;

/// "Tlwy": distinguishes Toolway's databases from those of other programs.
pub(crate) const APPLICATION_ID: u32 = 0x546c_7779;

/// One migration from the previous version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// Version after this migration.
    pub(crate) version: i64,
    /// Statements of the migration.
    pub(crate) sql: &'static str,
}

/// All migrations, in order. A published migration never changes.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../migrations/0001_start.sql") },
    Migration { version: 2, sql: include_str!("../migrations/0002_tool_system.sql") },
    Migration { version: 3, sql: include_str!("../migrations/0003_conversations.sql") },
    Migration { version: 4, sql: include_str!("../migrations/0004_sources_again.sql") },
    Migration { version: 5, sql: include_str!("../migrations/0005_plain_names.sql") },
    Migration { version: 6, sql: include_str!("../migrations/0006_started_calls.sql") },
];

/// The newest version of the migrations.
pub(crate) fn newest_version(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |last| last.version)
}

/// Schema version of an open database.
pub(crate) async fn version_of(conn: &mut SqliteConnection) -> Result<i64, StoreError> {
    let (version,): (i64,) = sqlx::query_as("PRAGMA user_version")
        .fetch_one(conn)
        .await
        .map_err(StoreError::database("read of its version"))?;
    Ok(version)
}

/// Refuses a database that is newer than this program.
pub(crate) fn check_known(path: &Path, found: i64, known: i64) -> Result<(), StoreError> {
    if found > known { Err(StoreError::TooNew { path: path.to_owned(), found, known }) } else { Ok(()) }
}

/// Marks an empty file as Toolway's before anything else is written. The number is written before the
/// write-ahead log exists, so the file itself contains it from the start.
pub(crate) async fn claim(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let sql = format!("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION_ID};");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await.map_err(StoreError::database("creation"))?;
    Ok(())
}

/// Applies the missing migrations, each completely or not at all.
pub(crate) async fn apply(
    conn: &mut SqliteConnection,
    migrations: &[Migration],
    from: i64,
) -> Result<(), StoreError> {
    let failed = || StoreError::database("upgrade");
    for step in migrations.iter().filter(|step| step.version > from) {
        let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
        sqlx::raw_sql(step.sql).execute(&mut *transaction).await.map_err(failed())?;
        let mark = format!("PRAGMA user_version = {}", step.version);
        sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *transaction).await.map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
    }
    Ok(())
}
