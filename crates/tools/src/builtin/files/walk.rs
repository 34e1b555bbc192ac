//! Walks a path from an open folder, one step at a time, each from the handle of the one before. No step
//! follows a link by itself: where it leads is read and walked in the same way, so that whoever swaps files
//! and links meanwhile can change which of the files inside is met, and nothing else.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};

use super::fault::Fault;
use super::guard::{Guard, Within};
use super::place::{Step, steps};
use super::root::{Root, private_folder};

/// Most steps of one walk, those of links included.
const MAX_STEPS: usize = 256;
/// Deepest place, which is also how many folders one walk holds open.
const MAX_DEPTH: usize = 64;

/// A walk that is under way.
pub(super) struct Walk<'a> {
    guard: &'a Guard,
    within: Within,
    /// The name that paths in its folder begin with.
    name: Option<String>,
    base: Dir,
    /// The folders on the way, from the outermost.
    way: Vec<(OsString, Dir)>,
    steps: VecDeque<Step>,
    taken: usize,
    /// How to make folders that are not there, where that is wanted.
    make: Option<DirBuilder>,
}

/// Where a path ends.
pub(super) enum End {
    /// In the folder that the walk has come to.
    Here,
    /// At this name in it, which may stand for anything or nothing.
    At(OsString),
}

impl<'a> Walk<'a> {
    pub(super) fn new(guard: &'a Guard, root: Root, steps: VecDeque<Step>) -> Self {
        let Root { dir: base, within, name } = root;
        Self { guard, within, name, base, way: Vec::new(), steps, taken: 0, make: None }
    }

    /// Makes folders that are not there.
    pub(super) fn making_folders(mut self) -> Self {
        self.make = Some(if self.is_own() { private_folder() } else { DirBuilder::new() });
        self
    }

    /// Whether it is in the caller's own folder.
    pub(super) fn is_own(&self) -> bool {
        self.within.own.is_some()
    }

    pub(super) fn within(&self) -> Within {
        self.within
    }

    /// The folder that it has come to.
    pub(super) fn dir(&self) -> &Dir {
        self.way.last().map_or(&self.base, |(_, dir)| dir)
    }

    /// The path to the folder that it has come to, and to a name in it, as callers write it.
    pub(super) fn path(&self, end: Option<&OsStr>) -> String {
        let on_the_way = self.way.iter().map(|(name, _)| name.as_os_str());
        let names = self.name.iter().map(OsStr::new).chain(on_the_way).chain(end);
        names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join("/")
    }

    /// Walks as far as the last folder.
    pub(super) fn end(&mut self) -> Result<End, Fault> {
        while let Some(step) = self.steps.pop_front() {
            self.count()?;
            match step {
                Step::Up => {
                    self.way.pop().ok_or(Fault::Outside)?;
                }
                Step::Into(name) if self.steps.is_empty() => return Ok(End::At(name)),
                Step::Into(name) => self.enter(name)?,
            }
        }
        Ok(End::Here)
    }

    /// Walks to the end, which must be a folder.
    pub(super) fn reach_folder(&mut self) -> Result<(), Fault> {
        while let End::At(name) = self.end()? {
            self.enter(name)?;
        }
        Ok(())
    }

    /// Walks to the end and opens what is there, which must be a file.
    pub(super) fn reach_file(&mut self) -> Result<(File, Metadata), Fault> {
        loop {
            let End::At(name) = self.end()? else { return Err(Fault::IsAFolder) };
            if !self.ends_at_file(&name)? {
                continue;
            }
            let mut options = OpenOptions::new();
            options.read(true);
            match self.open(&name, &mut options) {
                Err(error) if self.is_link(&name) => self.again(name, error)?,
                opened => return self.admit(opened?),
            }
        }
    }

    /// Looks at a name before anything is opened, for opening alone can have effects. True where there is a
    /// file; false where there was a link, which the walk then goes on along.
    ///
    /// # Errors
    /// [`Fault`] where there is something else, or nothing.
    pub(super) fn ends_at_file(&mut self, name: &OsStr) -> Result<bool, Fault> {
        let metadata = self.dir().symlink_metadata(name)?;
        if metadata.is_symlink() {
            self.follow(name)?;
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

    /// Lets an opened file pass: it is one, and none of Toolway's own.
    pub(super) fn admit(&self, file: File) -> Result<(File, Metadata), Fault> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(not_a_file(&metadata));
        }
        self.guard.pass_file(&file, &metadata, self.within)?;
        Ok((file, metadata))
    }

    /// Whether a name stands for a link now.
    pub(super) fn is_link(&self, name: &OsStr) -> bool {
        self.dir().symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Takes the last step again: what is there changed meanwhile.
    pub(super) fn again(&mut self, name: OsString, error: io::Error) -> Result<(), Fault> {
        self.count().map_err(|_| Fault::Io(error))?;
        self.steps.push_front(Step::Into(name));
        Ok(())
    }

    /// Goes into a folder, or along a link.
    fn enter(&mut self, name: OsString) -> Result<(), Fault> {
        let error = match self.dir().open_dir_nofollow(&name) {
            Ok(dir) => return self.go_into(name, dir),
            Err(error) => error,
        };
        match self.dir().symlink_metadata(&name) {
            Ok(metadata) if metadata.is_symlink() => self.follow(&name),
            Ok(metadata) if metadata.is_dir() => match error.kind() {
                io::ErrorKind::PermissionDenied => Err(error.into()),
                // It was something else a moment ago.
                _ => self.again(name, error),
            },
            Ok(_) if self.steps.is_empty() => Err(Fault::NotAFolder),
            Ok(_) => Err(Fault::UnderAFile),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match &self.make {
                None => Err(Fault::NotFound),
                Some(builder) => match self.dir().create_dir_with(&name, builder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
                    _ => self.again(name, error),
                },
            },
            Err(error) => Err(error.into()),
        }
    }

    fn go_into(&mut self, name: OsString, dir: Dir) -> Result<(), Fault> {
        self.guard.pass_dir(&dir, self.within)?;
        if self.way.len() >= MAX_DEPTH {
            return Err(Fault::TooManySteps);
        }
        self.way.push((name, dir));
        Ok(())
    }

    /// Puts the steps of a link before those that are left.
    fn follow(&mut self, name: &OsStr) -> Result<(), Fault> {
        let target = match self.dir().read_link_contents(name) {
            Ok(target) => target,
            // No longer a link.
            Err(error) => return self.again(name.to_owned(), error),
        };
        let mut steps = steps(&target)?;
        self.count()?;
        steps.append(&mut self.steps);
        self.steps = steps;
        Ok(())
    }

    fn count(&mut self) -> Result<(), Fault> {
        self.taken += 1;
        if self.taken > MAX_STEPS { Err(Fault::TooManySteps) } else { Ok(()) }
    }
}

fn not_a_file(metadata: &Metadata) -> Fault {
    if metadata.is_dir() { Fault::IsAFolder } else { Fault::Special }
}
