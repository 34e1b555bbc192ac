//! The words of a conversation with which tools are compared: those of the person's newest messages. They change
//! with a new message only, so all requests of a turn have the same tools.

use toolway_core::tool_search::ToolSearchQuery;
use toolway_models::{MessagePart, MessageRole};

use crate::transcript::TranscriptEntry;

/// Maximum number of messages that are read, from the newest on.
const MAX_MESSAGES: usize = 4;
/// Maximum length of text that is read, in bytes.
const MAX_BYTES: usize = 4 << 10;

/// Returns the words of the person's newest messages; `None` if there are none.
pub(crate) fn conversation_query(entries: &[TranscriptEntry]) -> Option<ToolSearchQuery> {
    let is_persons =
        |entry: &&TranscriptEntry| entry.message.role == MessageRole::User && entry.summary_through.is_none();
    let mut text = String::new();
    let newest = entries.iter().rev().filter(is_persons).take(MAX_MESSAGES);
    for part in newest.flat_map(|entry| entry.message.parts.iter().filter_map(MessagePart::as_text)) {
        let room = MAX_BYTES.saturating_sub(text.len());
        text.push_str(part.get(..part.floor_char_boundary(room)).unwrap_or_default());
        text.push('\n');
    }
    ToolSearchQuery::new(&text)
}
