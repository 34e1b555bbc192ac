//! Removes a session and its messages. A large session is removed in small steps, between which others can
//! write.

use sqlx::{Connection, SqliteConnection};

use super::{SessionRepository, WRITING};
use crate::call_log_size;
use crate::call_row::RowColumns;
use crate::calls::{CallFilter, CallRepository};
use crate::error::StoreError;
use crate::integers::u64_to_i64;

/// Size of messages that one step removes, in bytes.
const STEP_BYTES: u64 = 8 << 20;
/// Maximum number of messages that one step removes.
const STEP_MESSAGES: i64 = 500;

/// Numbers of removed items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RemovedSession {
    /// Number of messages.
    pub messages: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of call records.
    pub calls: u64,
}

impl SessionRepository<'_> {
    /// Removes a session with its messages, turns and drafts. If requested, also removes the records of its
    /// principal's calls in it, except running ones. Records of model requests stay for the accounts, without
    /// the session's id. Returns None if the session does not exist.
    ///
    /// The writes of a turn that runs in the session fail from now on, so the caller must end turns first.
    ///
    /// # Errors
    /// Fails if SQLite fails. A large session may then have lost its newest messages; it can be removed
    /// again.
    pub async fn remove(&self, id: &str, with_calls: bool) -> Result<Option<RemovedSession>, StoreError> {
        let Some(session) = self.get(id).await? else { return Ok(None) };
        let mut removed = RemovedSession { messages: session.messages, ..RemovedSession::default() };
        while self.remove_newest(id).await? {}
        let name = id.to_owned();
        removed.turns = self.database.write_durably(move |conn| Box::pin(remove_all(conn, name))).await?;
        if with_calls {
            let filter = CallFilter {
                session: Some(id.to_owned()),
                principal: Some(session.principal),
                ..CallFilter::default()
            };
            removed.calls = CallRepository(self.database).remove_all(&filter).await?.calls;
        }
        call_log_size::release_pages(self.database).await?;
        Ok(Some(removed))
    }

    /// Removes some of the newest messages if there are too many for one step. Returns true if it did.
    async fn remove_newest(&self, id: &str) -> Result<bool, StoreError> {
        const NEWEST: &str = "SELECT seq, octet_length(parts) + octet_length(text) FROM messages \
             WHERE session = ? ORDER BY seq DESC LIMIT ?";
        let rows = sqlx::query(NEWEST)
            .bind(id)
            .bind(STEP_MESSAGES + 1)
            .fetch_all(self.database.readers())
            .await
            .map_err(StoreError::database(super::READING))?;
        let (mut bytes, mut from) = (0_u64, None);
        for row in rows.iter().take(usize::try_from(STEP_MESSAGES).unwrap_or(usize::MAX)) {
            let columns = RowColumns(row);
            bytes += columns.count(1)?;
            from = Some(columns.count(0)?);
            if bytes > STEP_BYTES {
                break;
            }
        }
        let Some(from) = from.filter(|from| *from > 1) else { return Ok(false) };
        let session = id.to_owned();
        self.database.write(move |conn| Box::pin(remove_from(conn, session, from, bytes))).await?;
        Ok(true)
    }
}

async fn remove_from(
    conn: &mut SqliteConnection,
    session: String,
    from: u64,
    bytes: u64,
) -> Result<(), StoreError> {
    const MESSAGES: &str = "DELETE FROM messages WHERE session = ? AND seq >= ?";
    const SESSION: &str =
        "UPDATE sessions SET message_count = min(message_count, ?), bytes = max(bytes - ?, 0) WHERE id = ?";
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    let messages = sqlx::query(MESSAGES).bind(session.clone()).bind(u64_to_i64(from));
    messages.execute(&mut *transaction).await.map_err(failed())?;
    let place = sqlx::query(SESSION).bind(u64_to_i64(from - 1)).bind(u64_to_i64(bytes)).bind(session);
    place.execute(&mut *transaction).await.map_err(failed())?;
    transaction.commit().await.map_err(failed())
}

/// Removes the rest of a session. Returns its number of turns.
async fn remove_all(conn: &mut SqliteConnection, session: String) -> Result<u64, StoreError> {
    const REST: &[&str] = &[
        "UPDATE model_requests SET session = NULL, turn = NULL WHERE session = ?",
        "DELETE FROM drafts WHERE turn IN (SELECT id FROM turns WHERE session = ?)",
        "DELETE FROM messages WHERE session = ?",
        "DELETE FROM sessions WHERE id = ?",
    ];
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    for sql in REST {
        sqlx::query(*sql).bind(session.clone()).execute(&mut *transaction).await.map_err(failed())?;
    }
    let turns = sqlx::query("DELETE FROM turns WHERE session = ?").bind(session);
    let turns = turns.execute(&mut *transaction).await.map_err(failed())?;
    transaction.commit().await.map_err(failed())?;
    Ok(turns.rows_affected())
}

#[cfg(test)]
mod tests;
