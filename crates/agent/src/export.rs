//! Exports a session as text: Markdown for people, JSON for programs (`docs/sessions.md` describes the
//! format).
//!
//! Text of people, models and tools is untrusted: in Markdown it can't end its own part, imitate a heading or
//! another speaker, or add HTML.

mod markdown;
mod quote;

use std::collections::HashMap;

use serde::Serialize;
use toolway_models::{MessagePart, ModelUsage};
use toolway_store::{MessageRecord, SessionRecord, Store, StoreError, StoredRole, TurnRecord};
use toolway_types::{CallId, RawJson};

use crate::transcript::part::{self, TranscriptPart};

/// Version of the format. It changes with every incompatible change.
const FORMAT_VERSION: u32 = 2;
/// Number of messages that are read at a time.
const PAGE: usize = 256;
/// Maximum size of all messages, in bytes; older ones are omitted with a note.
const MAX_BYTES: usize = 256 << 20;
/// Maximum number of turns with details, the newest ones.
const MAX_TURNS: usize = 1000;
/// Maximum number of calls with a duration.
const MAX_CALLS: usize = 10_000;

/// Exports a session as Markdown: the messages with their authors, and collapsed sections with the tool
/// calls, their arguments, outcomes and durations.
///
/// # Errors
/// Fails if the store can't be read.
pub async fn markdown(store: &Store, session: &SessionRecord) -> Result<String, StoreError> {
    let whole = SessionContents::read(store, session, MAX_BYTES).await?;
    Ok(markdown::write(session, &whole))
}

/// Exports a session as JSON.
///
/// # Errors
/// Fails if the store can't be read.
pub async fn json(store: &Store, session: &SessionRecord) -> Result<String, StoreError> {
    let whole = SessionContents::read(store, session, MAX_BYTES).await?;
    let messages =
        whole.messages.iter().map(|message| ExportedMessage::of(message, &whole.call_micros)).collect();
    let form = SessionExport {
        toolway_session: FORMAT_VERSION,
        session: ExportedSession::of(session),
        left_out: whole.left_out,
        messages,
        turns: whole.turns.iter().map(ExportedTurn::of).collect(),
    };
    Ok(serde_json::to_string_pretty(&form).unwrap_or_default())
}

/// All data of a session for the export.
struct SessionContents {
    /// Oldest first.
    messages: Vec<MessageRecord>,
    /// Number of earlier messages that are omitted.
    left_out: u64,
    /// Oldest first.
    turns: Vec<TurnRecord>,
    /// Durations of calls in microseconds.
    call_micros: HashMap<CallId, u64>,
}

impl SessionContents {
    /// Reads the newest messages, up to about `most` bytes.
    async fn read(store: &Store, session: &SessionRecord, most: usize) -> Result<Self, StoreError> {
        let sessions = store.sessions();
        let mut newest_first: Vec<MessageRecord> = Vec::new();
        let (mut before, mut bytes) = (None, 0_usize);
        'reading: loop {
            let page = sessions.messages_before(&session.id, before, PAGE).await?;
            before = page.messages.first().map(|first| first.seq);
            for message in page.messages.into_iter().rev() {
                bytes = bytes.saturating_add(message.parts.get().len());
                if bytes > most && !newest_first.is_empty() {
                    break 'reading;
                }
                newest_first.push(message);
            }
            if !page.has_more {
                break;
            }
        }
        newest_first.reverse();
        let messages = newest_first;
        let left_out = messages.first().map_or(0, |first| first.seq.saturating_sub(1));
        let turns = sessions.turns(&session.id, MAX_TURNS).await?;
        let micros = call_durations(store, &messages).await?;
        Ok(Self { messages, left_out, turns, call_micros: micros })
    }
}

/// Returns the durations of the calls whose results are in these messages.
async fn call_durations(
    store: &Store,
    messages: &[MessageRecord],
) -> Result<HashMap<CallId, u64>, StoreError> {
    let results = messages.iter().filter(|message| message.role == StoredRole::Tool);
    let ids = results.flat_map(|message| part::decode_parts(&message.parts)).filter_map(|read| match read {
        TranscriptPart::Part(MessagePart::ToolResult(result)) => Some(result.call_id),
        _ => None,
    });
    let mut micros = HashMap::new();
    for id in ids.take(MAX_CALLS) {
        if let Some(call) = store.calls().get(id).await? {
            micros.insert(id, call.total_us);
        }
    }
    Ok(micros)
}

#[derive(Serialize)]
struct SessionExport<'s> {
    toolway_session: u32,
    session: ExportedSession<'s>,
    /// Number of older messages.
    #[serde(skip_serializing_if = "is_0")]
    left_out: u64,
    messages: Vec<ExportedMessage<'s>>,
    turns: Vec<ExportedTurn<'s>>,
}

#[derive(Serialize)]
struct ExportedSession<'s> {
    id: &'s str,
    principal: &'s str,
    agent: &'s str,
    title: Option<&'s str>,
    title_by: &'static str,
    created_ms: i64,
    updated_ms: i64,
    message_count: u64,
    bytes: u64,
}

impl<'s> ExportedSession<'s> {
    fn of(session: &'s SessionRecord) -> Self {
        Self {
            id: &session.id,
            principal: &session.principal,
            agent: &session.agent,
            title: session.title.as_deref(),
            title_by: session.title_by.as_str(),
            created_ms: session.created_ms,
            updated_ms: session.updated_ms,
            message_count: session.messages,
            bytes: session.bytes,
        }
    }
}

#[derive(Serialize)]
struct ExportedTurn<'s> {
    id: &'s str,
    session_id: &'s str,
    user_message_seq: u64,
    status: &'static str,
    replaced: bool,
    started_ms: i64,
    ended_ms: Option<i64>,
    code: Option<&'s str>,
    message: Option<&'s str>,
    finish_reason: Option<&'s str>,
    rounds: u32,
    calls: u32,
    usage: ModelUsage,
    cost: Option<f64>,
    currency: Option<&'s str>,
}

impl<'s> ExportedTurn<'s> {
    fn of(turn: &'s TurnRecord) -> Self {
        let tokens = turn.tokens;
        Self {
            id: &turn.id,
            session_id: &turn.session,
            user_message_seq: turn.answers,
            status: turn.state.as_str(),
            replaced: turn.is_replaced,
            started_ms: turn.started_ms,
            ended_ms: turn.ended_ms,
            code: turn.code.as_deref(),
            message: turn.message.as_deref(),
            finish_reason: turn.finish.as_deref(),
            rounds: turn.rounds,
            calls: turn.calls,
            usage: ModelUsage {
                input: tokens.input,
                output: tokens.output,
                cached: tokens.cached,
                cache_written: tokens.cache_written,
                reasoning: tokens.reasoning,
            },
            cost: turn.cost,
            currency: turn.currency.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ExportedMessage<'s> {
    seq: u64,
    turn_id: &'s str,
    role: &'static str,
    created_ms: i64,
    truncated: bool,
    parts: Vec<RawJson>,
}

impl<'s> ExportedMessage<'s> {
    fn of(message: &'s MessageRecord, micros: &HashMap<CallId, u64>) -> Self {
        let parts = part::public_parts(&message.parts).into_iter().map(|part| with_duration(part, micros));
        Self {
            seq: message.seq,
            turn_id: &message.turn,
            role: message.role.as_str(),
            created_ms: message.created_ms,
            truncated: message.is_cut,
            parts: parts.collect(),
        }
    }
}

/// Adds the duration of the call to a result, in milliseconds; other parts are unchanged.
fn with_duration(part: RawJson, micros: &HashMap<CallId, u64>) -> RawJson {
    let TranscriptPart::Part(MessagePart::ToolResult(result)) = part::decode_part(&part) else { return part };
    let Some(micros) = micros.get(&result.call_id) else { return part };
    // Inserted into the text, because the rest must stay byte for byte.
    let Some(fields) = part.get().trim_end().strip_suffix('}') else { return part };
    let text = format!("{fields},\"duration_ms\":{}}}", micros.div_ceil(1000));
    RawJson::parse(&text).unwrap_or(part)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_0(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
