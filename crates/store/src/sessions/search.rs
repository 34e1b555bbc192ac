//! Lists and searches sessions, newest first. A text search scans messages in bounded steps, and a page ends
//! when its time is up.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::{QueryBuilder, Sqlite};
use tokio::time::Instant;

use super::record::{SESSION_COLUMNS, SessionRecord};
use super::{MAX_SEARCHED_BYTES, READING, SessionRepository};
use crate::call_row::RowColumns;
use crate::error::StoreError;
use crate::integers::usize_to_i64;

/// Maximum number of sessions per page.
const MAX_PAGE: usize = 1000;
/// Number of sessions per step.
const STEP_SESSIONS: usize = 256;
/// Approximate size of the texts that one statement searches, in bytes.
const STEP_BYTES: u64 = 4 << 20;
/// Time limit of a text search for one page.
const SEARCH_TIME: Duration = Duration::from_millis(250);

/// Filter for sessions. A session must match all fields that are set. The default matches all sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionRecordFilter {
    /// Agent that was used last in the session.
    pub agent: Option<String>,
    /// Text in the title or in a message, in upper or lower case. A text search takes time, so its pages may
    /// end before they are full; see [`SessionPage`].
    pub text: Option<String>,
}

/// A page of sessions, most recently used first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionRecord>,
    /// Cursor of the next page. None if this is the last page.
    pub next: Option<SessionCursor>,
}

/// Start of a page. Its text is opaque: clients only send it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCursor {
    updated_ms: i64,
    id: String,
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated_ms, self.id)
    }
}

impl FromStr for SessionCursor {
    type Err = StoreError;
    fn from_str(text: &str) -> Result<Self, StoreError> {
        let (updated, id) = text.split_once('.').ok_or(StoreError::BadCursor)?;
        let updated_ms = updated.parse().map_err(|_| StoreError::BadCursor)?;
        Ok(Self { updated_ms, id: id.to_owned() })
    }
}

impl SessionCursor {
    fn of(session: &SessionRecord) -> Self {
        Self { updated_ms: session.updated_ms, id: session.id.clone() }
    }
}

impl SessionRepository<'_> {
    /// Lists the sessions that match a filter, most recently used first: at most `limit` (1 to 1,000) per
    /// page.
    ///
    /// A text search also ends the page after a quarter of a second. The page may then be empty although
    /// there is a next one.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(
        &self,
        filter: &SessionRecordFilter,
        before: Option<&SessionCursor>,
        limit: usize,
    ) -> Result<SessionPage, StoreError> {
        let limit = limit.clamp(1, MAX_PAGE);
        match filter.text.as_deref().map(normalise_text).filter(|text| !text.is_empty()) {
            Some(needle) => self.search(filter, &needle, before.cloned(), limit).await,
            None => {
                let mut sessions = self.step(filter, before, limit + 1).await?;
                let has_more = sessions.len() > limit;
                sessions.truncate(limit);
                let next = sessions.last().filter(|_| has_more).map(SessionCursor::of);
                Ok(SessionPage { sessions, next })
            }
        }
    }

    async fn search(
        &self,
        filter: &SessionRecordFilter,
        needle: &str,
        mut reached: Option<SessionCursor>,
        limit: usize,
    ) -> Result<SessionPage, StoreError> {
        let began = Instant::now();
        let mut page = SessionPage::default();
        loop {
            let step = self.step(filter, reached.as_ref(), STEP_SESSIONS).await?;
            let is_last = step.len() < STEP_SESSIONS;
            let mut rest = step.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_capacity(rest));
                let found = self.matching_ids(needle, now).await?;
                for session in now.iter().filter(|it| found.contains(it.id.as_str())) {
                    if page.sessions.len() >= limit {
                        page.next = page.sessions.last().map(SessionCursor::of);
                        return Ok(page);
                    }
                    page.sessions.push(session.clone());
                }
                let is_end = is_last && later.is_empty();
                if !is_end && began.elapsed() > SEARCH_TIME {
                    page.next = now.last().map(SessionCursor::of);
                    return Ok(page);
                }
                rest = later;
            }
            if is_last {
                return Ok(page);
            }
            reached = step.last().map(SessionCursor::of);
        }
    }

    /// Sessions that match the filter except for the text, starting at a cursor.
    async fn step(
        &self,
        filter: &SessionRecordFilter,
        before: Option<&SessionCursor>,
        limit: usize,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(SESSION_COLUMNS).push(" FROM sessions WHERE true");
        self.push_principal(&mut sql);
        if let Some(agent) = &filter.agent {
            sql.push(" AND agent = ").push_bind(agent.clone());
        }
        if let Some(before) = before {
            sql.push(" AND (updated_ms, id) < (").push_bind(before.updated_ms);
            sql.push(", ").push_bind(before.id.clone()).push(")");
        }
        sql.push(" ORDER BY updated_ms DESC, id DESC LIMIT ").push_bind(usize_to_i64(limit));
        let rows =
            sql.build().fetch_all(self.database.readers()).await.map_err(StoreError::database(READING))?;
        rows.iter().map(SessionRecord::read).collect()
    }

    /// Ids of those sessions that contain the text. Only one such statement runs at a time, so that readers
    /// remain free for indexed queries.
    async fn matching_ids(
        &self,
        needle: &str,
        sessions: &[SessionRecord],
    ) -> Result<HashSet<String>, StoreError> {
        const FOUND: &str = "SELECT j.value FROM json_each(?) AS j WHERE EXISTS \
             (SELECT 1 FROM messages WHERE session = j.value AND instr(text, ?))";
        let named = |it: &&SessionRecord| {
            it.title.as_deref().is_some_and(|title| normalise_text(title).contains(needle))
        };
        let (found, others): (Vec<&SessionRecord>, Vec<&SessionRecord>) = sessions.iter().partition(named);
        let mut found: HashSet<String> = found.into_iter().map(|it| it.id.clone()).collect();
        if others.is_empty() {
            return Ok(found);
        }
        let others = serde_json::Value::from_iter(others.iter().map(|it| it.id.as_str())).to_string();
        let _alone = self.database.search_lock.lock().await;
        let rows = sqlx::query(FOUND)
            .bind(others)
            .bind(needle)
            .fetch_all(self.database.readers())
            .await
            .map_err(StoreError::database(READING))?;
        for row in &rows {
            found.insert(RowColumns(row).required(0)?);
        }
        Ok(found)
    }
}

/// Number of sessions that one statement may search, at least one.
fn statement_capacity(sessions: &[SessionRecord]) -> usize {
    let mut bytes = 0_u64;
    let within = |it: &&SessionRecord| {
        bytes = bytes.saturating_add(it.bytes.min(it.messages.saturating_mul(MAX_SEARCHED_BYTES as u64)));
        bytes <= STEP_BYTES
    };
    sessions.iter().take_while(within).count().max(1).min(sessions.len())
}

/// Normalises a text for search: lower case, truncated to the searched length.
pub(super) fn normalise_text(text: &str) -> String {
    // Character by character, so that a letter has the same lower case at every position in a word.
    let mut folded = String::with_capacity(text.len().min(MAX_SEARCHED_BYTES));
    for letter in
        text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter })
    {
        if folded.len() + letter.len_utf8() > MAX_SEARCHED_BYTES {
            break;
        }
        folded.push(letter);
    }
    folded
}

#[cfg(test)]
mod tests;
