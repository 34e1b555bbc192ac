//! Tokens: what is known of each, never its text.

use std::sync::Arc;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use toolway_types::Role;

use crate::call_row::{RowColumns, parse_text};
use crate::database::Database;
use crate::error::StoreError;

/// A token. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRecord {
    /// Its id, which is also its principal's; the owner's is `owner`.
    pub id: String,
    /// SHA-256 of its text. Never shown.
    #[serde(skip)]
    pub hash: [u8; 32],
    /// Role of the token.
    pub role: Role,
    /// A name for people.
    pub label: String,
    /// The only agent it may use.
    pub agent: Option<String>,
    /// The device it was made for.
    pub device_id: Option<String>,
    /// That device's name.
    pub device_name: Option<String>,
    /// That device's platform.
    pub platform: Option<String>,
    /// When it was made.
    pub created_ms: i64,
    /// When it ends.
    pub expires_ms: Option<i64>,
    /// When it was revoked.
    pub revoked_ms: Option<i64>,
    /// When it was last used, to about a second.
    pub last_used_ms: Option<i64>,
}

impl TokenRecord {
    /// Reports whether the token is valid at a time.
    #[must_use]
    pub fn is_active(&self, now_ms: i64) -> bool {
        self.revoked_ms.is_none() && self.expires_ms.is_none_or(|end| now_ms < end)
    }
}

/// The table of tokens. Changes are on disk, whatever the durability of calls, when they answer.
#[derive(Debug, Clone, Copy)]
pub struct TokenRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a token";
const COLUMNS: &str = "id, hash, role, label, agent, device_id, device_name, platform, created_ms, expires_ms, \
     revoked_ms, last_used_ms";

impl TokenRepository<'_> {
    /// Adds a token.
    ///
    /// # Errors
    /// [`StoreError::TokenExists`] where its id or its hash is there already; else what SQLite says.
    pub async fn insert(&self, token: &TokenRecord) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO tokens (id, hash, role, label, agent, device_id, device_name, platform, \
             created_ms, expires_ms, revoked_ms, last_used_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) \
             ON CONFLICT DO NOTHING";
        let query = sqlx::query(INSERT)
            .bind(token.id.clone())
            .bind(token.hash.to_vec())
            .bind(token.role.as_str())
            .bind(token.label.clone())
            .bind(token.agent.clone())
            .bind(token.device_id.clone())
            .bind(token.device_name.clone())
            .bind(token.platform.clone())
            .bind(token.created_ms)
            .bind(token.expires_ms)
            .bind(token.revoked_ms)
            .bind(token.last_used_ms);
        let inserted = self.0.change(WRITING, query).await?;
        if inserted { Ok(()) } else { Err(StoreError::TokenExists { id: token.id.clone() }) }
    }

    /// Every token, oldest first; those that were revoked or have ended too.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.0.flush_before_read().await;
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM tokens ORDER BY created_ms, id"));
        let rows = self.0.rows("read of the tokens", sqlx::query(sql)).await?;
        rows.iter().map(read).collect()
    }

    /// The tokens that let anyone in at a time.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn active(&self, now_ms: i64) -> Result<Vec<TokenRecord>, StoreError> {
        let mut all = self.list().await?;
        all.retain(|token| token.is_active(now_ms));
        Ok(all)
    }

    /// Revokes a token for good. Answers whether there was one that was not revoked yet.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn revoke(&self, id: &str, at_ms: i64) -> Result<bool, StoreError> {
        const REVOKE: &str = "UPDATE tokens SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL";
        let id = id.to_owned();
        self.0.change(WRITING, sqlx::query(REVOKE).bind(at_ms).bind(id)).await
    }

    /// Names a token. Answers whether there is one.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn set_label(&self, id: &str, label: &str) -> Result<bool, StoreError> {
        let (id, label) = (id.to_owned(), label.to_owned());
        self.0
            .change(WRITING, sqlx::query("UPDATE tokens SET label = ? WHERE id = ?").bind(label).bind(id))
            .await
    }

    /// Replaces a token's hash: its old text lets nobody in any more. Answers whether there is one.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn replace_hash(&self, id: &str, hash: [u8; 32]) -> Result<bool, StoreError> {
        let id = id.to_owned();
        let query = sqlx::query("UPDATE tokens SET hash = ? WHERE id = ?").bind(hash.to_vec()).bind(id);
        self.0.change(WRITING, query).await
    }

    /// Notes that a token was used. Costs a moment and is written within about a second.
    pub fn touch(&self, id: &Arc<str>, at_ms: i64) {
        self.0.queue.touch_token(id, at_ms);
    }
}

fn read(row: &SqliteRow) -> Result<TokenRecord, StoreError> {
    let columns = RowColumns(row);
    let hash = columns.blob(1)?.try_into().map_err(|hash: Vec<u8>| StoreError::BadValue {
        what: "token hash",
        text: format!("{} bytes", hash.len()),
    })?;
    Ok(TokenRecord {
        id: columns.required(0)?,
        hash,
        role: parse_text("role", &columns.required(2)?)?,
        label: columns.required(3)?,
        agent: columns.text(4)?,
        device_id: columns.text(5)?,
        device_name: columns.text(6)?,
        platform: columns.text(7)?,
        created_ms: columns.number(8)?,
        expires_ms: columns.number_or_none(9)?,
        revoked_ms: columns.number_or_none(10)?,
        last_used_ms: columns.number_or_none(11)?,
    })
}

#[cfg(test)]
mod tests;
