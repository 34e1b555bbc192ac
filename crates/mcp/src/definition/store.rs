//! Reads and writes `mcp.toml`: limited in size, with a lock for changes, replaced atomically, readable only by its
//! owner. All functions block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::ServerDefinition;
use super::edit::{self, DefinitionEditError};
use super::file::{MAX_FILE, ServersFile};
use super::problem::DefinitionFileProblem;

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
        problems: Vec<DefinitionFileProblem>,
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

/// Reads the text of a file, or returns `None` if it does not exist. Pipes and devices are refused without opening
/// them, because reading them might block forever.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, DefinitionFileProblem> {
    let unreadable =
        |error: io::Error| DefinitionFileProblem::new(path, 1, format!("the file can't be read: {error}"));
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(DefinitionFileProblem::new(path, 1, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE {
        return Err(DefinitionFileProblem::new(path, 1, format!("the file is longer than {MAX_FILE} bytes")));
    }
    Ok(Some(text))
}

/// Reads a file of servers. A missing file counts as empty.
///
/// # Errors
/// All errors in the file.
pub fn read_file(path: &Path) -> Result<ServersFile, Vec<DefinitionFileProblem>> {
    let text = read_text(path).map_err(|problem| vec![problem])?;
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
    let before = read_text(path).map_err(|problem| wrong(vec![problem]))?.unwrap_or_default();
    let after =
        change(&before).map_err(|why| ServersFileError::NotEditable { path: path.to_owned(), why })?;
    let Some(after) = after else { return Ok(false) };
    ServersFile::parse(&after, path).map_err(wrong)?;
    // If the file is a symbolic link, its target is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_atomically(&target, after.as_bytes()).map_err(failed)?;
    Ok(true)
}

/// Locks a file during a change. The operating system releases the lock if the process dies.
fn lock(path: &Path) -> io::Result<File> {
    let file = open_private(
        OpenOptions::new().write(true).create(true).truncate(false),
        &sibling_path(path, "lock"),
    )?;
    file.lock()?;
    Ok(file)
}

fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{suffix}"))
}

/// Opens a file. A new file is readable only by its owner.
fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Writes a file (0600) atomically: readers see the old content or the new one, even after a crash.
fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = sibling_path(path, "new");
    // Left over from a crash. A new file has the right mode from the first byte on.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = open_private(OpenOptions::new().write(true).create_new(true), &new)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
