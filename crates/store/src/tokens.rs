//! Records of tokens, without their text.

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
    /// Id of the token and of its principal; `owner` for the owner's token.
    pub id: String,
    /// SHA-256 of the token's text. Never shown.
    #[serde(skip)]
    pub hash: [u8; 32],
    /// Role of the token.
    pub role: Role,
    /// Display name.
    pub label: String,
    /// The only agent that the token may use.
    pub agent: Option<String>,
    /// Id of the device for which the token was created.
    pub device_id: Option<String>,
    /// Name of that device.
    pub device_name: Option<String>,
    /// Platform of that device.
    pub platform: Option<String>,
    /// Time of creation.
    pub created_ms: i64,
    /// Time of expiry.
    pub expires_ms: Option<i64>,
    /// Time of revocation.
    pub revoked_ms: Option<i64>,
    /// Time of the last use, to about a second.
    pub last_used_ms: Option<i64>,
}

impl TokenRecord {
    /// True if the token is valid at a time.
    #[must_use]
    pub fn is_active(&self, now_ms: i64) -> bool {
        self.revoked_ms.is_none() && self.expires_ms.is_none_or(|end| now_ms < end)
    }
}

/// The table of tokens. A change is on disk when its method returns, regardless of the durability of calls.
#[derive(Debug, Clone, Copy)]
pub struct TokenRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a token";
const COLUMNS: &str = "id, hash, role, label, agent, device_id, device_name, platform, created_ms, expires_ms, \
     revoked_ms, last_used_ms";

impl TokenRepository<'_> {
    /// Adds a token.
    ///
    /// # Errors
    /// [`StoreError::TokenExists`] if the id or the hash exists; otherwise the error of SQLite.
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

    /// Lists all tokens, oldest first, including revoked and expired ones.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        self.0.flush_before_read().await;
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM tokens ORDER BY created_ms, id"));
        let rows = self.0.rows("read of the tokens", sqlx::query(sql)).await?;
        rows.iter().map(read).collect()
    }

    /// Lists the tokens that are valid at a time.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn active(&self, now_ms: i64) -> Result<Vec<TokenRecord>, StoreError> {
        let mut all = self.list().await?;
        all.retain(|token| token.is_active(now_ms));
        Ok(all)
    }

    /// Revokes a token permanently. Returns true if the token existed and was not revoked before.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn revoke(&self, id: &str, at_ms: i64) -> Result<bool, StoreError> {
        const REVOKE: &str = "UPDATE tokens SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL";
        let id = id.to_owned();
        self.0.change(WRITING, sqlx::query(REVOKE).bind(at_ms).bind(id)).await
    }

    /// Sets the display name of a token. Returns true if the token exists.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn set_label(&self, id: &str, label: &str) -> Result<bool, StoreError> {
        let (id, label) = (id.to_owned(), label.to_owned());
        self.0
            .change(WRITING, sqlx::query("UPDATE tokens SET label = ? WHERE id = ?").bind(label).bind(id))
            .await
    }

    /// Replaces the hash of a token, so that its old text is no longer valid. Returns true if the token
    /// exists.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn replace_hash(&self, id: &str, hash: [u8; 32]) -> Result<bool, StoreError> {
        let id = id.to_owned();
        let query = sqlx::query("UPDATE tokens SET hash = ? WHERE id = ?").bind(hash.to_vec()).bind(id);
        self.0.change(WRITING, query).await
    }

    /// Records a use of a token. Returns at once; the change is written within about a second.
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
