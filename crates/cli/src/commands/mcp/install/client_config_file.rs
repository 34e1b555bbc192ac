//! A client's own file: read whole, replaced whole with a copy of what was there beside it, links followed, its
//! permissions kept.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use similar::TextDiff;
use toolway_files::private_file::AtomicFile;

use crate::error::{CliError, CliResult};

/// No such file is longer, in bytes: some clients keep much else in it.
const MAX_FILE: u64 = 64 << 20;

/// A file as it was found.
#[derive(Debug)]
pub(super) struct ClientConfigFile {
    /// Where it is, links followed.
    pub(super) path: PathBuf,
    /// What is in it; none where it is not there.
    pub(super) content: Option<String>,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> CliResult<ClientConfigFile> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let failed = |error: io::Error| CliError::io("read", &path, &error);
    let about = match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link that leads nowhere is somebody's who may put something there.
            if fs::symlink_metadata(&path).is_ok() {
                return Err(CliError::new(format!("{} is a link to nothing", path.display()))
                    .with_hint("mend or remove the link, then try again"));
            }
            return Ok(ClientConfigFile { path, content: None });
        }
        about => about.map_err(failed)?,
    };
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(CliError::new(format!("{} is not a file that can be changed", path.display()))
            .with_hint("--print shows the entry, to be put where the client wants it"));
    }
    let mut text = String::new();
    File::open(&path).map_err(failed)?.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    Ok(ClientConfigFile { path, content: Some(text) })
}

/// What changes, as `diff -u` shows it.
pub(super) fn diff(found: &ClientConfigFile, after: &str) -> String {
    let before = found.content.as_deref().unwrap_or_default();
    let name = found.path.display().to_string();
    TextDiff::from_lines(before, after).unified_diff().context_radius(2).header(&name, &name).to_string()
}

/// Puts a text in the file's place. Gives the copy of what was there.
pub(super) fn replace(
    found: &ClientConfigFile,
    after: &str,
    now: jiff::Timestamp,
) -> CliResult<Option<PathBuf>> {
    let path = &found.path;
    let failed = |error: io::Error| CliError::io("write", path, &error);
    let now_there = read(path)?;
    if now_there.content != found.content {
        return Err(CliError::new(format!("{} has changed meanwhile; nothing was written", path.display()))
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

/// Writes a file atomically, with these permissions or for its owner alone.
fn write(path: &Path, text: &str, permissions: Option<&fs::Permissions>) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions.clone())?;
    }
    file.commit()
}
