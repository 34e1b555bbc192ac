//! Drafts of unfinished answers. Only the newest of each turn counts, and all are written together at
//! intervals.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::SqliteConnection;

use crate::integers::u64_to_i64;

/// The text of an unfinished response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseDraft {
    /// Number of the message that the draft will become.
    pub(crate) seq: u64,
    pub(crate) text: String,
}

/// Writes drafts, except for turns that have ended and answers that are already stored.
pub(crate) async fn write_drafts(
    conn: &mut SqliteConnection,
    drafts: &HashMap<Arc<str>, ResponseDraft>,
) -> Result<(), sqlx::Error> {
    const DRAFT: &str = "INSERT INTO drafts (turn, seq, text) \
         SELECT t.id, ?2, ?3 FROM turns AS t JOIN sessions AS s ON s.id = t.session \
         WHERE t.id = ?1 AND t.status = 0 AND s.message_count < ?2 \
         ON CONFLICT (turn) DO UPDATE SET seq = excluded.seq, text = excluded.text";
    for (turn, draft) in drafts {
        sqlx::query(DRAFT)
            .bind(Arc::clone(turn))
            .bind(u64_to_i64(draft.seq))
            .bind(draft.text.clone())
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}
