//! The schema's versions. SQLite keeps the version in the file's header (`user_version`), and beside it a
//! number that says whose database it is (`application_id`).

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::error::StoreError;

/// "Tlwy": tells our databases from those of other programs.
pub(crate) const APPLICATION_ID: u32 = 0x546c_7779;

/// One step from the version before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// The version it leads to.
    pub(crate) version: i64,
    /// Statements of the step.
    pub(crate) sql: &'static str,
}

/// Every step, in order. A step that was published is never changed.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../migrations/0001_start.sql") },
    Migration { version: 2, sql: include_str!("../migrations/0002_tool_system.sql") },
    Migration { version: 3, sql: include_str!("../migrations/0003_conversations.sql") },
    Migration { version: 4, sql: include_str!("../migrations/0004_sources_again.sql") },
    Migration { version: 5, sql: include_str!("../migrations/0005_plain_names.sql") },
];

/// The newest version among steps.
pub(crate) fn newest_version(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |last| last.version)
}

/// The version of an open database.
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

/// Marks an empty file as ours, before anything else is in it. The number is written before the
/// write-ahead log exists, so that it stands in the file itself from the first moment.
pub(crate) async fn claim(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let sql = format!("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION_ID};");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await.map_err(StoreError::database("creation"))?;
    Ok(())
}

/// Applies the steps that are missing, each whole or not at all.
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
