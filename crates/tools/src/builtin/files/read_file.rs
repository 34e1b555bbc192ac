//! The built-in tool `read_file` (docs/tools.md).

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolway_core::{SpecError, Tool, ToolBuilder};
use toolway_types::{Code, ContentPart, ToolError, ToolOutput};

use super::blocking_task::StopCheck;
use super::error::{FileAccessError, FileOperation};
use super::page::{self, PageError, PageRequest, TextPage};
use super::path_walk::PathWalk;
use super::{FileAccess, blocking_task, encodings, signature};
use crate::builtin::{READ_ONLY, numbers};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFileRequest {
    /// The file path to read (confined to app-private storage): relative to the folder of these tools, or in a
    /// folder that the owner has listed, as list_files shows it.
    #[schemars(length(min = 1, max = 4096))]
    pub(super) path: String,
    /// File encoding. Defaults to "UTF-8". A byte order mark in the file goes before it.
    #[schemars(length(max = 100))]
    pub(super) encoding: Option<String>,
    /// For large files: the byte of the file to start from. Defaults to 0. A result that is cut says where to go
    /// on.
    #[serde(default, deserialize_with = "numbers::whole")]
    pub(super) offset: Option<u64>,
    /// For large files: how many bytes of the file to read at most, up to 1048576. Defaults to what gives about
    /// 48 KiB of text.
    #[serde(default, deserialize_with = "numbers::whole")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(super) limit: Option<u64>,
}

pub(super) fn tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, SpecError> {
    ToolBuilder::new("read_file", "Read the contents of a file from local storage")
        .title("Read file")
        .annotations(&READ_ONLY)
        .timeout(Duration::from_secs(10))
        .build(move |request: ReadFileRequest, cx| {
            let access = access.clone();
            blocking_task::run_blocking(cx, access.threads.clone(), move |cx, stopped| {
                access.read(cx.caller().agent().map(AsRef::as_ref), &request, stopped)
            })
        })
}

impl FileAccess {
    /// Reads a file, or a page of it, for an agent.
    pub(super) fn read(
        &self,
        agent: Option<&str>,
        request: &ReadFileRequest,
        stopped: StopCheck<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let page = self.read_page(agent, request, stopped).map_err(|fault| {
            fault.into_tool_error(FileOperation::Read, &request.path, &self.describe_usable_paths())
        })?;
        Ok(output(page))
    }

    fn read_page(
        &self,
        agent: Option<&str>,
        request: &ReadFileRequest,
        stopped: StopCheck<'_>,
    ) -> Result<TextPage, FileAccessError> {
        let encoding = encodings::find_encoding(request.encoding.as_deref())?;
        let place = self.parse_path(agent, &request.path)?;
        if place.is_folder {
            return Err(FileAccessError::IsFolder);
        }
        let root = self.open_root(agent, place.start)?;
        let (mut file, metadata) = PathWalk::new(&self.guard, root, place.steps).reach_file()?;
        let wanted = PageRequest { encoding, offset: request.offset.unwrap_or(0), limit: request.limit };
        let size = metadata.len();
        page::read(&mut file, size, &wanted, stopped).map_err(|error| not_text(error, &request.path, size))
    }
}

/// Creates the output: the text and, if there is more, a note about how to read the rest.
fn output(page: TextPage) -> ToolOutput {
    let TextPage { text, start, end, left } = page;
    let note = if left > 0 {
        Some(format!("[… cut here: continue with offset={end}, {left} bytes left]"))
    } else if text.is_empty() && start > 0 {
        Some(format!("[There is nothing at offset={start}: the file ends before it]"))
    } else {
        None
    };
    let parts = [Some(text), note].into_iter().flatten();
    ToolOutput::new(parts.map(ContentPart::text).collect(), None)
}

fn not_text(error: PageError, path: &str, size: u64) -> FileAccessError {
    let kind = |head: &[u8]| signature::kind(head).map(|kind| format!("{kind}, ")).unwrap_or_default();
    let another_way = "read_file reads text. For other files use a tool that understands this kind, or have \
                       the file converted to text";
    let (message, hint) = match error {
        PageError::Io(error) => return error.into(),
        PageError::Stopped => return FileAccessError::Stopped,
        PageError::Binary { head, perhaps } => {
            let message = format!("{path} is a binary file ({}{size} bytes), not text", kind(&head));
            let hint = match perhaps {
                Some(encoding) => format!("It looks like UTF-16: try encoding \"{}\"", encoding.name()),
                None => another_way.to_owned(),
            };
            (message, hint)
        }
        PageError::Undecodable { head, encoding, at } => {
            let message = format!(
                "{path} is not {} text ({}{size} bytes; the first that can't be is at offset {at}): it is a \
                 binary file, or text in another encoding",
                encoding.name(),
                kind(&head)
            );
            let hint = format!(
                "If it is text, name its encoding, such as windows-1252, UTF-16LE or Shift_JIS. {another_way}"
            );
            (message, hint)
        }
    };
    FileAccessError::Other(ToolError::new(Code::ToolFailed, message).with_hint(hint))
}
