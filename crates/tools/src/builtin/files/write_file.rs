//! The built-in tool `write_file` (docs/tools.md). Overwriting is atomic: readers see the old content or
//! the new, and a write that fails leaves the old. Appending is under a lock, so that writers take turns, and
//! takes back what it wrote if it can't write all.

mod append;
mod overwrite;

use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::{File, Metadata, OpenOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::{SpecError, Tool, ToolBuilder};
use toolway_types::{ContentPart, RawJson, ToolError, ToolOutput};

use super::blocking_task::StopCheck;
use super::error::{FileAccessError, FileOperation};
use super::path_walk::PathWalk;
use super::{FileAccess, blocking_task};
use crate::builtin::DESTRUCTIVE;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFileRequest {
    /// The file path to write (confined to app-private storage): relative to the folder of these tools, or in a
    /// folder that the owner has listed for writing. Folders on the way are created.
    #[schemars(length(min = 1, max = 4096))]
    pub(super) path: String,
    /// The content to write, stored as UTF-8
    pub(super) content: String,
    /// Write mode: "overwrite" (default) or "append"
    #[serde(default)]
    pub(super) mode: WriteMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WriteMode {
    #[default]
    Overwrite,
    Append,
}

/// What the tool answers.
#[derive(Debug, Serialize)]
struct WriteFileResult {
    path: String,
    bytes_written: usize,
}

pub(super) fn tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    ToolBuilder::new("write_file", "Write contents to a file on local storage")
        .title("Write file")
        .annotations(&DESTRUCTIVE)
        .permission("files.write")
        .timeout(Duration::from_secs(10))
        .build(move |request: WriteFileRequest, cx| {
            let access = access.clone();
            blocking_task::run_blocking(cx, access.threads.clone(), move |cx, stopped| {
                let part = cx.call_id().to_string();
                access.write(cx.caller().agent().map(AsRef::as_ref), &request, &part, stopped)
            })
        })
}

impl FileAccess {
    /// Writes a file for an agent. `unique` goes into the name of the file that is there while it is written.
    pub(super) fn write(
        &self,
        agent: Option<&str>,
        request: &WriteFileRequest,
        unique: &str,
        stopped: StopCheck<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let path = self.write_content(agent, request, unique, stopped).map_err(|fault| {
            fault.into_tool_error(FileOperation::Write, &request.path, &self.describe_usable_paths())
        })?;
        let bytes_written = request.content.len();
        let verb = if request.mode == WriteMode::Append { "Appended" } else { "Wrote" };
        let text = format!("{verb} {bytes_written} bytes to {path}");
        let structured = RawJson::from_value(&WriteFileResult { path, bytes_written }).ok();
        Ok(ToolOutput::new(vec![ContentPart::text(text)], structured))
    }

    /// The path of what was written, without links.
    fn write_content(
        &self,
        agent: Option<&str>,
        request: &WriteFileRequest,
        unique: &str,
        stopped: StopCheck<'_>,
    ) -> Result<String, FileAccessError> {
        let place = self.parse_path(agent, &request.path)?;
        if place.is_folder || place.steps.is_empty() {
            return Err(FileAccessError::IsFolder);
        }
        blocking_task::check_not_stopped(stopped)?;
        let root = self.open_root_to_write(agent, place.start)?;
        let walk = PathWalk::new(&self.guard, root, place.steps).create_missing_folders();
        let content = request.content.as_bytes();
        match request.mode {
            WriteMode::Overwrite => overwrite::overwrite(walk, content, unique, stopped),
            WriteMode::Append => append::append(walk, content, stopped),
        }
    }
}

/// How a new file is made: in the caller's own folder only the owner may read it, elsewhere what is usual
/// there.
fn new_file(walk: &PathWalk<'_>) -> OpenOptions {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, if walk.is_own() { 0o600 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = walk;
    options
}

/// Lets a file pass that is there and is to be changed.
fn check_writable_file(walk: &PathWalk<'_>, file: File) -> Result<(File, Metadata), FileAccessError> {
    let (file, metadata) = walk.check_file(file)?;
    // The superuser could write it all the same.
    if metadata.permissions().readonly() { Err(FileAccessError::ReadOnlyFile) } else { Ok((file, metadata)) }
}
