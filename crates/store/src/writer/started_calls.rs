//! The compact form of calls that have started: the row of a batch contains them as one JSON array. It is only read
//! after a crash and before a restore.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use sqlx::SqliteConnection;
use toolway_core::record::OpenedCall;
use toolway_types::json::push_string;
use toolway_types::{CallId, PrincipalId, RawJson, ToolId};

use super::queue::QueuedCall;
use super::rows::{RecordBatch, RowWriter};
use crate::call_row::{ENTRY_POINTS, ROLES, index_of};
use crate::outcome;

/// Approximate size of a start without its arguments, in bytes.
const START_BYTES: usize = 256;

/// Unit of a text's size in bytes. Texts are filled with spaces, because SQLite writes a text of the same size in the
/// place of the earlier one, without freeing and finding pages. A unit fits into a page of the database.
const SIZE_UNIT: usize = 4000;

/// A start as it is stored: a JSON array with these elements in this order.
#[derive(Deserialize)]
struct StoredStart {
    id: CallId,
    started_ms: i64,
    name: Arc<str>,
    source: Option<String>,
    tool: Option<String>,
    principal: Arc<str>,
    role: usize,
    via: usize,
    agent: Option<Arc<str>>,
    session: Option<Arc<str>>,
    turn: Option<Arc<str>>,
    /// The last element, which is missing if there are no arguments.
    #[serde(default, deserialize_with = "present")]
    arguments: Option<RawJson>,
}

/// Reads an existing element, which may be `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl StoredStart {
    /// Restores the start; None if it contains a value that this program does not know.
    fn into_call(self) -> Option<OpenedCall> {
        let tool = match (self.source, self.tool) {
            (Some(source), Some(tool)) => Some(ToolId::new(source.parse().ok()?, tool.parse().ok()?)),
            _ => None,
        };
        Some(OpenedCall {
            id: self.id,
            name: self.name,
            tool,
            principal: PrincipalId(self.principal),
            role: *ROLES.get(self.role)?,
            via: *ENTRY_POINTS.get(self.via)?,
            agent: self.agent,
            session: self.session,
            turn: self.turn,
            arguments: self.arguments,
            started_ms: self.started_ms,
            key: None,
        })
    }
}

/// Writes starts as JSON text. Arguments are truncated to `record_bytes`.
pub(super) fn encode(calls: &[&Arc<OpenedCall>], record_bytes: usize) -> String {
    let mut text = String::with_capacity(SIZE_UNIT);
    text.push('[');
    for call in calls {
        let arguments = call.arguments.as_ref().map(RawJson::get);
        text.reserve(START_BYTES + arguments.map_or(0, str::len));
        if text.len() > 1 {
            text.push(',');
        }
        push_start(&mut text, call);
        if let Some(arguments) = arguments {
            text.push(',');
            if arguments.len() <= record_bytes {
                text.push_str(arguments);
            } else {
                text.push_str(&outcome::truncate(arguments, record_bytes));
            }
        }
        text.push(']');
    }
    text.push(']');
    let filled = text.len().next_multiple_of(SIZE_UNIT);
    text.push_str(&" ".repeat(filled - text.len()));
    text
}

/// Writes all elements of a start but the arguments, without the closing bracket.
fn push_start(text: &mut String, call: &OpenedCall) {
    let tool = call.tool.as_ref();
    let mut digits = itoa::Buffer::new();
    text.push_str("[\"");
    push_hex(text, call.id.as_bytes());
    text.push_str("\",");
    text.push_str(digits.format(call.started_ms));
    text.push(',');
    push_string(text, &call.name);
    push_text(text, tool.map(|tool| tool.source.as_str()));
    push_text(text, tool.map(|tool| tool.tool.as_str()));
    push_text(text, Some(&call.principal.0));
    for index in [index_of(ROLES, call.role), index_of(ENTRY_POINTS, call.via)] {
        text.push(',');
        text.push_str(digits.format(index));
    }
    push_text(text, call.agent.as_deref());
    push_text(text, call.session.as_deref());
    push_text(text, call.turn.as_deref());
}

fn push_hex(text: &mut String, bytes: &[u8; 16]) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    text.push_str(std::str::from_utf8(&digits).unwrap_or_default());
}

fn push_text(text: &mut String, value: Option<&str>) {
    text.push(',');
    match value {
        Some(value) => push_string(text, value),
        None => text.push_str("null"),
    }
}

fn decode(text: &str) -> Vec<OpenedCall> {
    let stored: Vec<StoredStart> = serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::error!(%error, "starts of calls can't be read; these calls are missing from the records");
        Vec::new()
    });
    stored.into_iter().filter_map(StoredStart::into_call).collect()
}

/// Gives each stored start a row in `calls`, unless the call has one, and removes the starts. The caller has begun a
/// transaction.
pub(crate) async fn move_to_calls(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let texts: Vec<(String,)> =
        sqlx::query_as("SELECT calls FROM started_calls").fetch_all(&mut *conn).await?;
    let mut calls: Vec<OpenedCall> = texts.iter().flat_map(|(text,)| decode(text)).collect();
    calls.sort_by_key(|call| (call.started_ms, call.id));
    let calls: Vec<QueuedCall> = calls.into_iter().map(|call| QueuedCall::Opened(Arc::new(call))).collect();
    let mut batch = RecordBatch::default();
    calls.iter().for_each(|call| batch.push(call));
    // Their arguments were truncated when they were stored.
    RowWriter::new(usize::MAX).write_rows(conn, &batch).await?;
    remove_all(conn).await
}

/// Removes all stored starts.
pub(super) async fn remove_all(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM started_calls").execute(conn).await.map(drop)
}

#[cfg(test)]
mod tests;
