//! `read_file`, `write_file` and `list_files`, and the fence around them ([`FileAccess`]).
//!
//! A path is relative to `files/shared` in the data folder (`files/{agent}` for agents with a folder of their own), or
//! begins with the name of a folder that the owner lists. Each component of the path is opened separately, starting at an open handle of that folder (`path_walk`). The system
//! follows no links; the target of a link is opened in the same way. Every opened file or folder is compared with the
//! data folder by its identity, not by its name (`data_folder_guard`). So no other spelling, link or mount leads into the data
//! folder.

mod agent_folder;
mod blocking_task;
mod data_folder_guard;
mod encodings;
mod error;
mod folder_merge;
mod list_files;
mod listed_folder;
mod page;
mod parsed_path;
mod path_walk;
mod read_file;
mod root_folder;
mod signature;
mod write_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolway_core::{SpecError, Tool};

use data_folder_guard::{DataFolderGuard, FileIdentity, MountId};

pub use agent_folder::{AgentFolders, folder_name};
pub use folder_merge::{MergedFolder, merge_agent_folders};
pub use listed_folder::{BadListedFolder, ListedFolder};

/// Folder below the data folder that contains the shared folder and the agents' own folders.
const FILES: &str = "files";

/// Which files may be read and written, and by whom.
#[derive(Debug)]
pub struct FileAccess {
    /// Where the data folder is, as it was given and without links, both absolute.
    data_paths: Vec<PathBuf>,
    data_dir: Dir,
    guard: DataFolderGuard,
    folders: Vec<ListedFolder>,
    agent_folders: AgentFolders,
    /// What each listed folder was when it was last found not to be of the data folder.
    vetted: Mutex<Vec<Option<(FileIdentity, MountId)>>>,
    /// Turns of threads that work on files.
    threads: Arc<Semaphore>,
}

impl FileAccess {
    /// Access to the shared folder under the data folder and to the folders that the owner lists. A
    /// listed folder need not be there now. Touches the disk.
    ///
    /// # Errors
    /// [`BadListedFolder`] if the data folder can't be opened or a listed folder is invalid: its name is invalid or
    /// duplicate, its path is not absolute, or it is inside the data folder.
    pub fn new(data_folder: &Path, folders: Vec<ListedFolder>) -> Result<Self, BadListedFolder> {
        let unreadable = |error| BadListedFolder::Data { path: data_folder.to_owned(), error };
        let mut data_paths = vec![std::path::absolute(data_folder).map_err(unreadable)?];
        let canonical = data_folder.canonicalize().map_err(unreadable)?;
        if !data_paths.contains(&canonical) {
            data_paths.push(canonical);
        }
        let data = Dir::open_ambient_dir(data_folder, ambient_authority()).map_err(unreadable)?;
        let guard = DataFolderGuard::new(data.try_clone().map_err(unreadable)?).map_err(unreadable)?;
        listed_folder::check(&folders)?;
        for ListedFolder { name, path, .. } in &folders {
            let by_name = data_paths.iter().any(|data| path.starts_with(data));
            // One that can't be looked at now is looked at when it is used.
            let opened = Dir::open_ambient_dir(path, ambient_authority());
            if by_name || opened.and_then(|dir| guard.is_under_data(&dir)).unwrap_or(false) {
                return Err(BadListedFolder::InData { name: name.clone(), path: path.clone() });
            }
        }
        let vetted = Mutex::new(vec![None; folders.len()]);
        let threads = Arc::new(Semaphore::new(blocking_task::MAX_THREADS));
        Ok(Self {
            data_paths,
            data_dir: data,
            guard,
            folders,
            agent_folders: AgentFolders::default(),
            vetted,
            threads,
        })
    }

    /// Gives these agents folders of their own.
    #[must_use]
    pub fn with_agent_folders(self, agent_folders: AgentFolders) -> Self {
        Self { agent_folders, ..self }
    }

    /// The folders that the owner lists.
    #[must_use]
    pub fn folders(&self) -> &[ListedFolder] {
        &self.folders
    }
}

/// `read_file`.
pub(super) fn read_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    read_file::tool(access)
}

/// `write_file`.
pub(super) fn write_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    write_file::tool(access)
}

/// `list_files`.
pub(super) fn list_tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    list_files::tool(access)
}

#[cfg(test)]
mod tests;
