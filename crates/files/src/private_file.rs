//! Private files (mode 0600) and folders (0700), written so that a reader sees the old content or the new, never a part.
//!
//! On systems without Unix permissions, a new file has the permissions of its folder.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Replaces a file's content atomically. The file has mode 0600 afterwards, and survives a crash of the system.
///
/// A symbolic link at `path` is replaced, not followed. To write to the link's target, pass its canonical path.
///
/// # Errors
/// The file system's error. The old file is then unchanged.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(content)?;
    file.commit()
}

/// Writes a file (0600) that must not exist yet. It appears with all of its content.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is a file, else the file system's error.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(content)?;
    file.commit_new()
}

/// Creates an empty file (0600) that must not exist yet.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is a file, else the file system's error.
pub fn create_new(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true), path)
}

/// Opens a file. If the options create it, it has mode 0600.
///
/// # Errors
/// The file system's error.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Renames a file over another, and makes the new name survive a crash of the system.
///
/// # Errors
/// The file system's error.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(folder_of(to))
}

/// Removes a file, and makes this survive a crash of the system.
///
/// # Errors
/// The file system's error.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    sync_folder(folder_of(path))
}

/// Creates a folder (0700) and its missing parents. An existing folder keeps its permissions.
///
/// # Errors
/// The file system's error.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes the rights of the group and of others from an existing file, and the right to execute it.
///
/// # Errors
/// The file system's error.
pub fn restrict(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = fs::metadata(path)?.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(permissions.mode() & 0o600);
            fs::set_permissions(path, permissions)?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// A new private file under a temporary name, for content that is written in parts. [`AtomicFile::commit`] gives it its
/// real name; if it is dropped before that, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file in the folder of `target`: renaming is atomic only within one file system.
    ///
    /// # Errors
    /// The file system's error.
    pub fn create(target: &Path) -> io::Result<Self> {
        // Hidden and without an extension, so that no reader of a folder takes it for one of its files.
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        prefix.push(".new-");
        // Unix: `tempfile` creates files with mode 0600, from the first byte on.
        let temporary = NamedTempFile::with_prefix_in(prefix, folder_of(target))?;
        Ok(Self { temporary, target: target.to_owned() })
    }

    /// The open file.
    pub fn file_mut(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Gives the file other permissions than 0600.
    ///
    /// # Errors
    /// The file system's error.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.temporary.as_file().set_permissions(permissions)
    }

    /// Replaces the target with this file.
    ///
    /// # Errors
    /// The file system's error. The target is then unchanged, and the temporary file is removed.
    pub fn commit(self) -> io::Result<()> {
        self.commit_with(File::sync_all, sync_folder)
    }

    /// Replaces the target: first the content is on the disk, then the new name.
    fn commit_with(
        self,
        sync_content: impl FnOnce(&File) -> io::Result<()>,
        sync_names: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        sync_content(self.temporary.as_file())?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        sync_names(folder_of(&self.target))
    }

    /// Gives this file the target's name, if nothing has that name.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something has the name, else the file system's error. The temporary file is
    /// then removed.
    pub fn commit_new(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist_noclobber(&self.target).map_err(|error| error.error)?;
        sync_folder(folder_of(&self.target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

/// The folder that contains a path. A bare name is in the current folder.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a folder's names to the disk, so that a renamed file keeps its name after a crash.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows cannot sync a folder, and does not need it.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests;
