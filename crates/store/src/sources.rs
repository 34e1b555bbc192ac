//! Sources of tools, and the permanent assignment of slugs to them.

use serde::Serialize;
use sqlx::Connection;
use sqlx::sqlite::SqliteRow;
use toolway_types::Slug;

use crate::call_row::{RowColumns, parse_text};
use crate::database::Database;
use crate::error::StoreError;
use crate::specs;
use crate::writer::soft_changes::SourceChange;

/// A source. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceRecord {
    /// Immutable name of the source.
    pub slug: Slug,
    /// Id of its token.
    pub token_id: String,
    /// Identity by which a reconnecting device finds its source. Unique within its token.
    pub identity_key: String,
    /// Kind of the source, such as `device`.
    pub kind: String,
    /// Display name; it may change.
    pub label: String,
    /// Platform of the source.
    pub platform: Option<String>,
    /// Version of its program.
    pub app_version: Option<String>,
    /// Time of its first registration.
    pub created_ms: i64,
    /// Time of the last contact, to about a second.
    pub last_seen_ms: i64,
    /// Names of its tools, as last registered.
    pub tools: Vec<String>,
    /// Time of removal. The slug remains reserved.
    pub removed_ms: Option<i64>,
}

/// The table of sources.
#[derive(Debug, Clone, Copy)]
pub struct SourceRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a source";
const COLUMNS: &str = "slug, token_id, identity_key, kind, label, platform, app_version, created_ms, last_seen_ms, \
     tools, removed_ms";

impl SourceRepository<'_> {
    /// Lists all sources by slug, including removed ones, because their slugs stay reserved.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn all(&self) -> Result<Vec<SourceRecord>, StoreError> {
        self.0.flush_before_read().await;
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM sources ORDER BY slug"));
        let rows = self.0.rows("read of the sources", sqlx::query(sql)).await?;
        rows.iter().map(read).collect()
    }

    /// Adds a source, or replaces its data. A removed source never returns: its identity may get another
    /// source with another slug.
    ///
    /// # Errors
    /// [`StoreError::SlugTaken`] if the slug belongs to another identity or to a removed source, or if the
    /// identity has another slug; otherwise the error of SQLite.
    pub async fn upsert(&self, source: &SourceRecord) -> Result<(), StoreError> {
        const UPSERT: &str = "INSERT INTO sources (slug, token_id, identity_key, kind, label, platform, app_version, \
             created_ms, last_seen_ms, tools, removed_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?) \
             ON CONFLICT (slug) DO UPDATE SET kind = excluded.kind, label = excluded.label, \
             platform = excluded.platform, app_version = excluded.app_version, \
             last_seen_ms = excluded.last_seen_ms, tools = excluded.tools, removed_ms = excluded.removed_ms \
             WHERE token_id = excluded.token_id AND identity_key = excluded.identity_key \
             AND removed_ms IS NULL \
             ON CONFLICT (token_id, identity_key) WHERE removed_ms IS NULL DO NOTHING";
        let tools = serde_json::Value::from(source.tools.clone()).to_string();
        let source = source.clone();
        self.0
            .write(move |conn| {
                Box::pin(async move {
                    let done = sqlx::query(UPSERT)
                        .bind(source.slug.as_str())
                        .bind(source.token_id)
                        .bind(source.identity_key)
                        .bind(source.kind)
                        .bind(source.label)
                        .bind(source.platform)
                        .bind(source.app_version)
                        .bind(source.created_ms)
                        .bind(source.last_seen_ms)
                        .bind(tools)
                        .bind(source.removed_ms)
                        .execute(conn)
                        .await
                        .map_err(StoreError::database(WRITING))?;
                    if done.rows_affected() == 0 {
                        return Err(StoreError::SlugTaken { slug: source.slug.to_string() });
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Changes the display name. Returns true if the source exists and was not removed.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn set_label(&self, slug: &Slug, label: &str) -> Result<bool, StoreError> {
        const RENAME: &str = "UPDATE sources SET label = ? WHERE slug = ? AND removed_ms IS NULL";
        let (slug, label) = (slug.to_string(), label.to_owned());
        self.0.change(WRITING, sqlx::query(RENAME).bind(label).bind(slug)).await
    }

    /// Removes a source and the specs of its tools. Its row stays, so that no other source gets its slug.
    /// Returns true if the source existed.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn remove(&self, slug: &Slug, at_ms: i64) -> Result<bool, StoreError> {
        const REMOVE: &str = "UPDATE sources SET removed_ms = ? WHERE slug = ? AND removed_ms IS NULL";
        let failed = || StoreError::database(WRITING);
        let remove = sqlx::query(REMOVE).bind(at_ms).bind(slug.to_string());
        let forget = specs::forget(slug);
        self.0
            .write_durably(move |conn| {
                Box::pin(async move {
                    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
                    let removed = remove.execute(&mut *transaction).await.map_err(failed())?;
                    forget.execute(&mut *transaction).await.map_err(failed())?;
                    transaction.commit().await.map_err(failed())?;
                    Ok(removed.rows_affected() > 0)
                })
            })
            .await
    }

    /// Records the last contact of a source. Returns at once; the change is written within about a second.
    pub fn touch(&self, slug: &Slug, seen_ms: i64) {
        self.0.queue.change_source(slug, SourceChange { seen_ms, tools: None });
    }

    /// Records the tools of a source. Returns at once; the change is written within about a second.
    pub fn set_tools(&self, slug: &Slug, tools: Vec<String>, seen_ms: i64) {
        self.0.queue.change_source(slug, SourceChange { seen_ms, tools: Some(tools) });
    }
}

fn read(row: &SqliteRow) -> Result<SourceRecord, StoreError> {
    let columns = RowColumns(row);
    let tools = columns.required(9)?;
    Ok(SourceRecord {
        slug: parse_text("source name", &columns.required(0)?)?,
        token_id: columns.required(1)?,
        identity_key: columns.required(2)?,
        kind: columns.required(3)?,
        label: columns.required(4)?,
        platform: columns.text(5)?,
        app_version: columns.text(6)?,
        created_ms: columns.number(7)?,
        last_seen_ms: columns.number(8)?,
        tools: serde_json::from_str(&tools)
            .map_err(|_| StoreError::BadValue { what: "list of tools", text: tools })?,
        removed_ms: columns.number_or_none(10)?,
    })
}

#[cfg(test)]
mod tests;
