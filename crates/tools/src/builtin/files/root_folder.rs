//! Opening the folder that a path begins in.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder};

use super::data_folder_guard::{FileIdentity, MountId, WalkScope};
use super::error::FileAccessError;
use super::parsed_path::PathStart;
use super::{FILES, FileAccess, ListedFolder};

/// The folder that a path begins in, opened.
#[derive(Debug)]
pub(super) struct RootFolder {
    pub(super) dir: Dir,
    pub(super) within: WalkScope,
    /// The name that its paths begin with, where the owner lists it.
    pub(super) name: Option<String>,
}

impl FileAccess {
    /// Opens the folder for reading.
    ///
    /// # Errors
    /// [`FileAccessError::NotFound`] if the folder does not exist. The caller's own folder is created by the first write.
    pub(super) fn open_root(
        &self,
        agent: Option<&str>,
        start: PathStart,
    ) -> Result<RootFolder, FileAccessError> {
        match start {
            PathStart::AgentFolder => self.open_own(agent, false),
            PathStart::ListedFolder(place) => self.open_listed(place).map(|(root, _)| root),
        }
    }

    /// Opens the folder for writing. Creates the caller's own folder if it does not exist.
    ///
    /// # Errors
    /// [`FileAccessError::ReadOnlyFolder`] if the owner has not set `write = true` for it.
    pub(super) fn open_root_to_write(
        &self,
        agent: Option<&str>,
        start: PathStart,
    ) -> Result<RootFolder, FileAccessError> {
        match start {
            PathStart::AgentFolder => self.open_own(agent, true),
            PathStart::ListedFolder(place) => match self.open_listed(place)? {
                (root, folder) if folder.write => Ok(root),
                (_, folder) => Err(FileAccessError::ReadOnlyFolder(folder.name.clone())),
            },
        }
    }

    fn open_own(&self, agent: Option<&str>, make: bool) -> Result<RootFolder, FileAccessError> {
        let files = open_private(&self.data_dir, FILES, make)?;
        let dir = open_private(&files, &self.agent_folders.folder_of(agent), make)?;
        let within =
            WalkScope { mount: MountId::of_dir(&dir), own_folder: Some(FileIdentity::of_dir(&dir)?) };
        Ok(RootFolder { dir, within, name: None })
    }

    fn open_listed(&self, place: usize) -> Result<(RootFolder, &ListedFolder), FileAccessError> {
        let folder = self.folders.get(place).ok_or(FileAccessError::NotFound)?;
        let dir = Dir::open_ambient_dir(&folder.path, ambient_authority())?;
        let (identity, mount) = (FileIdentity::of_dir(&dir)?, MountId::of_dir(&dir));
        let known = self.vetted.lock().get(place).copied().flatten();
        if known != Some((identity, mount)) {
            if self.guard.is_of_data(&dir)? {
                return Err(FileAccessError::DataFolder);
            }
            if let Some(known) = self.vetted.lock().get_mut(place) {
                *known = Some((identity, mount));
            }
        }
        let within = WalkScope { mount, own_folder: None };
        Ok((RootFolder { dir, within, name: Some(folder.name.clone()) }, folder))
    }
}

/// Opens a folder that only the owner can read. Creates it if `make` is true and it does not exist.
pub(super) fn open_private(dir: &Dir, name: &str, make: bool) -> io::Result<Dir> {
    match dir.open_dir_nofollow(name) {
        Err(error) if make && error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    match dir.create_dir_with(name, &private_folder()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => dir.open_dir_nofollow(name),
    }
}

/// Creates folders that only the owner can read.
pub(super) fn private_folder() -> DirBuilder {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
