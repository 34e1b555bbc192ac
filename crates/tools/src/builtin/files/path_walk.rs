//! Walks a path from an open folder. Each component is opened from the handle of its parent. The system follows no
//! links: the target of a link is read and walked in the same way. If somebody replaces files or links at the same
//! time, the walk can reach another file inside the folder, but never one outside.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};

use super::data_folder_guard::{DataFolderGuard, WalkScope};
use super::error::FileAccessError;
use super::parsed_path::{PathStep, steps};
use super::root_folder::{RootFolder, private_folder};

/// Maximum number of steps of one walk, including those of links.
const MAX_STEPS: usize = 256;
/// Maximum depth, and so the maximum number of folders that one walk keeps open.
const MAX_DEPTH: usize = 64;

/// State of a walk.
pub(super) struct PathWalk<'a> {
    guard: &'a DataFolderGuard,
    within: WalkScope,
    /// Name of the listed folder, the first component of its paths.
    name: Option<String>,
    base: Dir,
    /// Open folders on the path, the outermost first.
    ancestors: Vec<(OsString, Dir)>,
    steps: VecDeque<PathStep>,
    step_count: usize,
    /// Creates missing folders, if this is allowed.
    create_folders: Option<DirBuilder>,
}

/// End of a walked path.
pub(super) enum WalkEnd {
    /// The current folder itself.
    CurrentFolder,
    /// This name in the current folder. It may be of any kind, or missing.
    Name(OsString),
}

impl<'a> PathWalk<'a> {
    pub(super) fn new(guard: &'a DataFolderGuard, root: RootFolder, steps: VecDeque<PathStep>) -> Self {
        let RootFolder { dir: base, within, name } = root;
        Self { guard, within, name, base, ancestors: Vec::new(), steps, step_count: 0, create_folders: None }
    }

    /// Makes folders that are not there.
    pub(super) fn create_missing_folders(mut self) -> Self {
        self.create_folders = Some(if self.is_own() { private_folder() } else { DirBuilder::new() });
        self
    }

    /// Whether it is in the caller's own folder.
    pub(super) fn is_own(&self) -> bool {
        self.within.own_folder.is_some()
    }

    pub(super) fn within(&self) -> WalkScope {
        self.within
    }

    /// The folder that it has come to.
    pub(super) fn dir(&self) -> &Dir {
        self.ancestors.last().map_or(&self.base, |(_, dir)| dir)
    }

    /// The path to the folder that it has come to, and to a name in it, as callers write it.
    pub(super) fn path(&self, end: Option<&OsStr>) -> String {
        let on_the_way = self.ancestors.iter().map(|(name, _)| name.as_os_str());
        let names = self.name.iter().map(OsStr::new).chain(on_the_way).chain(end);
        names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join("/")
    }

    /// Walks as far as the last folder.
    pub(super) fn walk_to_parent(&mut self) -> Result<WalkEnd, FileAccessError> {
        while let Some(step) = self.steps.pop_front() {
            self.count_step()?;
            match step {
                PathStep::Parent => {
                    self.ancestors.pop().ok_or(FileAccessError::OutsideFolders)?;
                }
                PathStep::Child(name) if self.steps.is_empty() => return Ok(WalkEnd::Name(name)),
                PathStep::Child(name) => self.enter(name)?,
            }
        }
        Ok(WalkEnd::CurrentFolder)
    }

    /// Walks to the end, which must be a folder.
    pub(super) fn reach_folder(&mut self) -> Result<(), FileAccessError> {
        while let WalkEnd::Name(name) = self.walk_to_parent()? {
            self.enter(name)?;
        }
        Ok(())
    }

    /// Walks to the end and opens what is there, which must be a file.
    pub(super) fn reach_file(&mut self) -> Result<(File, Metadata), FileAccessError> {
        loop {
            let WalkEnd::Name(name) = self.walk_to_parent()? else { return Err(FileAccessError::IsFolder) };
            if !self.ends_at_file(&name)? {
                continue;
            }
            let mut options = OpenOptions::new();
            options.read(true);
            match self.open(&name, &mut options) {
                Err(error) if self.is_link(&name) => self.retry_step(name, error)?,
                opened => return self.check_file(opened?),
            }
        }
    }

    /// Checks a name before it is opened, because opening can have side effects. Returns true for a file. Returns false
    /// for a link; the walk then continues at its target.
    ///
    /// # Errors
    /// [`FileAccessError`] if it is not a file or does not exist.
    pub(super) fn ends_at_file(&mut self, name: &OsStr) -> Result<bool, FileAccessError> {
        let metadata = self.dir().symlink_metadata(name)?;
        if metadata.is_symlink() {
            self.follow_link(name)?;
            return Ok(false);
        }
        if metadata.is_dir() {
            // Which of the two refusals it gets depends on which folder it is.
            self.enter(name.to_owned())?;
        }
        if metadata.is_file() { Ok(true) } else { Err(not_a_file(&metadata)) }
    }

    /// Opens a name in the folder that it has come to, never following a link nor waiting for the other end
    /// of a pipe.
    pub(super) fn open(&self, name: &OsStr, options: &mut OpenOptions) -> io::Result<File> {
        options.follow(FollowSymlinks::No);
        #[cfg(unix)]
        cap_fs_ext::OpenOptionsSyncExt::nonblock(options, true);
        self.dir().open_with(name, options)
    }

    /// Checks that an opened file is a regular file and not part of the data folder.
    pub(super) fn check_file(&self, file: File) -> Result<(File, Metadata), FileAccessError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(not_a_file(&metadata));
        }
        self.guard.check_file(&file, &metadata, self.within)?;
        Ok((file, metadata))
    }

    /// Whether a name stands for a link now.
    pub(super) fn is_link(&self, name: &OsStr) -> bool {
        self.dir().symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Takes the last step again: what is there changed meanwhile.
    pub(super) fn retry_step(&mut self, name: OsString, error: io::Error) -> Result<(), FileAccessError> {
        self.count_step().map_err(|_| FileAccessError::Io(error))?;
        self.steps.push_front(PathStep::Child(name));
        Ok(())
    }

    /// Goes into a folder, or along a link.
    fn enter(&mut self, name: OsString) -> Result<(), FileAccessError> {
        let error = match self.dir().open_dir_nofollow(&name) {
            Ok(dir) => return self.go_into(name, dir),
            Err(error) => error,
        };
        match self.dir().symlink_metadata(&name) {
            Ok(metadata) if metadata.is_symlink() => self.follow_link(&name),
            Ok(metadata) if metadata.is_dir() => match error.kind() {
                io::ErrorKind::PermissionDenied => Err(error.into()),
                // It was something else a moment ago.
                _ => self.retry_step(name, error),
            },
            Ok(_) if self.steps.is_empty() => Err(FileAccessError::NotFolder),
            Ok(_) => Err(FileAccessError::ParentIsFile),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match &self.create_folders {
                None => Err(FileAccessError::NotFound),
                Some(builder) => match self.dir().create_dir_with(&name, builder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
                    _ => self.retry_step(name, error),
                },
            },
            Err(error) => Err(error.into()),
        }
    }

    fn go_into(&mut self, name: OsString, dir: Dir) -> Result<(), FileAccessError> {
        self.guard.check_dir(&dir, self.within)?;
        if self.ancestors.len() >= MAX_DEPTH {
            return Err(FileAccessError::TooManySteps);
        }
        self.ancestors.push((name, dir));
        Ok(())
    }

    /// Puts the steps of a link before those that are left.
    fn follow_link(&mut self, name: &OsStr) -> Result<(), FileAccessError> {
        let target = match self.dir().read_link_contents(name) {
            Ok(target) => target,
            // No longer a link.
            Err(error) => return self.retry_step(name.to_owned(), error),
        };
        let mut steps = steps(&target)?;
        self.count_step()?;
        steps.append(&mut self.steps);
        self.steps = steps;
        Ok(())
    }

    fn count_step(&mut self) -> Result<(), FileAccessError> {
        self.step_count += 1;
        if self.step_count > MAX_STEPS { Err(FileAccessError::TooManySteps) } else { Ok(()) }
    }
}

fn not_a_file(metadata: &Metadata) -> FileAccessError {
    if metadata.is_dir() { FileAccessError::IsFolder } else { FileAccessError::SpecialFile }
}
