//! Reads messages in bounded pages, in either direction.

use futures_util::TryStreamExt;
use sqlx::{QueryBuilder, Sqlite};

use super::record::{MESSAGE_COLUMNS, MessageRecord};
use super::{READING, SessionRepository};
use crate::error::StoreError;
use crate::integers::{u64_to_i64, usize_to_i64};

/// Maximum number of messages per page.
const MAX_PAGE: usize = 1000;
/// Size of messages at which a page ends, in bytes.
const MAX_PAGE_BYTES: usize = 32 << 20;

/// A page of a session's messages, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<MessageRecord>,
    /// True if there are more messages in the reading direction.
    pub has_more: bool,
}

impl SessionRepository<'_> {
    /// Reads the messages after a number (0: from the start): at most `limit` (1 to 1,000) and about 32 MiB.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn messages_after(
        &self,
        session: &str,
        after: u64,
        limit: usize,
    ) -> Result<MessagePage, StoreError> {
        let mut sql = self.select(session);
        sql.push(" AND seq > ").push_bind(u64_to_i64(after)).push(" ORDER BY seq");
        self.page(sql, limit).await
    }

    /// Reads the newest messages, or the newest before a number: at most `limit` (1 to 1,000) and about 32
    /// MiB.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn messages_before(
        &self,
        session: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<MessagePage, StoreError> {
        let mut sql = self.select(session);
        if let Some(before) = before {
            sql.push(" AND seq < ").push_bind(u64_to_i64(before));
        }
        sql.push(" ORDER BY seq DESC");
        let mut page = self.page(sql, limit).await?;
        page.messages.reverse();
        Ok(page)
    }

    fn select(&self, session: &str) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(MESSAGE_COLUMNS).push(" FROM messages WHERE session = ").push_bind(session.to_owned());
        self.push_session_principal(&mut sql, "messages.session");
        sql
    }

    async fn page(&self, mut sql: QueryBuilder<Sqlite>, limit: usize) -> Result<MessagePage, StoreError> {
        let limit = limit.clamp(1, MAX_PAGE);
        sql.push(" LIMIT ").push_bind(usize_to_i64(limit + 1));
        let mut page = MessagePage::default();
        let mut bytes = 0;
        let mut rows = sql.build().fetch(self.database.readers());
        while let Some(row) = rows.try_next().await.map_err(StoreError::database(READING))? {
            if page.messages.len() >= limit || bytes > MAX_PAGE_BYTES {
                page.has_more = true;
                break;
            }
            let message = MessageRecord::read(&row)?;
            bytes += message.parts.get().len();
            page.messages.push(message);
        }
        Ok(page)
    }
}
