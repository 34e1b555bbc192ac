//! Keeping the call log within its time and size: the oldest go first, a few at a time, so that the writer is
//! never held up for long. What they leave empty is given back to the file system in small steps too.

use serde::Serialize;
use sqlx::{AssertSqlSafe, Row};

use crate::error::StoreError;
use crate::grants;
use crate::specs;
use crate::store::Store;

/// Most calls of one step.
const STEP_ROWS: i64 = 500;
/// Most bytes of one step.
const STEP_BYTES: i64 = 4 << 20;
/// Pages given back in one step.
const STEP_PAGES: i64 = 128;
/// Empty pages below which nothing is given back; new records will use them.
const PAGES_KEPT: i64 = 256;
/// What the account of a request to a model takes, with its places in indexes.
const REQUEST_BYTES: i64 = 384;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RemovedCalls {
    /// How many calls.
    pub calls: u64,
    /// By how many bytes the database's file shrank, or will when its log is next moved into it.
    pub freed_bytes: u64,
}

impl Store {
    /// Throws away calls that are older than the settings allow, and the oldest where the database is larger
    /// than it may be without its conversations, which are kept until they are removed; calls that still run stay. With them go grants that have not counted for as long, and
    /// specs that no tool has any more. To be called now and then: it returns at once where there is nothing
    /// to do.
    ///
    /// # Errors
    /// What SQLite says; what was thrown away until then stays so.
    pub async fn enforce_retention(&self) -> Result<RemovedCalls, StoreError> {
        let options = &self.inner().options;
        let mut removed = RemovedCalls::default();
        let mut limit = i64::MAX;
        if options.retention_bytes > 0 {
            let calls = i64::try_from(options.retention_bytes).unwrap_or(i64::MAX);
            limit = calls.saturating_add(conversation_bytes(self).await?);
        }
        if options.retention_days > 0 {
            let oldest = self.inner().clock.now_ms() - i64::from(options.retention_days) * DAY_MS;
            removed = remove_older(self, oldest).await?;
            grants::remove_ended(self, oldest).await?;
        }
        while DatabasePages::read(self).await?.used_bytes() > limit {
            let calls = remove_step(self, i64::MAX).await?;
            if calls == 0 {
                break;
            }
            removed.calls += calls;
        }
        specs::remove_unused_documents(self).await?;
        removed.freed_bytes = release_pages(self).await?;
        Ok(removed)
    }
}

/// Throws away calls that started before a time.
pub(crate) async fn remove_older(store: &Store, before_ms: i64) -> Result<RemovedCalls, StoreError> {
    let mut removed = RemovedCalls::default();
    loop {
        let calls = remove_step(store, before_ms).await?;
        if calls == 0 {
            return Ok(removed);
        }
        removed.calls += calls;
    }
}

/// Throws away some of the oldest calls that started before a time. Answers how many.
async fn remove_step(store: &Store, before_ms: i64) -> Result<u64, StoreError> {
    const OLDEST: &str = "SELECT seq, coalesce(octet_length(arguments), 0) + coalesce(octet_length(effective_arguments), 0) \
         + coalesce(octet_length(outcome), 0) FROM calls WHERE started_ms < ? AND status <> 0 ORDER BY started_ms, seq LIMIT ?";
    let rows = sqlx::query(OLDEST)
        .bind(before_ms)
        .bind(STEP_ROWS)
        .fetch_all(store.readers())
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
    if seqs.is_empty() { Ok(0) } else { remove_by_seq(store, &seqs).await }
}

/// Throws away calls by their places, but for those that still run. Answers how many.
pub(crate) async fn remove_by_seq(store: &Store, seqs: &[i64]) -> Result<u64, StoreError> {
    const DELETE: &str = "DELETE FROM calls WHERE seq IN (SELECT value FROM json_each(?)) AND status <> 0";
    let seqs = serde_json::Value::from(seqs).to_string();
    store
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

/// How many bytes conversations and their accounts take, roughly.
async fn conversation_bytes(store: &Store) -> Result<i64, StoreError> {
    const BYTES: &str = "SELECT (SELECT coalesce(sum(bytes), 0) FROM sessions) \
         + ? * (SELECT count(*) FROM model_requests)";
    let (bytes,) = sqlx::query_as(BYTES)
        .bind(REQUEST_BYTES)
        .fetch_one(store.readers())
        .await
        .map_err(StoreError::database("read of its size"))?;
    Ok(bytes)
}

/// Gives empty pages back to the file system, but for a reserve. Answers how many bytes.
pub(crate) async fn release_pages(store: &Store) -> Result<u64, StoreError> {
    let before = DatabasePages::read(store).await?;
    let mut now = before;
    while now.free > PAGES_KEPT.max(now.all / 16) {
        let sql = AssertSqlSafe(format!("PRAGMA incremental_vacuum({STEP_PAGES})"));
        store
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(sql).fetch_all(conn).await;
                    done.map(drop).map_err(StoreError::database("giving back of empty pages"))
                })
            })
            .await?;
        let next = DatabasePages::read(store).await?;
        if next.all >= now.all {
            // Made without the ability to shrink.
            break;
        }
        now = next;
    }
    Ok(u64::try_from((before.all - now.all) * before.size).unwrap_or(0))
}

/// How large the database is.
#[derive(Debug, Clone, Copy)]
struct DatabasePages {
    all: i64,
    free: i64,
    size: i64,
}

impl DatabasePages {
    async fn read(store: &Store) -> Result<Self, StoreError> {
        const SQL: &str = "SELECT page_count, freelist_count, page_size \
             FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let (all, free, size) = sqlx::query_as(SQL)
            .fetch_one(store.readers())
            .await
            .map_err(StoreError::database("read of its size"))?;
        Ok(Self { all, free, size })
    }

    fn used_bytes(self) -> i64 {
        (self.all - self.free) * self.size
    }
}

#[cfg(test)]
mod tests;
