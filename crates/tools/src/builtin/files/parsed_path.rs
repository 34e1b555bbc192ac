//! What a path means, before the disk is asked: in which folder it begins, and the steps from there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path};

use toolway_types::{Code, ToolError};

use super::error::FileAccessError;
use super::{FILES, FileAccess};

/// Longest path, in bytes.
const MAX_PATH: usize = 4096;

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStart {
    /// In the caller's own folder.
    AgentFolder,
    /// In the folder of this place in the owner's list.
    ListedFolder(usize),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathStep {
    /// Into the folder, or to the file, of this name.
    Child(OsString),
    /// `..`
    Parent,
}

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParsedPath {
    pub(super) start: PathStart,
    pub(super) steps: VecDeque<PathStep>,
    /// It ends in `/`, so can only be a folder.
    pub(super) is_folder: bool,
}

impl FileAccess {
    /// What a path means to an agent. Looks at no disk.
    ///
    /// - An absolute one must lie in a listed folder or in the caller's own; where several contain it, in the
    ///   innermost.
    /// - Any other begins in the listed folder that its first step names, else in the caller's own.
    pub(super) fn parse_path(&self, agent: Option<&str>, path: &str) -> Result<ParsedPath, FileAccessError> {
        if path.contains('\0') {
            let message = "The path has a NUL character in it";
            return Err(ToolError::new(Code::InvalidArguments, message).into());
        }
        if path.len() > MAX_PATH {
            let message = format!("The path has {} bytes, more than the {MAX_PATH} allowed", path.len());
            return Err(ToolError::new(Code::InvalidArguments, message).into());
        }
        let is_folder = path.ends_with(std::path::is_separator);
        let parsed = Path::new(path);
        let (start, rest) = if parsed.has_root() || parsed.is_absolute() {
            self.absolute(agent, parsed).ok_or(FileAccessError::OutsideFolders)?
        } else {
            self.relative(parsed)
        };
        let steps = steps(rest)?;
        if escapes_start(&steps) {
            return Err(FileAccessError::OutsideFolders);
        }
        Ok(ParsedPath { start, steps, is_folder })
    }

    fn absolute<'p>(&self, agent: Option<&str>, path: &'p Path) -> Option<(PathStart, &'p Path)> {
        let own = Path::new(FILES).join(self.agent_folders.folder_of(agent));
        let owns = self.data_paths.iter().map(|data| (PathStart::AgentFolder, data.join(&own)));
        let listed = self.folders.iter().enumerate();
        let listed = listed.map(|(place, folder)| (PathStart::ListedFolder(place), folder.path.clone()));
        owns.chain(listed)
            .filter_map(|(start, root)| Some((start, path.strip_prefix(root).ok()?)))
            .min_by_key(|(_, rest)| rest.components().count())
    }

    fn relative<'p>(&self, path: &'p Path) -> (PathStart, &'p Path) {
        let mut rest = path.components();
        let first = loop {
            match rest.next() {
                Some(Component::CurDir) => {}
                other => break other,
            }
        };
        let listed = self
            .folders
            .iter()
            .position(|folder| first.is_some_and(|first| first == Component::Normal(folder.name.as_ref())));
        match listed {
            Some(place) => (PathStart::ListedFolder(place), rest.as_path()),
            None => (PathStart::AgentFolder, path),
        }
    }

    /// Which paths may be used, in words.
    pub(super) fn describe_usable_paths(&self) -> String {
        let mut words = "Paths are relative to the folder of these tools".to_owned();
        for (place, folder) in self.folders.iter().enumerate() {
            words.push_str(if place == 0 { ", or begin with " } else { ", " });
            let mode = if folder.write { "read and write" } else { "read only" };
            words.push_str(&format!("{}/ ({mode})", folder.name));
        }
        words
    }
}

/// Returns true if the steps leave their start folder, regardless of the files there.
fn escapes_start(steps: &VecDeque<PathStep>) -> bool {
    let mut depth = 0_usize;
    steps.iter().any(|step| match step {
        PathStep::Child(_) => {
            depth += 1;
            false
        }
        PathStep::Parent if depth == 0 => true,
        PathStep::Parent => {
            depth -= 1;
            false
        }
    })
}

/// Returns the steps of a relative path.
///
/// # Errors
/// [`FileAccessError`] if the path is absolute.
pub(super) fn steps(path: &Path) -> Result<VecDeque<PathStep>, FileAccessError> {
    let step = |component| match component {
        Component::Normal(name) => Some(Ok(PathStep::Child(name.to_owned()))),
        Component::ParentDir => Some(Ok(PathStep::Parent)),
        Component::CurDir => None,
        Component::RootDir | Component::Prefix(_) => Some(Err(FileAccessError::OutsideFolders)),
    };
    path.components().filter_map(step).collect()
}
