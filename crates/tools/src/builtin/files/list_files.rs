//! `list_files`: lists readable files and folders, and shows which folders are writable.

mod lister;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::{SpecError, Tool, ToolBuilder};
use toolway_types::{Code, RawJson, ToolError, ToolOutput};

use super::blocking_task::StopCheck;
use super::error::{FileAccessError, FileOperation};
use super::parsed_path::PathStart;
use super::path_walk::PathWalk;
use super::{FileAccess, blocking_task};
use crate::builtin::{READ_ONLY, numbers};
use lister::FolderLister;

/// How many entries are given where the call does not say.
const DEFAULT_LIMIT: u64 = 200;
/// How many at most.
const MAX_LIMIT: u64 = 2_000;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFilesRequest {
    /// The folder to list. Defaults to the folder of these tools, where the folders that the owner has listed are
    /// shown too.
    #[schemars(length(max = 4096))]
    pub(super) path: Option<String>,
    /// Whether to list what is in its folders too. Defaults to false.
    #[serde(default)]
    pub(super) recursive: bool,
    /// How many entries to give at most, up to 2000. Defaults to 200. A result that is cut says so.
    #[serde(default, deserialize_with = "numbers::whole")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub(super) limit: Option<u64>,
}

/// What the tool answers.
#[derive(Debug, Serialize)]
pub(super) struct FolderListing {
    /// The folder, as `read_file` takes it; `.` is the agent's own.
    pub(super) path: String,
    pub(super) entries: Vec<FolderEntry>,
    /// How many entries were seen and not given.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) left_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// One file or folder.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct FolderEntry {
    /// Its path from the folder that is listed.
    pub(super) name: String,
    pub(super) kind: FileKind,
    /// How many bytes a file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) modified: Option<String>,
    /// What may be done in a folder that the owner lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) access: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileKind {
    File,
    Folder,
    Symlink,
    /// A pipe, a socket, a device.
    Other,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub(super) fn tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    ToolBuilder::new("list_files", "List files and folders on local storage")
        .title("List files")
        .annotations(&READ_ONLY)
        .timeout(Duration::from_secs(10))
        .build(move |request: ListFilesRequest, cx| {
            let access = access.clone();
            blocking_task::run_blocking(cx, access.threads.clone(), move |cx, stopped| {
                let listing = access.list(cx.caller().agent().map(AsRef::as_ref), &request, stopped)?;
                let value = RawJson::from_value(&listing)
                    .map_err(|error| ToolError::new(Code::ToolFailed, error.to_string()))?;
                Ok(ToolOutput::structured(value))
            })
        })
}

impl FileAccess {
    /// Lists a folder for an agent.
    pub(super) fn list(
        &self,
        agent: Option<&str>,
        request: &ListFilesRequest,
        stopped: StopCheck<'_>,
    ) -> Result<FolderListing, ToolError> {
        let path = request.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
        self.list_folder(agent, path, request, stopped)
            .map_err(|fault| fault.into_tool_error(FileOperation::List, path, &self.describe_usable_paths()))
    }

    fn list_folder(
        &self,
        agent: Option<&str>,
        path: &str,
        request: &ListFilesRequest,
        stopped: StopCheck<'_>,
    ) -> Result<FolderListing, FileAccessError> {
        let place = self.parse_path(agent, path)?;
        let limit = request.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
        let mut lister = FolderLister::new(&self.guard, limit, request.recursive, stopped);
        let at_home = place.start == PathStart::AgentFolder && place.steps.is_empty();
        let root = match self.open_root(agent, place.start) {
            // Nothing has been written there yet.
            Err(FileAccessError::NotFound) if at_home => None,
            root => Some(root?),
        };
        let mut shown = String::new();
        if let Some(root) = root {
            let mut walk = PathWalk::new(&self.guard, root, place.steps);
            walk.reach_folder()?;
            shown = walk.path(None);
            let at_home = walk.is_own() && shown.is_empty();
            lister.within = Some(walk.within());
            if at_home {
                self.list_listed(&mut lister);
            }
            lister.list(walk.dir(), "", 0)?;
        } else {
            self.list_listed(&mut lister);
        }
        let path = if shown.is_empty() { ".".to_owned() } else { shown };
        Ok(lister.finish(path))
    }

    /// The folders that the owner lists, which go before those of the same names.
    fn list_listed(&self, lister: &mut FolderLister<'_>) {
        let mut folders: Vec<_> = self.folders.iter().collect();
        folders.sort_by(|a, b| a.name.cmp(&b.name));
        for folder in folders {
            let access = Some(if folder.write { "read_write" } else { "read_only" });
            let name = folder.name.clone();
            lister.hidden.push(OsString::from(&name));
            lister.push(FolderEntry { name, kind: FileKind::Folder, size: None, modified: None, access });
        }
    }
}
