//! Writes a copy of a database into a file while the database is in use.

use std::fs;
use std::path::{Path, PathBuf};

use sqlx::Connection;
use toolway_types::Clock;

use crate::connector::DatabaseConnector;
use crate::error::StoreError;
use crate::files::{self, BACKUPS, ScratchFile};

/// Number of pre-upgrade copies to keep.
const COPIES_KEPT: usize = 3;

/// Copies a database before its upgrade, and removes all but the newest few of such copies.
pub(crate) async fn backup_before_upgrade(
    dir: &Path,
    connector: &DatabaseConnector,
    clock: &dyn Clock,
    version: i64,
) -> Result<PathBuf, StoreError> {
    let folder = dir.join(BACKUPS);
    files::private_folder(&folder)?;
    let time = clock.now().strftime("%Y%m%dT%H%M%SZ");
    let copy = folder.join(format!("toolway-{version}-{time}.db"));
    copy_into(connector, &copy).await?;
    remove_oldest_backups(&folder)?;
    Ok(copy)
}

/// Copies the database into a new file, which appears under its name only when it is complete.
pub(crate) async fn copy_into(connector: &DatabaseConnector, to: &Path) -> Result<(), StoreError> {
    let failed = || StoreError::database("copy");
    let part = ScratchFile::new(files::with_suffix(to, ".part"))?;
    let mut conn = connector.helper().await.map_err(failed())?;
    sqlx::query("VACUUM INTO ?").bind(path_text(part.path())?).execute(&mut conn).await.map_err(failed())?;
    conn.close().await.map_err(failed())?;
    let to = to.to_owned();
    run_blocking(move || {
        files::sync(part.path())?;
        part.persist_as(&to)
    })
    .await
}

fn remove_oldest_backups(folder: &Path) -> Result<(), StoreError> {
    let mut copies: Vec<(String, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(StoreError::io("read", folder))? {
        let path = entry.map_err(StoreError::io("read", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.strip_prefix("toolway-").and_then(|rest| rest.strip_suffix(".db"));
        if let Some((_, time)) = stem.and_then(|stem| stem.split_once('-')) {
            copies.push((time.to_owned(), path));
        }
    }
    copies.sort();
    let surplus = copies.len().saturating_sub(COPIES_KEPT);
    for (_, path) in copies.drain(..surplus) {
        fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
    }
    Ok(())
}

/// A path in the form that SQLite requires.
pub(crate) fn path_text(path: &Path) -> Result<String, StoreError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the file name must be UTF-8");
        StoreError::io("use", path)(error)
    })
}

/// Runs blocking work on a blocking thread.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Closed))
}
