//! The built-in tool `write_file` (docs/tools.md). Overwriting is atomic: readers see the old content or
//! the new, and a write that fails leaves the old. Appending is under a lock, so that writers take turns, and
//! takes back what it wrote if it can't write all.

mod append;
mod overwrite;

use std::sync::Arc;

use cap_std::fs::{File, Metadata, OpenOptions};
use serde::{Deserialize, Serialize};
use toolway_core::{SpecError, Tool};
use toolway_types::{ContentPart, RawJson, SpecDocument, ToolError, ToolOutput};

use super::blocking_task::StopCheck;
use super::error::{FileAccessError, FileOperation};
use super::path_walk::PathWalk;
use super::{FileAccess, blocking_task};
use crate::builtin::typed_tool;

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "description": "The file path to write (confined to app-private storage): relative to the agent's own folder, or in a folder that the owner has listed for writing. Folders on the way are created.",
      "minLength": 1,
      "maxLength": 4096
    },
    "content": {
      "type": "string",
      "description": "The content to write, stored as UTF-8"
    },
    "mode": {
      "type": "string",
      "enum": ["overwrite", "append"],
      "description": "Write mode: \"overwrite\" (default) or \"append\""
    }
  },
  "required": ["path", "content"],
  "additionalProperties": false
}"#;

const ANNOTATIONS: &str =
    r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}"#;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct WriteFileRequest {
    pub(super) path: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) mode: WriteMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
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
    let document = SpecDocument {
        description: Some("Write contents to a file on local storage".to_owned()),
        title: Some("Write file".to_owned()),
        permissions: vec!["files.write".to_owned()],
        timeout_ms: Some(10_000),
        ..SpecDocument::named("write_file")
    };
    typed_tool(document, PARAMETERS, ANNOTATIONS, move |request: WriteFileRequest, cx| {
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
