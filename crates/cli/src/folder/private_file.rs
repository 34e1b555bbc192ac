//! Reads and writes private files (0600), atomically.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::error::{CliError, CliResult};

/// Maximum size of a small file in bytes.
const MAX_SMALL: u64 = 1 << 20;

/// Replaces a file (0600) atomically, also in case of a crash.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> CliResult {
    write_whole(path, bytes).map_err(|error| CliError::io("write", path, &error))
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (beside, mut file) = create_temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    written.and_then(|()| rename(&beside, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

/// Creates a file (0600) atomically. Fails if it exists.
pub(crate) fn write_whole_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (beside, mut file) = create_temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    // Unlike `rename`, `hard_link` fails if the target exists.
    let linked = written.and_then(|()| std::fs::hard_link(&beside, path));
    let _ = std::fs::remove_file(&beside);
    linked
}

/// Renames a file and syncs the folder, so that the change survives a crash.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    #[cfg(unix)]
    if let Some(folder) = to.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Creates an empty temporary file (0600) next to a file, for a later rename.
pub(crate) fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = std::process::id();
    for attempt in 0..1000 {
        let beside = path.with_file_name(format!(".{name}.{pid}-{attempt}.new"));
        match create_new(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (beside, file)),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Creates a file (0600). Fails if it exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes a new file (0600). Fails if it exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> CliResult {
    let failed = |error: io::Error| CliError::io("write", path, &error);
    let mut file = create_new(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)
}

/// Reads a small file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> CliResult<Option<String>> {
    let failed = |error: io::Error| CliError::io("read", path, &error);
    let size = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => {
            let about = metadata.map_err(failed)?;
            // Reading a pipe or a device may block forever.
            if !about.is_file() {
                return Err(CliError::new(format!("{} is not a regular file", path.display())));
            }
            about.len()
        }
    };
    if size > MAX_SMALL {
        return Err(CliError::new(format!("{} is too large ({size} bytes)", path.display())));
    }
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(failed),
    }
}

/// Reads a token from a file; `None` if it does not exist.
pub(crate) fn read_token(path: &Path) -> CliResult<Option<SecretString>> {
    let Some(text) = read(path)? else { return Ok(None) };
    let token = text.trim();
    if token.is_empty() || token.chars().any(|c| !c.is_ascii_graphic()) {
        return Err(CliError::new(format!("{} is not a valid token file", path.display()))
            .with_hint("the file must contain one token and nothing else"));
    }
    Ok(Some(token.to_owned().into()))
}
