//! Reads and replaces a client's configuration file. Replacing keeps a copy of the old file next to it, follows
//! links, and keeps the permissions.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use similar::TextDiff;
use toolway_files::private_file::AtomicFile;

use crate::error::{CliError, CliResult};

/// Maximum size of a configuration file, in bytes. It is large because some clients store other data in it.
const MAX_FILE: u64 = 64 << 20;

/// A configuration file as it was read.
#[derive(Debug)]
pub(super) struct ClientConfigFile {
    /// Path of the file, after following links.
    pub(super) path: PathBuf,
    /// Content of the file; `None` if it does not exist.
    pub(super) content: Option<String>,
}

/// Reads a configuration file. A missing file is not an error.
pub(super) fn read(path: &Path) -> CliResult<ClientConfigFile> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |error: io::Error| CliError::io("read", &path, &error);
    let about = match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The target of a broken link may appear later, so the link is not replaced.
            if fs::symlink_metadata(&path).is_ok() {
                return Err(CliError::new(format!("{} is a broken link", path.display()))
                    .with_hint("repair or remove the link, then try again"));
            }
            return Ok(ClientConfigFile { path, content: None });
        }
        about => about.map_err(failed)?,
    };
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(CliError::new(format!("{} is not a regular file, or is too large", path.display()))
            .with_hint("use --print, and add the entry to the client's configuration yourself"));
    }
    let mut text = String::new();
    File::open(&path).map_err(failed)?.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    Ok(ClientConfigFile { path, content: Some(text) })
}

/// Returns the change in the format of `diff -u`.
pub(super) fn diff(found: &ClientConfigFile, after: &str) -> String {
    let before = found.content.as_deref().unwrap_or_default();
    let name = found.path.display().to_string();
    TextDiff::from_lines(before, after).unified_diff().context_radius(2).header(&name, &name).to_string()
}

/// Replaces the file with a text. Returns the path of the copy of the old file.
pub(super) fn replace(
    found: &ClientConfigFile,
    after: &str,
    now: jiff::Timestamp,
) -> CliResult<Option<PathBuf>> {
    let path = &found.path;
    let failed = |error: io::Error| CliError::io("write", path, &error);
    let now_there = read(path)?;
    if now_there.content != found.content {
        return Err(CliError::new(format!(
            "{} was changed by another program in the meantime; nothing was written",
            path.display()
        ))
        .with_code("changed")
        .with_hint("try again"));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let permissions = fs::metadata(path).ok().map(|about| about.permissions());
    let backup = match &found.content {
        Some(before) => {
            let backup = sibling_path(path, &format!("{}.bak", now.strftime("%Y%m%dT%H%M%SZ")));
            write(&backup, before, permissions.as_ref()).map_err(failed)?;
            Some(backup)
        }
        None => None,
    };
    write(path, after, permissions.as_ref()).map_err(failed)?;
    Ok(backup)
}

fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Writes a file atomically, with these permissions or readable only by its owner.
fn write(path: &Path, text: &str, permissions: Option<&fs::Permissions>) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions.clone())?;
    }
    file.commit()
}
