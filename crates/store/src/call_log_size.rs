//! Removes calls and returns empty pages to the file system, in small steps so that the writer is never
//! blocked for long.

use serde::Serialize;
use sqlx::{AssertSqlSafe, Row};

use crate::database::Database;
use crate::error::StoreError;

/// Maximum number of calls per step.
const STEP_ROWS: i64 = 500;
/// Maximum number of bytes per step.
pub(crate) const STEP_BYTES: i64 = 4 << 20;
/// Pages returned per step.
const STEP_PAGES: i64 = 128;
/// Number of empty pages that are kept, because new records will use them.
pub(crate) const PAGES_KEPT: i64 = 256;
/// Size of the record of a model request in bytes, with its index entries.
const REQUEST_BYTES: i64 = 384;

/// The result of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RemovedCalls {
    /// Number of calls.
    pub calls: u64,
    /// Bytes by which the database file shrank, or will shrink at the next checkpoint of its log.
    pub freed_bytes: u64,
}

/// Removes calls that started before a time.
pub(crate) async fn remove_older(database: &Database, before_ms: i64) -> Result<RemovedCalls, StoreError> {
    let mut removed = RemovedCalls::default();
    loop {
        let calls = remove_step(database, before_ms).await?;
        if calls == 0 {
            return Ok(removed);
        }
        removed.calls += calls;
    }
}

/// Removes some of the oldest calls that started before a time. Returns their number.
pub(crate) async fn remove_step(database: &Database, before_ms: i64) -> Result<u64, StoreError> {
    const OLDEST: &str = "SELECT seq, coalesce(octet_length(arguments), 0) + coalesce(octet_length(effective_arguments), 0) \
         + coalesce(octet_length(outcome), 0) FROM calls WHERE started_ms < ? AND status <> 0 ORDER BY started_ms, seq LIMIT ?";
    let rows = sqlx::query(OLDEST)
        .bind(before_ms)
        .bind(STEP_ROWS)
        .fetch_all(database.readers())
        .await
        .map_err(StoreError::database("read of the oldest calls"))?;
    let mut seqs: Vec<i64> = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in &rows {
        seqs.push(row.try_get(0).map_err(StoreError::database("read"))?);
        bytes += row.try_get::<i64, _>(1).map_err(StoreError::database("read"))?;
        if bytes > STEP_BYTES {
            break;
        }
    }
    if seqs.is_empty() { Ok(0) } else { remove_by_seq(database, &seqs).await }
}

/// Removes the calls with these sequence numbers, except running ones. Returns the number of removed calls.
pub(crate) async fn remove_by_seq(database: &Database, seqs: &[i64]) -> Result<u64, StoreError> {
    const DELETE: &str = "DELETE FROM calls WHERE seq IN (SELECT value FROM json_each(?)) AND status <> 0";
    let seqs = serde_json::Value::from(seqs).to_string();
    database
        .write(move |conn| {
            Box::pin(async move {
                let done = sqlx::query(DELETE)
                    .bind(seqs)
                    .execute(conn)
                    .await
                    .map_err(StoreError::database("removal of calls"))?;
                Ok(done.rows_affected())
            })
        })
        .await
}

/// Approximate size of conversations and usage records in bytes.
pub(crate) async fn conversation_bytes(database: &Database) -> Result<i64, StoreError> {
    const BYTES: &str = "SELECT (SELECT coalesce(sum(bytes), 0) FROM sessions) \
         + ? * (SELECT count(*) FROM model_requests)";
    let (bytes,) = sqlx::query_as(BYTES)
        .bind(REQUEST_BYTES)
        .fetch_one(database.readers())
        .await
        .map_err(StoreError::database("read of its size"))?;
    Ok(bytes)
}

/// Returns empty pages to the file system, except for a reserve. Returns the number of bytes.
pub(crate) async fn release_pages(database: &Database) -> Result<u64, StoreError> {
    let before = DatabasePages::read(database).await?;
    let mut now = before;
    while now.free > PAGES_KEPT.max(now.all / 16) {
        let sql = AssertSqlSafe(format!("PRAGMA incremental_vacuum({STEP_PAGES})"));
        database
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(sql).fetch_all(conn).await;
                    done.map(drop).map_err(StoreError::database("giving back of empty pages"))
                })
            })
            .await?;
        let next = DatabasePages::read(database).await?;
        if next.all >= now.all {
            // The database was created without `auto_vacuum`, so it cannot shrink.
            break;
        }
        now = next;
    }
    Ok(u64::try_from((before.all - now.all) * before.size).unwrap_or(0))
}

/// Size of the database, in pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatabasePages {
    pub(crate) all: i64,
    pub(crate) free: i64,
    size: i64,
}

impl DatabasePages {
    pub(crate) async fn read(database: &Database) -> Result<Self, StoreError> {
        const SQL: &str = "SELECT page_count, freelist_count, page_size \
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let (all, free, size) = sqlx::query_as(SQL)
            .fetch_one(database.readers())
            .await
            .map_err(StoreError::database("read of its size"))?;
        Ok(Self { all, free, size })
    }

    pub(crate) fn used_bytes(self) -> i64 {
        (self.all - self.free) * self.size
    }
}
