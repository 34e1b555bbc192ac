//! `mcp.toml` on the disk: read within a bound, changed by one at a time, replaced whole and for its owner alone.
//! Everything here blocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::ServerDefinition;
use super::edit::{self, DefinitionEditError};
use super::file::{MAX_FILE, ServersFile};
use super::problem::DefinitionFileProblem;

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ServersFileError {
    /// It is written in a way that can't be changed.
    #[error("{} can't be changed: {why}", path.display())]
    NotEditable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: DefinitionEditError,
    },
    /// Something is wrong in it, or would be.
    #[error("{} can't be used", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All that is wrong.
        problems: Vec<DefinitionFileProblem>,
    },
    /// The system refused it.
    #[error("{} can't be written: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// The text of a file; none where there is no such file. What is no file but a pipe or a device is refused without
/// being opened: reading it might never end.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, DefinitionFileProblem> {
    let unreadable =
        |error: io::Error| DefinitionFileProblem::new(path, 1, format!("the file can't be read: {error}"));
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(DefinitionFileProblem::new(path, 1, "it is no regular file")),
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

/// Reads a file of servers; nothing stands in one that is not there.
///
/// # Errors
/// Everything that is wrong in it.
pub fn read_file(path: &Path) -> Result<ServersFile, Vec<DefinitionFileProblem>> {
    let text = read_text(path).map_err(|problem| vec![problem])?;
    ServersFile::parse(&text.unwrap_or_default(), path)
}

/// Puts servers into a file, each in the place of the one of its name. Its folder must be there.
///
/// # Errors
/// [`NotChanged`]; then nothing has changed.
pub fn put_servers(path: &Path, servers: &[(&str, &ServerDefinition)]) -> Result<(), ServersFileError> {
    let change = |before: &str| {
        servers.iter().try_fold(before.to_owned(), |text, (name, definition)| {
            edit::upsert_server(&text, name, definition)
        })
    };
    edit_file(path, |before| change(before).map(Some)).map(drop)
}

/// Takes a server out of a file; whether it was there.
///
/// # Errors
/// [`NotChanged`]; then nothing has changed.
pub fn remove_server(path: &Path, name: &str) -> Result<bool, ServersFileError> {
    edit_file(path, |before| edit::remove_server(before, name))
}

/// Changes the text of a file where `change` gives another; whether it did.
fn edit_file(
    path: &Path,
    change: impl FnOnce(&str) -> Result<Option<String>, DefinitionEditError>,
) -> Result<bool, ServersFileError> {
    let failed = |error: io::Error| ServersFileError::Io { path: path.to_owned(), error };
    let wrong = |problems| ServersFileError::Invalid { path: path.to_owned(), problems };
    // The command and a running gateway may both want to change it.
    let _lock = lock(path).map_err(failed)?;
    let before = read_text(path).map_err(|problem| wrong(vec![problem]))?.unwrap_or_default();
    let after =
        change(&before).map_err(|why| ServersFileError::NotEditable { path: path.to_owned(), why })?;
    let Some(after) = after else { return Ok(false) };
    ServersFile::parse(&after, path).map_err(wrong)?;
    // Where it is a link, what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_atomically(&target, after.as_bytes()).map_err(failed)?;
    Ok(true)
}

/// Held while a file is changed; the system lets go of it however the process ends.
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

/// Opens a file that, where it is new, is for its owner alone.
fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Writes a file (0600) in one step: readers see the old content or the new, also after a crash.
fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = sibling_path(path, "new");
    // Left over from a crash; opened anew so that the mode is set from the first byte on.
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
