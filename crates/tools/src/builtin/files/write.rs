//! `write_file` (specification, "Built-in Tools", 3). Overwriting is atomic: readers see the old content or
//! the new, and a write that fails leaves the old. Appending is under a lock, so that writers take turns, and
//! takes back what it wrote if it can't write all.

mod append;
mod overwrite;

use std::sync::Arc;

use cap_std::fs::{File, Metadata, OpenOptions};
use serde::{Deserialize, Serialize};
use toolway_core::{BadSpec, Tool};
use toolway_types::{ContentPart, RawJson, SpecDocument, ToolError, ToolOutput};

use super::blocking::Stopped;
use super::fault::{Doing, Fault};
use super::walk::Walk;
use super::{FileAccess, blocking};
use crate::builtin::typed;

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
pub(super) struct Request {
    pub(super) path: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) mode: Mode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    #[default]
    Overwrite,
    Append,
}

/// What the tool answers.
#[derive(Debug, Serialize)]
struct Answer {
    path: String,
    bytes_written: usize,
}

pub(super) fn tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, BadSpec> {
    let document = SpecDocument {
        description: Some("Write contents to a file on local storage".to_owned()),
        title: Some("Write file".to_owned()),
        permissions: vec!["files.write".to_owned()],
        timeout_ms: Some(10_000),
        ..SpecDocument::named("write_file")
    };
    typed(document, PARAMETERS, ANNOTATIONS, move |request: Request, cx| {
        let access = access.clone();
        blocking::run(cx, access.threads.clone(), move |cx, stopped| {
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
        request: &Request,
        unique: &str,
        stopped: Stopped<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let path = self
            .write_content(agent, request, unique, stopped)
            .map_err(|fault| fault.told(Doing::Write, &request.path, &self.usable()))?;
        let bytes_written = request.content.len();
        let verb = if request.mode == Mode::Append { "Appended" } else { "Wrote" };
        let text = format!("{verb} {bytes_written} bytes to {path}");
        let structured = RawJson::from_value(&Answer { path, bytes_written }).ok();
        Ok(ToolOutput { content: vec![ContentPart::text(text)], structured })
    }

    /// The path of what was written, without links.
    fn write_content(
        &self,
        agent: Option<&str>,
        request: &Request,
        unique: &str,
        stopped: Stopped<'_>,
    ) -> Result<String, Fault> {
        let place = self.place(agent, &request.path)?;
        if place.is_folder || place.steps.is_empty() {
            return Err(Fault::IsAFolder);
        }
        blocking::go_on(stopped)?;
        let root = self.open_root_to_write(agent, place.start)?;
        let walk = Walk::new(&self.guard, root, place.steps).making_folders();
        let content = request.content.as_bytes();
        match request.mode {
            Mode::Overwrite => overwrite::overwrite(walk, content, unique, stopped),
            Mode::Append => append::append(walk, content, stopped),
        }
    }
}

/// How a new file is made: in the caller's own folder only the owner may read it, elsewhere what is usual
/// there.
fn new_file(walk: &Walk<'_>) -> OpenOptions {
    #[allow(unused_mut, reason = "there are modes on Unix only")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, if walk.is_own() { 0o600 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = walk;
    options
}

/// Lets a file pass that is there and is to be changed.
fn admit(walk: &Walk<'_>, file: File) -> Result<(File, Metadata), Fault> {
    let (file, metadata) = walk.admit(file)?;
    // The superuser could write it all the same.
    if metadata.permissions().readonly() { Err(Fault::ReadOnlyFile) } else { Ok((file, metadata)) }
}
