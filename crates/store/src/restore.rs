//! Putting a backup's contents in place of what is there, while the gateway runs: all of it or nothing.

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

impl Store {
    /// Replaces everything with a backup's contents, in one transaction. The backup is not touched: a copy of
    /// it is checked and, where it is of an older version, brought up to date first. Calls that run meanwhile
    /// are recorded all the same; calls that were open in the backup are closed as `gateway_restarted`, and turns that
    /// ran in it are marked as interrupted. Turns that run now have nothing to write to any more: their next write
    /// fails.
    ///
    /// Records wait while this goes on, and calls that must be committed before they run wait with them.
    /// Callers that keep tokens or sources in memory must load them again afterwards.
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

/// Checks the copy of a backup and brings it to this program's version.
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
        // Malformed, or no database after all.
        Some(11 | 26) => StoreError::Damaged { path, finding: source.to_string() },
        _ => StoreError::Database { doing: "check of the backup", source },
    }
}

async fn replace_with(conn: &mut SqliteConnection, incoming: String) -> Result<(), StoreError> {
    let failed = || StoreError::database("restoring");
    sqlx::query("ATTACH ? AS incoming").bind(incoming).execute(&mut *conn).await.map_err(failed())?;
    let replaced = replace_all(conn).await;
    // Also after a failure: the transaction is undone by then.
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
    // Calls that run at this moment: their outcomes are still to come.
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
