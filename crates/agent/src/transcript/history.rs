//! The messages of a session in stored form and in the form for models.

use std::collections::HashMap;

use toolway_models::{MessagePart, MessageRole, ModelMessage, ToolCall};
use toolway_store::{MessageRecord, NewMessage, SessionRepository, Store, StoreError, StoredRole};
use toolway_types::{CallId, Outcome};

use super::part::{self, TranscriptPart};

/// Maximum size of the history in memory, in bytes; older messages are omitted as if they had been
/// summarized.
const MAX_LOADED: usize = 64 << 20;
/// Number of messages that are read at a time.
const PAGE: usize = 256;
/// Maximum number of calls whose records are looked up.
const MAX_LOOKED_UP: usize = 256;

/// Text before a summary.
const SUMMARY_PREFIX: &str = "[What was said before this, in short]";

/// A message with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptEntry {
    /// Number of the message in the session.
    pub seq: u64,
    /// Turn of the message.
    pub turn: String,
    /// The message.
    pub message: ModelMessage,
    /// True if the message ended before it was complete.
    pub is_cut: bool,
    /// Time at which the message was stored, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Number of the last message that it summarizes, if it is a summary.
    pub summary_through: Option<u64>,
    /// Tools that the conversation used or found before it, the most recent first, if it is a summary.
    pub summarized_tools: Vec<String>,
}

/// Converts a message to its stored form.
#[must_use]
pub fn stored_message(message: &ModelMessage, is_cut: bool) -> NewMessage {
    let role = match message.role {
        MessageRole::User => StoredRole::User,
        MessageRole::Assistant => StoredRole::Assistant,
        MessageRole::Tool => StoredRole::Tool,
    };
    NewMessage { role, parts: part::encode_parts(&message.parts), text: message.text(), is_cut }
}

/// Creates a summary of the messages up to a number in stored form: a separate message of the session. `tools` are
/// those that the conversation used or found, the most recent first.
#[must_use]
pub fn summary_message(text: &str, through: u64, tools: &[String]) -> NewMessage {
    NewMessage {
        role: StoredRole::Assistant,
        parts: part::encode_summary(text, through, tools),
        text: text.to_owned(),
        is_cut: false,
    }
}

/// Converts a stored message. Unreadable parts become a text that says so.
#[must_use]
pub fn entry_from_record(record: &MessageRecord) -> TranscriptEntry {
    let mut role = match record.role {
        StoredRole::User => MessageRole::User,
        StoredRole::Assistant => MessageRole::Assistant,
        StoredRole::Tool => MessageRole::Tool,
    };
    let (mut summary_through, mut summarized_tools) = (None, Vec::new());
    let parts = part::decode_parts(&record.parts).into_iter().map(|read| match read {
        TranscriptPart::Part(part) => part,
        TranscriptPart::Summary { text, through, tools } => {
            summary_through = Some(through);
            summarized_tools = tools;
            MessagePart::text(format!("{SUMMARY_PREFIX}\n{text}"))
        }
    });
    let parts = parts.collect();
    if summary_through.is_some() {
        // For a model it comes first, as a person's message.
        role = MessageRole::User;
    }
    TranscriptEntry {
        seq: record.seq,
        turn: record.turn.clone(),
        message: ModelMessage { role, parts },
        is_cut: record.is_cut,
        created_ms: record.created_ms,
        summary_through,
        summarized_tools,
    }
}

/// Loads a session's messages from its last summary on: the summary, if there is one, all messages that it
/// does not cover, and always the person's last message, in order. At most the newest 64 MiB.
///
/// # Errors
/// Fails if the store can't be read.
pub async fn load(
    sessions: &SessionRepository<'_>,
    session: &str,
) -> Result<Vec<TranscriptEntry>, StoreError> {
    load_within(sessions, session, MAX_LOADED).await
}

async fn load_within(
    sessions: &SessionRepository<'_>,
    session: &str,
    most: usize,
) -> Result<Vec<TranscriptEntry>, StoreError> {
    let mut newest_first: Vec<TranscriptEntry> = Vec::new();
    let mut covered = 0;
    let (mut before, mut bytes, mut persons) = (None, 0_usize, false);
    'reading: loop {
        let page = sessions.messages_before(session, before, PAGE).await?;
        for record in page.messages.iter().rev() {
            bytes = bytes.saturating_add(record.parts.get().len());
            let is_enough = record.seq <= covered || (bytes > most && !newest_first.is_empty());
            if is_enough && persons {
                break 'reading;
            }
            if is_enough && record.role != StoredRole::User {
                continue;
            }
            let entry = entry_from_record(record);
            persons |= is_user_message(&entry);
            covered = covered.max(entry.summary_through.unwrap_or(0));
            newest_first.push(entry);
        }
        before = page.messages.first().map(|first| first.seq);
        if !page.has_more {
            break;
        }
    }
    newest_first.reverse();
    Ok(newest_first)
}

/// Returns the messages for a model: the newest summary first, if there is one, then the person's last
/// message, if the summary covers it, and then the messages that it does not cover. They are not repaired
/// yet.
#[must_use]
pub fn for_model(entries: &[TranscriptEntry]) -> Vec<ModelMessage> {
    entries_for_model(entries).into_iter().map(|entry| entry.message.clone()).collect()
}

/// Returns the entries of [`for_model`].
pub(crate) fn entries_for_model(entries: &[TranscriptEntry]) -> Vec<&TranscriptEntry> {
    let newest = entries.iter().rev().find(|entry| entry.summary_through.is_some());
    let covered = newest.and_then(|entry| entry.summary_through).unwrap_or(0);
    let last_said = entries.iter().rev().find(|entry| is_user_message(entry)).map(|entry| entry.seq);
    let stays = |entry: &&TranscriptEntry| {
        entry.summary_through.is_none() && (entry.seq > covered || Some(entry.seq) == last_said)
    };
    newest.into_iter().chain(entries.iter().filter(stays)).collect()
}

fn is_user_message(entry: &TranscriptEntry) -> bool {
    entry.message.role == MessageRole::User && entry.summary_through.is_none()
}

/// Returns the outcomes of calls without results, from the call records: the gateway may stop before a result
/// is stored in the conversation.
///
/// # Errors
/// Fails if the store can't be read.
pub async fn lost_outcomes(
    store: &Store,
    entries: &[TranscriptEntry],
) -> Result<HashMap<CallId, Outcome>, StoreError> {
    let parts = || entries.iter().flat_map(|entry| &entry.message.parts);
    let mut open: HashMap<CallId, &ToolCall> = HashMap::new();
    for part in parts() {
        match part {
            MessagePart::ToolCall(call) => drop(open.insert(call.id, call)),
            MessagePart::ToolResult(result) => drop(open.remove(&result.call_id)),
            _ => {}
        }
    }
    let mut found = HashMap::new();
    for id in open.into_keys().take(MAX_LOOKED_UP) {
        let call = store.calls().get(id).await?;
        if let Some(outcome) = call.and_then(|call| part::outcome_from_envelope(&call.outcome?)) {
            found.insert(id, outcome);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
