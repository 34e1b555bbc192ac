//! Folders that the owner lists.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

/// A folder that the owner lists, reached as `name/…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFolder {
    /// What its paths begin with. It goes before a folder of that name in an agent's own.
    pub name: String,
    /// Where it is; absolute.
    pub path: PathBuf,
    /// Whether files in it may be written.
    pub write: bool,
}

/// Longest name of a listed folder.
const MAX_NAME: usize = 64;

/// Why folders can't be listed so.
#[derive(Debug, thiserror::Error)]
pub enum BadListedFolder {
    /// The data folder can't be opened.
    #[error("can't open the data folder {path}: {error}", path = path.display())]
    Data {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A name can't be used.
    #[error(
        "{0:?} can't be a folder's name: up to 64 letters, digits, dots, - and _, the first a letter or digit"
    )]
    Name(String),
    /// Two have the same name.
    #[error("there are two folders named {0:?}")]
    Twice(String),
    /// A path is not absolute.
    #[error("the path of folder {name:?} is not absolute: {path}", path = path.display())]
    NotAbsolute {
        /// The folder.
        name: String,
        /// Its path.
        path: PathBuf,
    },
    /// It is, or is part of, the data folder.
    #[error("folder {name:?} lies in Toolway's own data folder: {path}", path = path.display())]
    InData {
        /// The folder.
        name: String,
        /// Its path.
        path: PathBuf,
    },
}

/// Whether names and paths are fit; looks at no disk.
pub(super) fn check(folders: &[ListedFolder]) -> Result<(), BadListedFolder> {
    let mut names = HashSet::new();
    for ListedFolder { name, path, .. } in folders {
        let usable = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        let fits = name.starts_with(char::is_alphanumeric)
            && name.chars().all(usable)
            && name.chars().count() <= MAX_NAME
            // Windows does not see a dot at the end.
            && !name.ends_with('.');
        if !fits {
            return Err(BadListedFolder::Name(name.clone()));
        }
        if !names.insert(name) {
            return Err(BadListedFolder::Twice(name.clone()));
        }
        if !path.is_absolute() {
            return Err(BadListedFolder::NotAbsolute { name: name.clone(), path: path.clone() });
        }
    }
    Ok(())
}
