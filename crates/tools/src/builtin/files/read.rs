//! `read_file` (specification, "Built-in Tools", 2).

use std::sync::Arc;

use serde::Deserialize;
use toolway_core::{BadSpec, Tool};
use toolway_types::{Code, ContentPart, SpecDocument, ToolError, ToolOutput};

use super::blocking::Stopped;
use super::fault::{Doing, Fault};
use super::page::{self, NoPage, Page, Wanted};
use super::walk::Walk;
use super::{FileAccess, blocking, encodings, signature};
use crate::builtin::{numbers, typed};

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "description": "The file path to read (confined to app-private storage): relative to the agent's own folder, or in a folder that the owner has listed, as list_files shows it.",
      "minLength": 1,
      "maxLength": 4096
    },
    "encoding": {
      "type": "string",
      "description": "File encoding. Defaults to \"UTF-8\". A byte order mark in the file goes before it.",
      "maxLength": 100
    },
    "offset": {
      "type": "integer",
      "description": "For large files: the byte of the file to start from. Defaults to 0. A result that is cut says where to go on.",
      "minimum": 0
    },
    "limit": {
      "type": "integer",
      "description": "For large files: how many bytes of the file to read at most, up to 1048576. Defaults to what gives about 48 KiB of text.",
      "minimum": 1,
      "maximum": 1048576
    }
  },
  "required": ["path"],
  "additionalProperties": false
}"#;

const ANNOTATIONS: &str =
    r#"{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) encoding: Option<String>,
    #[serde(default, deserialize_with = "numbers::whole")]
    pub(super) offset: Option<u64>,
    #[serde(default, deserialize_with = "numbers::whole")]
    pub(super) limit: Option<u64>,
}

pub(super) fn tool(access: Arc<FileAccess>) -> Result<Arc<dyn Tool>, BadSpec> {
    let document = SpecDocument {
        description: Some("Read the contents of a file from local storage".to_owned()),
        title: Some("Read file".to_owned()),
        timeout_ms: Some(10_000),
        ..SpecDocument::named("read_file")
    };
    typed(document, PARAMETERS, ANNOTATIONS, move |request: Request, cx| {
        let access = access.clone();
        blocking::run(cx, access.threads.clone(), move |cx, stopped| {
            access.read(cx.caller().agent().map(AsRef::as_ref), &request, stopped)
        })
    })
}

impl FileAccess {
    /// Reads a file, or a page of it, for an agent.
    pub(super) fn read(
        &self,
        agent: Option<&str>,
        request: &Request,
        stopped: Stopped<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let page = self
            .read_page(agent, request, stopped)
            .map_err(|fault| fault.told(Doing::Read, &request.path, &self.usable()))?;
        Ok(output(page))
    }

    fn read_page(&self, agent: Option<&str>, request: &Request, stopped: Stopped<'_>) -> Result<Page, Fault> {
        let encoding = encodings::named(request.encoding.as_deref())?;
        let place = self.place(agent, &request.path)?;
        if place.is_folder {
            return Err(Fault::IsAFolder);
        }
        let root = self.open_root(agent, place.start)?;
        let (mut file, metadata) = Walk::new(&self.guard, root, place.steps).reach_file()?;
        let wanted = Wanted { encoding, offset: request.offset.unwrap_or(0), limit: request.limit };
        let size = metadata.len();
        page::read(&mut file, size, &wanted, stopped).map_err(|error| not_text(error, &request.path, size))
    }
}

/// The text, and what to do to get the rest where there is more.
fn output(page: Page) -> ToolOutput {
    let Page { text, start, end, left } = page;
    let note = if left > 0 {
        Some(format!("[… cut here: continue with offset={end}, {left} bytes left]"))
    } else if text.is_empty() && start > 0 {
        Some(format!("[There is nothing at offset={start}: the file ends before it]"))
    } else {
        None
    };
    let parts = [Some(text), note].into_iter().flatten();
    ToolOutput { content: parts.map(ContentPart::text).collect(), structured: None }
}

fn not_text(error: NoPage, path: &str, size: u64) -> Fault {
    let kind = |head: &[u8]| signature::kind(head).map(|kind| format!("{kind}, ")).unwrap_or_default();
    let another_way = "read_file reads text. For other files use a tool that understands this kind, or have \
                       the file converted to text";
    let (message, hint) = match error {
        NoPage::Io(error) => return error.into(),
        NoPage::Stopped => return Fault::Stopped,
        NoPage::Binary { head, perhaps } => {
            let message = format!("{path} is a binary file ({}{size} bytes), not text", kind(&head));
            let hint = match perhaps {
                Some(encoding) => format!("It looks like UTF-16: try encoding \"{}\"", encoding.name()),
                None => another_way.to_owned(),
            };
            (message, hint)
        }
        NoPage::Undecodable { head, encoding, at } => {
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
    Fault::Other(ToolError::new(Code::ToolFailed, message).with_hint(hint))
}
