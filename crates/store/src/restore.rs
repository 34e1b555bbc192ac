//! Replaces the database's content with a backup while the gateway runs, completely or not at all.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use crate::connector::DatabaseConnector;
use crate::database::{Database, InterruptedWork};
use crate::database_copy::{path_text, run_blocking};
use crate::error::{StoreError, sqlite_code};
use crate::files::{self, DatabaseFile, ScratchFile};
use crate::migrations;
use crate::store::Store;
use crate::writer::started_calls::move_to_calls;

impl Store {
    /// Replaces the whole content with that of a backup, in one transaction. The backup file is not changed:
    /// a copy of it is checked and, if it has an older version, upgraded first. Calls that run during the
    /// restore are still recorded. Calls that are open in the backup are closed as `gateway_restarted`, and
    /// running turns in it are marked as interrupted. Turns that run during the restore lose their session,
    /// so their next write fails.
    ///
    /// Records wait until the restore is done, and so do calls that must be committed before they run.
    /// Callers that cache tokens or sources must load them again afterwards.
    ///
    /// # Errors
    /// Fails if the file is not a backup, is damaged, or has a newer version, or if the file system or SQLite fails.
    /// Nothing has changed then.
    pub async fn restore_from(&self, backup: &Path) -> Result<(), StoreError> {
        let database = self.database();
        let _alone = database.maintenance_lock.lock().await;
        let known = migrations::newest_version(database.migrations);
        match files::inspect_file(backup)? {
            DatabaseFile::Ours { version } if version > 0 => migrations::check_known(backup, version, known)?,
            DatabaseFile::Ours { .. } | DatabaseFile::Empty => {
                return Err(StoreError::NotADatabase { path: backup.to_owned() });
            }
        }
        let copy = copy_backup(backup, &database.dir).await?;
        prepare_copy(copy.path(), backup, database).await?;
        let incoming = path_text(copy.path())?;
        database.write_durably(|conn| Box::pin(replace_with(conn, incoming))).await
    }
}

async fn copy_backup(backup: &Path, dir: &Path) -> Result<ScratchFile, StoreError> {
    let (from, to) = (backup.to_owned(), dir.join("restore.part"));
    run_blocking(move || {
        let copy = ScratchFile::new(to)?;
        let mut source = File::open(&from).map_err(StoreError::io("read", &from))?;
        let mut target =
            OpenOptions::new().write(true).open(copy.path()).map_err(StoreError::io("write", copy.path()))?;
        io::copy(&mut source, &mut target).map_err(StoreError::io("copy", &from))?;
        Ok(copy)
    })
    .await
}

/// Checks the copy of a backup and upgrades it to this program's version.
async fn prepare_copy(copy: &Path, backup: &Path, database: &Database) -> Result<(), StoreError> {
    let failed = || backup_error(backup);
    let mut conn = DatabaseConnector::new(copy, &database.options).helper().await.map_err(failed())?;
    let (finding,): (String,) =
        sqlx::query_as("PRAGMA integrity_check(1)").fetch_one(&mut conn).await.map_err(failed())?;
    if finding != "ok" {
        return Err(StoreError::Damaged { path: backup.to_owned(), finding });
    }
    let version = migrations::version_of(&mut conn).await?;
    migrations::check_known(backup, version, migrations::newest_version(database.migrations))?;
    migrations::apply(&mut conn, database.migrations, version).await?;
    InterruptedWork::close_interrupted(&mut conn, database.clock.now_ms()).await?;
    conn.close().await.map_err(failed())
}

/// Maps an error during the check of a backup.
fn backup_error(backup: &Path) -> impl FnOnce(sqlx::Error) -> StoreError {
    let path = backup.to_owned();
    move |source| match sqlite_code(&source) {
        // SQLITE_CORRUPT or SQLITE_NOTADB.
        Some(11 | 26) => StoreError::Damaged { path, finding: source.to_string() },
        _ => StoreError::Database { doing: "check of the backup", source },
    }
}

async fn replace_with(conn: &mut SqliteConnection, incoming: String) -> Result<(), StoreError> {
    let failed = || StoreError::database("restoring");
    sqlx::query("ATTACH ? AS incoming").bind(incoming).execute(&mut *conn).await.map_err(failed())?;
    let replaced = replace_all(conn).await;
    // Also after a failure, when the transaction is already rolled back.
    let detached = sqlx::query("DETACH incoming").execute(conn).await;
    replaced.map_err(failed())?;
    detached.map(drop).map_err(failed())
}

async fn replace_all(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
    let replaced = replace_tables(&mut transaction).await;
    match replaced {
        Ok(()) => transaction.commit().await,
        Err(error) => {
            transaction.rollback().await?;
            Err(error)
        }
    }
}

async fn replace_tables(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Running calls are kept, because their outcomes are still to come.
    move_to_calls(conn).await?;
    sqlx::raw_sql("CREATE TEMP TABLE running AS SELECT * FROM main.calls WHERE status = 0")
        .execute(&mut *conn)
        .await?;
    let tables: Vec<(String,)> = sqlx::query_as(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
    )
    .fetch_all(&mut *conn)
    .await?;
    for (table,) in tables {
        let columns = columns_of(conn, &table).await?.join(", ");
        let sql = format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} ({columns}) SELECT {columns} FROM incoming.{table};"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *conn).await?;
    }
    let mut columns = columns_of(conn, "calls").await?;
    columns.retain(|column| column != "seq");
    let columns = columns.join(", ");
    let sql = format!(
        "INSERT INTO main.calls ({columns}) SELECT {columns} FROM temp.running WHERE true \
         ON CONFLICT (id) DO UPDATE SET status = 0, code = NULL, outcome = NULL; DROP TABLE temp.running;"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(conn).await?;
    Ok(())
}

async fn columns_of(conn: &mut SqliteConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    let columns: Vec<(String,)> = sqlx::query_as("SELECT name FROM pragma_table_info(?) ORDER BY cid")
        .bind(table)
        .fetch_all(conn)
        .await?;
    Ok(columns.into_iter().map(|(name,)| name).collect())
}

#[cfg(test)]
mod tests;
