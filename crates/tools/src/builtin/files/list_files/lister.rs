//! Goes through a folder, and with `recursive` the folders in it, within bounds: of what it holds, of how much it
//! looks at, of how deep it goes.

use std::collections::BinaryHeap;
use std::ffi::OsString;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use super::super::blocking_task::{StopCheck, check_not_stopped};
use super::super::data_folder_guard::{DataFolderGuard, FileIdentity, WalkScope};
use super::super::error::FileAccessError;
use super::{FileKind, FolderEntry, FolderListing, MAX_LIMIT};

/// How many names are looked at.
const MAX_EXAMINED: u64 = 500_000;
/// How many folders deep.
const MAX_DEPTH: usize = 32;

/// Gathers entries until there is no room for more.
pub(super) struct FolderLister<'a> {
    guard: &'a DataFolderGuard,
    /// What folders in the folder must lie in.
    pub(super) within: Option<WalkScope>,
    limit: usize,
    recursive: bool,
    stopped: StopCheck<'a>,
    /// Names at the top that stand for something else.
    pub(super) hidden: Vec<OsString>,
    entries: Vec<FolderEntry>,
    left_out: u64,
    examined: u64,
    /// Folders that were not looked into.
    unopened: u64,
}

impl<'a> FolderLister<'a> {
    pub(super) fn new(
        guard: &'a DataFolderGuard,
        limit: usize,
        recursive: bool,
        stopped: StopCheck<'a>,
    ) -> Self {
        Self {
            guard,
            within: None,
            limit,
            recursive,
            stopped,
            hidden: Vec::new(),
            entries: Vec::new(),
            left_out: 0,
            examined: 0,
            unopened: 0,
        }
    }

    pub(super) fn push(&mut self, entry: FolderEntry) {
        if self.entries.len() < self.limit {
            self.entries.push(entry);
        } else {
            self.left_out += 1;
        }
    }

    /// Lists a folder, and with `recursive` what is in its folders, each before what comes after it.
    pub(super) fn list(&mut self, dir: &Dir, prefix: &str, depth: usize) -> Result<(), FileAccessError> {
        for name in self.first_names(dir, depth)? {
            check_not_stopped(self.stopped)?;
            // Gone meanwhile.
            let Ok(metadata) = dir.symlink_metadata(&name) else { continue };
            if self.guard.is_data(FileIdentity::of(&metadata)) {
                continue;
            }
            let shown = format!("{prefix}{}", name.to_string_lossy());
            let entry = FolderEntry::new(shown.clone(), &metadata);
            let is_folder = entry.kind == FileKind::Folder;
            self.push(entry);
            if self.recursive && is_folder {
                self.list_inner(dir, &name, &shown, depth)?;
            }
        }
        Ok(())
    }

    /// Lists a folder in a folder, unless there is no room for it, or it may not be looked into.
    fn list_inner(
        &mut self,
        dir: &Dir,
        name: &OsString,
        shown: &str,
        depth: usize,
    ) -> Result<(), FileAccessError> {
        let is_full = self.entries.len() >= self.limit || self.examined >= MAX_EXAMINED;
        if is_full || depth + 1 >= MAX_DEPTH {
            self.unopened += 1;
            return Ok(());
        }
        let passed = match (dir.open_dir_nofollow(name), self.within) {
            (Ok(inner), Some(within)) => self.guard.check_dir(&inner, within).map(|()| inner),
            (Ok(_), None) => Err(FileAccessError::OutsideFolders),
            (Err(error), _) => Err(error.into()),
        };
        let listed = passed.and_then(|inner| self.list(&inner, &format!("{shown}/"), depth + 1));
        match listed {
            Err(FileAccessError::Stopped) => Err(FileAccessError::Stopped),
            Err(_) => {
                self.unopened += 1;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// The first names of a folder by their order, as many as there is room for. Holds no more of them than
    /// that, however many there are.
    fn first_names(&mut self, dir: &Dir, depth: usize) -> Result<Vec<OsString>, FileAccessError> {
        let room = self.limit.saturating_sub(self.entries.len());
        let mut first = BinaryHeap::new();
        for entry in dir.entries()? {
            self.examined += 1;
            if self.examined > MAX_EXAMINED {
                self.unopened += 1;
                break;
            }
            if self.examined.is_multiple_of(256) {
                check_not_stopped(self.stopped)?;
            }
            let name = entry?.file_name();
            if depth == 0 && self.hidden.contains(&name) {
                continue;
            }
            first.push(name);
            if first.len() > room {
                first.pop();
                self.left_out += 1;
            }
        }
        Ok(first.into_sorted_vec())
    }

    pub(super) fn finish(self, path: String) -> FolderListing {
        let Self { entries, left_out, unopened, limit, .. } = self;
        let mut notes = Vec::new();
        if left_out > 0 {
            let more = if (limit as u64) < MAX_LIMIT { ", or raise limit" } else { "" };
            notes.push(format!("{left_out} entries are left out: list a folder below{more}."));
        }
        if unopened > 0 {
            notes.push(format!("{unopened} folders were not looked into: list them by themselves."));
        }
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        FolderListing { path, entries, left_out, note }
    }
}

impl FolderEntry {
    fn new(name: String, metadata: &Metadata) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_symlink() => FileKind::Symlink,
            kind if kind.is_dir() => FileKind::Folder,
            kind if kind.is_file() => FileKind::File,
            _ => FileKind::Other,
        };
        let modified = metadata.modified().ok().and_then(|time| {
            let time = jiff::Timestamp::try_from(time.into_std()).ok()?;
            Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        });
        let size = (kind == FileKind::File).then_some(metadata.len());
        Self { name, kind, size, modified, access: None }
    }
}
