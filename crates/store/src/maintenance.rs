//! Access to the database of a gateway that may be running in another process: for backup, check and restore.

use std::path::Path;
use std::sync::Arc;

use toolway_types::Clock;

use crate::connector::DatabaseConnector;
use crate::database::InterruptedWork;
use crate::error::{StoreError, open_error, sqlite_code};
use crate::files::{self, DATABASE, DatabaseFile};
use crate::migrations::{self, MIGRATIONS};
use crate::options::StoreOptions;
use crate::store::Store;

/// SQLite's result code for a damaged file.
const CORRUPT: i32 = 11;
/// SQLite's result code for a file with a damaged header.
const NOT_A_DATABASE: i32 = 26;

impl Store {
    /// Opens an existing database without changing it: the schema is not upgraded, and open calls stay open,
    /// because the gateway that runs them may be alive.
    ///
    /// Must be called within a tokio runtime; the readers belong to it.
    ///
    /// # Errors
    /// Fails if there is no database of Toolway, if a newer Toolway wrote it, or if SQLite fails.
    pub async fn open_existing(
        dir: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let path = dir.join(DATABASE);
        let newest = migrations::newest_version(MIGRATIONS);
        match files::inspect_file(&path)? {
            DatabaseFile::Ours { version } => migrations::check_known(&path, version, newest)?,
            DatabaseFile::Empty => return Err(StoreError::NotADatabase { path }),
        }
        let connector = DatabaseConnector::new(&path, &options);
        let mut conn = connector.writer().await.map_err(|error| open_error(&path, error))?;
        // The file may have an older version than its write-ahead log.
        migrations::check_known(&path, migrations::version_of(&mut conn).await?, newest)?;
        Self::from_connection(connector, conn, dir, clock, options, MIGRATIONS, InterruptedWork::default())
    }

    /// True if the database has this program's schema, so that [`Store::restore_from`] can fill it. Always
    /// true after [`Store::open`].
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn is_current(&self) -> Result<bool, StoreError> {
        let database = self.database();
        let mut conn = database.connector.helper().await.map_err(|error| open_error(self.path(), error))?;
        Ok(migrations::version_of(&mut conn).await? == migrations::newest_version(database.migrations))
    }

    /// Runs SQLite's integrity check on the whole database. A large database takes a while; calls continue
    /// meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first finding; otherwise the error of SQLite.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut conn =
            self.database().connector.helper().await.map_err(|error| open_error(self.path(), error))?;
        let checked: Result<(String,), sqlx::Error> =
            sqlx::query_as("PRAGMA integrity_check(1)").fetch_one(&mut conn).await;
        let finding = match checked {
            Ok((finding,)) if finding == "ok" => return Ok(()),
            Ok((finding,)) => finding,
            // The check itself can fail on a badly damaged file.
            Err(error) if matches!(sqlite_code(&error), Some(CORRUPT | NOT_A_DATABASE)) => error.to_string(),
            Err(error) => return Err(StoreError::Database { doing: "check", source: error }),
        };
        Err(StoreError::Damaged { path: self.path().to_owned(), finding })
    }
}

#[cfg(test)]
mod tests;
