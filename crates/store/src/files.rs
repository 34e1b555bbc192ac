//! Creates the data folder and its files with private permissions, and checks that a file is a database of
//! Toolway before SQLite opens it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use toolway_files::private_file;

use crate::error::StoreError;
use crate::migrations::APPLICATION_ID;

/// The database's file name in the data folder.
pub(crate) const DATABASE: &str = "toolway.db";
/// Folder for the copies made before upgrades.
pub(crate) const BACKUPS: &str = "backups";

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Kind of a database file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DatabaseFile {
    /// The file does not exist or is empty.
    Empty,
    /// A database of Toolway, with the schema version from its header. The write-ahead log may contain a
    /// newer version.
    Ours {
        /// Schema version.
        version: i64,
    },
}

/// Inspects the first bytes of a file without SQLite, which might change files beside it.
///
/// # Errors
/// Fails if the file can't be read, is not a database, or belongs to another program.
pub(crate) fn inspect_file(path: &Path) -> Result<DatabaseFile, StoreError> {
    let mut head = Vec::with_capacity(100);
    match File::open(path) {
        Ok(file) => file.take(100).read_to_end(&mut head).map_err(StoreError::io("read", path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DatabaseFile::Empty),
        Err(error) => return Err(StoreError::io("read", path)(error)),
    };
    if head.is_empty() {
        return Ok(DatabaseFile::Empty);
    }
    if !head.starts_with(MAGIC) {
        return Err(StoreError::NotADatabase { path: path.to_owned() });
    }
    let number = |at: usize| -> Option<u32> {
        let bytes = head.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    match (number(60), number(68)) {
        (Some(version), Some(APPLICATION_ID)) => Ok(DatabaseFile::Ours { version: i64::from(version) }),
        (Some(_), Some(_)) => Err(StoreError::ForeignDatabase { path: path.to_owned() }),
        _ => Err(StoreError::NotADatabase { path: path.to_owned() }),
    }
}

/// Creates a folder that only its owner can enter. An existing folder is not changed.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreError> {
    private_file::create_folder(path).map_err(StoreError::io("create", path))
}

/// Creates an empty file that only its owner can read, or restricts an existing one. SQLite gives the files
/// beside a database (`-wal`, `-shm`) the database's own mode.
pub(crate) fn create_private_file(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private_file::open(&mut options, path).map_err(StoreError::io("create", path))?;
    private_file::restrict(path).map_err(StoreError::io("restrict", path))
}

/// Makes a database and the files beside it readable only by their owner.
pub(crate) fn restrict_database(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        let beside = with_suffix(path, suffix);
        if beside.exists() {
            private_file::restrict(&beside).map_err(StoreError::io("restrict", &beside))?;
        }
    }
    Ok(())
}

/// Appends a suffix to a path.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Syncs a file's content and its name to disk.
pub(crate) fn sync(path: &Path) -> Result<(), StoreError> {
    let file = OpenOptions::new().write(true).open(path).map_err(StoreError::io("open", path))?;
    file.sync_all().map_err(StoreError::io("sync", path))
}

/// A temporary file. Dropping it removes the file and the files that SQLite put beside it, unless it was
/// persisted.
#[derive(Debug)]
pub(crate) struct ScratchFile(Option<PathBuf>);

impl ScratchFile {
    /// Creates an empty private file. A file from an earlier attempt is replaced.
    pub(crate) fn new(path: PathBuf) -> Result<Self, StoreError> {
        remove_with_companions(&path);
        create_private_file(&path)?;
        Ok(Self(Some(path)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Renames the finished file to its final name.
    pub(crate) fn persist_as(mut self, to: &Path) -> Result<(), StoreError> {
        if let Some(path) = self.0.take()
            && let Err(error) = private_file::rename(&path, to)
        {
            self.0 = Some(path);
            return Err(StoreError::io("create", to)(error));
        }
        Ok(())
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            remove_with_companions(path);
        }
    }
}

fn remove_with_companions(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Most of these files do not exist. If one cannot be removed, creating it fails later.
        let _ = fs::remove_file(with_suffix(path, suffix));
    }
}
