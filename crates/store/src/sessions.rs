//! Conversations: sessions, their messages, and the turns in which these were written.
//!
//! Messages are numbered 1, 2, 3 … in each session, without gaps, because only the newest are ever removed,
//! when an answer is generated again. The store keeps a message's parts as JSON text and does not interpret
//! them. A separate text column serves searches.

mod interrupted_turns;
mod messages;
mod record;
mod removal;
mod search;
mod turns;

use std::sync::Arc;

use sqlx::{QueryBuilder, Sqlite};

use crate::call_row::RowColumns;
use crate::database::Database;
use crate::error::StoreError;
use crate::size_limits::{MAX_MESSAGE_BYTES, MAX_SEARCHED_BYTES, MAX_SESSION_BYTES};

pub(crate) use interrupted_turns::close_running_turns;
pub use messages::MessagePage;
pub use record::{MessageRecord, NewMessage, SessionRecord, StoredRole, TitleBy, TurnRecord, TurnState};
pub use removal::RemovedSession;
pub use search::{SessionCursor, SessionPage, SessionRecordFilter};
pub use turns::{AppendedMessages, NewTurn, StartedTurn, TurnEnding, TurnOpening};

const READING: &str = "read of a conversation";
const WRITING: &str = "writing of a conversation";

/// The table of sessions, optionally restricted to one principal.
#[derive(Debug, Clone, Copy)]
pub struct SessionRepository<'s> {
    pub(crate) database: &'s Arc<Database>,
    pub(crate) principal: Option<&'s str>,
}

impl<'s> SessionRepository<'s> {
    /// Restricts access to one principal's sessions. Others appear not to exist.
    #[must_use]
    pub fn for_principal(self, principal: &'s str) -> Self {
        Self { principal: Some(principal), ..self }
    }

    /// Finds a session by id.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn get(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(record::SESSION_COLUMNS).push(" FROM sessions WHERE id = ").push_bind(id.to_owned());
        self.push_principal(&mut sql);
        let row = sql
            .build()
            .fetch_optional(self.database.readers())
            .await
            .map_err(StoreError::database(READING))?;
        row.as_ref().map(SessionRecord::read).transpose()
    }

    /// Number of sessions.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT count(*) FROM sessions WHERE true");
        self.push_principal(&mut sql);
        let row =
            sql.build().fetch_one(self.database.readers()).await.map_err(StoreError::database(READING))?;
        Ok(u64::try_from(RowColumns(&row).number(0)?).unwrap_or(0))
    }

    /// Sets the title of a session, or removes it with `None`. A model's title never replaces a person's.
    /// Returns true if the session now has this title.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn rename(&self, id: &str, title: Option<&str>, by: TitleBy) -> Result<bool, StoreError> {
        const RENAME: &str = "UPDATE sessions SET title = ?1, title_by = ?2 \
             WHERE id = ?3 AND (?4 IS NULL OR principal = ?4) AND title_by <= ?5";
        let by = if title.is_some() { by } else { TitleBy::Nobody };
        let rank = if title.is_some() { by } else { TitleBy::Person };
        let query = sqlx::query(RENAME)
            .bind(title.map(str::to_owned))
            .bind(by.number())
            .bind(id.to_owned())
            .bind(self.principal.map(str::to_owned))
            .bind(rank.number());
        self.database.change(WRITING, query).await
    }

    /// Adds the condition on the principal to a statement that already has a `WHERE`.
    fn push_principal(&self, sql: &mut QueryBuilder<Sqlite>) {
        if let Some(principal) = self.principal {
            sql.push(" AND principal = ").push_bind(principal.to_owned());
        }
    }

    /// Adds the condition on the principal for rows of a session, whose id is in `column`.
    fn push_session_principal(&self, sql: &mut QueryBuilder<Sqlite>, column: &'static str) {
        if let Some(principal) = self.principal {
            sql.push(" AND EXISTS (SELECT 1 FROM sessions WHERE id = ").push(column);
            sql.push(" AND principal = ").push_bind(principal.to_owned()).push(")");
        }
    }
}

#[cfg(test)]
mod tests;
