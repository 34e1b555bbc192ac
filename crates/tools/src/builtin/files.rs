//! `read_file`, `write_file` and `list_files`, and the fence around them ([`FileAccess`]).
//!
//! A path is relative to the calling agent's own folder, `files/{agent}` in the data folder (`files/shared`
//! for calls outside an agent), or begins with the name of a folder that the owner lists. It is walked one
//! step at a time from an open handle of that folder ([`walk`]), each step refusing to follow a link by
//! itself; where a link leads is walked just so. What is opened is compared by its identity, not by its name,
//! with the data folder ([`guard`]), so nothing in there is reached under another spelling, through a link or
//! through a mount.

mod agent;
mod blocking;
mod encodings;
mod fault;
mod folder;
mod guard;
mod list;
mod page;
mod place;
mod read;
mod root;
mod signature;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolway_core::{BadSpec, Tool};

use guard::{Guard, Identity, Mount};

pub use agent::folder_name;
pub use folder::{BadFolder, Folder};

/// Where the agents' own folders are, under the data folder.
const FILES: &str = "files";

/// Which files may be read and written, and by whom.
#[derive(Debug)]
pub struct FileAccess {
    /// Where the data folder is, as it was given and without links, both absolute.
    data_paths: Vec<PathBuf>,
    data: Dir,
    guard: Guard,
    folders: Vec<Folder>,
    /// What each listed folder was when it was last found not to be of the data folder.
    vetted: Mutex<Vec<Option<(Identity, Mount)>>>,
    /// Turns of threads that work on files.
    threads: Arc<Semaphore>,
}

impl FileAccess {
    /// Access to the agents' own folders under the data folder and to the folders that the owner lists. A
    /// listed folder need not be there now. Touches the disk.
    ///
    /// # Errors
    /// [`BadFolder`] where the data folder can't be opened, or a listed folder can't be one: its name is not
    /// fit or given twice, its path is not absolute, or it lies in the data folder.
    pub fn new(data_folder: &Path, folders: Vec<Folder>) -> Result<Self, BadFolder> {
        let unreadable = |error| BadFolder::Data { path: data_folder.to_owned(), error };
        let mut data_paths = vec![std::path::absolute(data_folder).map_err(unreadable)?];
        let canonical = data_folder.canonicalize().map_err(unreadable)?;
        if !data_paths.contains(&canonical) {
            data_paths.push(canonical);
        }
        let data = Dir::open_ambient_dir(data_folder, ambient_authority()).map_err(unreadable)?;
        let guard = Guard::new(data.try_clone().map_err(unreadable)?).map_err(unreadable)?;
        folder::check(&folders)?;
        for Folder { name, path, .. } in &folders {
            let by_name = data_paths.iter().any(|data| path.starts_with(data));
            // One that can't be looked at now is looked at when it is used.
            let opened = Dir::open_ambient_dir(path, ambient_authority());
            if by_name || opened.and_then(|dir| guard.is_under_data(&dir)).unwrap_or(false) {
                return Err(BadFolder::InData { name: name.clone(), path: path.clone() });
            }
        }
        let vetted = Mutex::new(vec![None; folders.len()]);
        let threads = Arc::new(Semaphore::new(blocking::THREADS));
        Ok(Self { data_paths, data, guard, folders, vetted, threads })
    }

    /// The folders that the owner lists.
    #[must_use]
    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }
}

/// `read_file`.
pub(super) fn read_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, BadSpec> {
    read::tool(access)
}

/// `write_file`.
pub(super) fn write_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, BadSpec> {
    write::tool(access)
}

/// `list_files`.
pub(super) fn list_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, BadSpec> {
    list::tool(access)
}

#[cfg(test)]
mod tests;
