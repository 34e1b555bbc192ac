//! Keeps Toolway's own data out of reach, whatever it is called on the way to it.
//!
//! A folder or file is known by device and number, taken from its open handle. On the way down from a listed
//! folder one would have to pass the data folder itself to get into it, and is stopped there, unless one gets
//! in sideways: through a mount of something in it, or a second name (hard link) of a file in it. Both can be
//! told from the handle: it lies on another mount than the folder that the walk began in, or has more than
//! one name. Only then is it looked for in all of the data folder.

use std::io;

use cap_fs_ext::{DirExt, MetadataExt};
use cap_std::fs::{Dir, File, Metadata};

use super::error::FileAccessError;

/// How much of the data folder is searched; beyond that the answer is no.
const MAX_SEARCHED: usize = 200_000;
/// How deep.
const MAX_DEPTH: usize = 100;

/// What a file or folder is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// From what an open handle tells.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    pub(super) fn of_dir(dir: &Dir) -> io::Result<Self> {
        Ok(Self::of(&dir.dir_metadata()?))
    }
}

/// On which mount a handle lies. Only Linux tells; elsewhere a folder is not mounted a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MountId(Option<u64>);

impl MountId {
    #[cfg(target_os = "linux")]
    fn of(handle: &impl std::os::fd::AsFd) -> Self {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        let told = statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
        let told = told.filter(|told| told.stx_mask & StatxFlags::MNT_ID.bits() != 0);
        Self(told.map(|told| told.stx_mnt_id))
    }

    #[cfg(not(target_os = "linux"))]
    fn of<T>(_: &T) -> Self {
        Self(Some(0))
    }

    pub(super) fn of_dir(dir: &Dir) -> Self {
        Self::of(dir)
    }

    /// Whether it is known that both are the same.
    fn is_same(self, other: Self) -> bool {
        self.0.is_some() && self == other
    }
}

/// Where a walk began, as far as the guard needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkScope {
    /// Mount of the folder in which the walk began.
    pub(super) mount: MountId,
    /// The start folder, if it is the caller's own: the only accessible part of the data folder.
    pub(super) own_folder: Option<FileIdentity>,
}

/// Knows the data folder.
#[derive(Debug)]
pub(super) struct DataFolderGuard {
    data_dir: Dir,
    identity: FileIdentity,
}

impl DataFolderGuard {
    pub(super) fn new(data: Dir) -> io::Result<Self> {
        let identity = FileIdentity::of_dir(&data)?;
        Ok(Self { data_dir: data, identity })
    }

    /// Whether it is the data folder itself.
    pub(super) fn is_data(&self, identity: FileIdentity) -> bool {
        identity == self.identity
    }

    /// Lets a folder pass that was come to on the way.
    pub(super) fn check_dir(&self, dir: &Dir, within: WalkScope) -> Result<(), FileAccessError> {
        let identity = FileIdentity::of_dir(dir)?;
        let sideways = !MountId::of(dir).is_same(within.mount);
        if self.is_data(identity) || (sideways && self.contains(identity, within)?) {
            return Err(FileAccessError::DataFolder);
        }
        Ok(())
    }

    /// Lets a file pass that was come to.
    pub(super) fn check_file(
        &self,
        file: &File,
        metadata: &Metadata,
        within: WalkScope,
    ) -> Result<(), FileAccessError> {
        let sideways = metadata.nlink() > 1 || !MountId::of(file).is_same(within.mount);
        if sideways && self.contains(FileIdentity::of(metadata), within)? {
            return Err(FileAccessError::DataFolder);
        }
        Ok(())
    }

    /// Returns true if a folder is the data folder or inside it. Checks its parent folders.
    pub(super) fn is_under_data(&self, dir: &Dir) -> io::Result<bool> {
        let mut at = dir.try_clone()?;
        let mut identity = FileIdentity::of_dir(&at)?;
        loop {
            if self.is_data(identity) {
                return Ok(true);
            }
            let above = at.open_parent_dir(cap_std::ambient_authority())?;
            let identity_above = FileIdentity::of_dir(&above)?;
            if identity_above == identity {
                return Ok(false);
            }
            (at, identity) = (above, identity_above);
        }
    }

    /// Returns true if a folder is the data folder, is inside it, or is mounted from it. Searches the data folder.
    pub(super) fn is_of_data(&self, dir: &Dir) -> io::Result<bool> {
        let within = WalkScope { mount: MountId::of_dir(dir), own_folder: None };
        Ok(self.is_under_data(dir)? || self.contains(FileIdentity::of_dir(dir)?, within)?)
    }

    /// Whether something is in the data folder, at any depth, but for the caller's own folder.
    fn contains(&self, wanted: FileIdentity, within: WalkScope) -> io::Result<bool> {
        let mut left = MAX_SEARCHED;
        has(&self.data_dir, wanted, within.own_folder, &mut left, MAX_DEPTH)
    }
}

fn has(
    dir: &Dir,
    wanted: FileIdentity,
    own: Option<FileIdentity>,
    left: &mut usize,
    depth: usize,
) -> io::Result<bool> {
    for entry in dir.entries()? {
        let name = entry?.file_name();
        // What is not known to be somewhere else is taken to be here.
        *left = left.saturating_sub(1);
        if *left == 0 || depth == 0 {
            return Ok(true);
        }
        let metadata = match dir.symlink_metadata(&name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let identity = FileIdentity::of(&metadata);
        if identity == wanted {
            return Ok(Some(identity) != own);
        }
        if !metadata.is_dir() || Some(identity) == own {
            continue;
        }
        match dir.open_dir_nofollow(&name) {
            Ok(inner) => {
                if has(&inner, wanted, own, left, depth - 1)? {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
