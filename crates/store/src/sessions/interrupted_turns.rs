//! Closes turns that were interrupted by a stop of the gateway: they are marked, and the draft of their
//! answer becomes a message, so that no text is lost.

use serde::Serialize;
use sqlx::{Connection, SqliteConnection};
use toolway_types::RawJson;

use super::record::{NewMessage, StoredRole};
use super::turns::save_draft_message;
use crate::call_row::RowColumns;
use crate::error::StoreError;

/// The only kind of message part that the store writes itself.
#[derive(Serialize)]
struct InterruptedTextPart<'t> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'t str,
}

/// Marks running turns as interrupted. Returns their number.
pub(crate) async fn close_running_turns(conn: &mut SqliteConnection, now_ms: i64) -> Result<u64, StoreError> {
    const DRAFTS: &str = "SELECT d.turn, d.text FROM drafts AS d JOIN turns AS t ON t.id = d.turn \
         JOIN sessions AS s ON s.id = t.session WHERE t.status = 0 AND d.seq > s.message_count ORDER BY d.turn";
    // Sums up the turn's requests, and counts the calls recorded since it began.
    const CLOSE: &str = "UPDATE turns SET status = 4, rounds = u.rounds, calls = u.calls, input = u.input, \
         output = u.output, cached = u.cached, cache_written = u.cache_written, reasoning = u.reasoning, \
         cost = iif(u.unpriced, NULL, u.cost), currency = u.currency \
         FROM (SELECT t.id, count(r.id) AS rounds, sum(r.input) AS input, sum(r.output) AS output, \
         sum(r.cached) AS cached, sum(r.cache_written) AS cache_written, sum(r.reasoning) AS reasoning, \
         sum(r.cost) AS cost, max(r.currency) AS currency, \
         sum(r.cost IS NULL AND (r.status = 0 OR coalesce(r.input, r.output) IS NOT NULL)) AS unpriced, \
         (SELECT count(*) FROM calls AS c \
         WHERE c.started_ms >= t.started_ms AND c.session = t.session AND c.turn = t.id) AS calls \
         FROM turns AS t LEFT JOIN model_requests AS r ON r.session = t.session AND r.turn = t.id \
         WHERE t.status = 0 GROUP BY t.id) AS u \
         WHERE turns.id = u.id AND turns.status = 0";
    let failed = || StoreError::database("closing of turns left open");
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    let drafts = sqlx::query(DRAFTS).fetch_all(&mut *transaction).await.map_err(failed())?;
    for row in &drafts {
        let columns = RowColumns(row);
        let (turn, text) = (columns.required(0)?, columns.required(1)?);
        save_draft_message(&mut transaction, &turn, &interrupted_message(text), now_ms).await?;
    }
    sqlx::query("DELETE FROM drafts").execute(&mut *transaction).await.map_err(failed())?;
    let closed = sqlx::query(CLOSE).execute(&mut *transaction).await.map_err(failed())?;
    transaction.commit().await.map_err(failed())?;
    Ok(closed.rows_affected())
}

fn interrupted_message(text: String) -> NewMessage {
    let part = InterruptedTextPart { kind: "text", text: &text };
    let parts = RawJson::from_value(&[part]).unwrap_or_default();
    NewMessage { role: StoredRole::Assistant, parts, text, is_cut: true }
}

#[cfg(test)]
mod tests;
