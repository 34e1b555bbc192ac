//! Reads and writes `mcp.toml`: limited in size, with a lock for changes, replaced atomically, readable only by its
//! owner. All functions block.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use toolway_files::owner_file::{FileProblem, MAX_BYTES, read_text};
use toolway_files::private_file;

use super::ServerDefinition;
use super::edit::{self, DefinitionEditError};
use super::file::ServersFile;

/// The reason why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ServersFileError {
    /// The file has a form that can't be edited.
    #[error("{} can't be changed: {why}", path.display())]
    NotEditable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: DefinitionEditError,
    },
    /// The file is invalid, or the change would make it invalid.
    #[error("{} can't be used", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All errors.
        problems: Vec<FileProblem>,
    },
    /// The operating system reported an error.
    #[error("{} can't be written: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// Reads a file of servers. A missing file counts as empty.
///
/// # Errors
/// All errors in the file.
pub fn read_file(path: &Path) -> Result<ServersFile, Vec<FileProblem>> {
    let text = read_text(path, MAX_BYTES).map_err(|problem| vec![problem])?;
    ServersFile::parse(&text.unwrap_or_default(), path)
}

/// Adds servers to a file, or replaces those of the same name. Its folder must exist.
///
/// # Errors
/// [`ServersFileError`]; the file is then unchanged.
pub fn put_servers(path: &Path, servers: &[(&str, &ServerDefinition)]) -> Result<(), ServersFileError> {
    let change = |before: &str| {
        servers.iter().try_fold(before.to_owned(), |text, (name, definition)| {
            edit::upsert_server(&text, name, definition)
        })
    };
    edit_file(path, |before| change(before).map(Some)).map(drop)
}

/// Removes a server from a file. Returns false if it was not there.
///
/// # Errors
/// [`ServersFileError`]; the file is then unchanged.
pub fn remove_server(path: &Path, name: &str) -> Result<bool, ServersFileError> {
    edit_file(path, |before| edit::remove_server(before, name))
}

/// Edits the text of a file with `change`. Returns false if `change` returns `None`.
fn edit_file(
    path: &Path,
    change: impl FnOnce(&str) -> Result<Option<String>, DefinitionEditError>,
) -> Result<bool, ServersFileError> {
    let failed = |error: io::Error| ServersFileError::Io { path: path.to_owned(), error };
    let wrong = |problems| ServersFileError::Invalid { path: path.to_owned(), problems };
    // The CLI and a running gateway may edit the file at the same time.
    let _lock = lock(path).map_err(failed)?;
    let before = read_text(path, MAX_BYTES).map_err(|problem| wrong(vec![problem]))?.unwrap_or_default();
    let after =
        change(&before).map_err(|why| ServersFileError::NotEditable { path: path.to_owned(), why })?;
    let Some(after) = after else { return Ok(false) };
    ServersFile::parse(&after, path).map_err(wrong)?;
    // If the file is a symbolic link, its target is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    private_file::write(&target, after.as_bytes()).map_err(failed)?;
    Ok(true)
}

/// Locks a file during a change. The operating system releases the lock if the process dies.
fn lock(path: &Path) -> io::Result<File> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.lock"));
    let file = private_file::open(OpenOptions::new().write(true).create(true).truncate(false), &beside)?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests;
