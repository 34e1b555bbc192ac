//! Overwriting: a new file beside the old takes its name once it is complete and on the disk. It keeps the
//! old one's mode; it belongs to the user that Toolway runs as.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::super::blocking_task::{StopCheck, check_not_stopped};
use super::super::error::FileAccessError;
use super::super::path_walk::{PathWalk, WalkEnd};
use super::{check_writable_file, new_file};

/// How much is written at a time.
const CHUNK: usize = 256 << 10;

/// Gives the file at the end of the walk this content; the path of the file, without links.
pub(super) fn overwrite(
    mut walk: PathWalk<'_>,
    content: &[u8],
    unique: &str,
    stopped: StopCheck<'_>,
) -> Result<String, FileAccessError> {
    loop {
        let WalkEnd::Name(name) = walk.walk_to_parent()? else { return Err(FileAccessError::IsFolder) };
        let before = match walk.ends_at_file(&name) {
            Ok(true) => match existing(&walk, &name) {
                Err(FileAccessError::Io(error)) if walk.is_link(&name) => {
                    walk.retry_step(name, error)?;
                    continue;
                }
                // Gone meanwhile.
                Err(FileAccessError::NotFound) => None,
                other => Some(other?),
            },
            Ok(false) => continue,
            Err(FileAccessError::NotFound) => None,
            Err(fault) => return Err(fault),
        };
        let mut new = TemporaryFile::create(&walk, unique)?;
        new.write_content(content, before.as_ref(), stopped)?;
        new.rename_to(&name)?;
        return Ok(walk.path(Some(&name)));
    }
}

/// What is there, which must be a file that may be written.
fn existing(walk: &PathWalk<'_>, name: &OsStr) -> Result<Metadata, FileAccessError> {
    // Opened to be asked whether it may be, not to be written.
    let file = walk.open(name, OpenOptions::new().write(true))?;
    check_writable_file(walk, file).map(|(_, metadata)| metadata)
}

/// Temporary file that is removed on drop, unless it was renamed to its final name.
struct TemporaryFile<'a> {
    dir: &'a Dir,
    name: String,
    file: File,
    is_named: bool,
}

impl<'a> TemporaryFile<'a> {
    fn create(walk: &'a PathWalk<'_>, unique: &str) -> io::Result<Self> {
        let name = format!(".toolway-{unique}.part");
        let mut options = new_file(walk);
        let file = walk.open(OsStr::new(&name), options.write(true).create_new(true))?;
        Ok(Self { dir: walk.dir(), name, file, is_named: false })
    }

    fn write_content(
        &mut self,
        content: &[u8],
        before: Option<&Metadata>,
        stopped: StopCheck<'_>,
    ) -> Result<(), FileAccessError> {
        for chunk in content.chunks(CHUNK) {
            check_not_stopped(stopped)?;
            self.file.write_all(chunk)?;
        }
        if let Some(before) = before {
            keep_mode(&self.file, before)?;
        }
        self.file.sync_all()?;
        check_not_stopped(stopped)
    }

    fn rename_to(mut self, name: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)?;
        self.is_named = true;
        // So that the name is on the disk too. Not every file system does that for a folder.
        if let Ok(dir) = self.dir.open(".") {
            let _ = dir.sync_all();
        }
        Ok(())
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

/// Who may read, write and run it stays as it was; that it runs as somebody else does not.
fn keep_mode(file: &File, before: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt;
        let mode = before.permissions().mode() & 0o777;
        file.set_permissions(cap_std::fs::Permissions::from_mode(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, before);
        Ok(())
    }
}
