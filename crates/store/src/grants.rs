//! Grants: a person's answers to permission and approval requests that also apply to later calls.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;

use crate::call_row::{RowColumns, parse_text};
use crate::database::Database;
use crate::error::StoreError;

/// The kind of request that a grant answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// A tool wants to use a permission.
    Permission,
    /// A tool wants to run.
    Approval,
}

/// The decision of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantDecision {
    /// Allowed.
    Granted,
    /// Denied permanently.
    DeniedAlways,
}

impl GrantKind {
    /// Name in records and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Approval => "approval",
        }
    }
}

impl GrantDecision {
    /// Name in records and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::DeniedAlways => "denied_always",
        }
    }
}

/// The text is not a kind or decision of a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a kind of grant nor a decision")]
pub struct UnknownGrantValue(pub String);

impl FromStr for GrantKind {
    type Err = UnknownGrantValue;
    fn from_str(text: &str) -> Result<Self, UnknownGrantValue> {
        let all = [Self::Permission, Self::Approval];
        all.into_iter().find(|it| it.as_str() == text).ok_or_else(|| UnknownGrantValue(text.to_owned()))
    }
}

impl FromStr for GrantDecision {
    type Err = UnknownGrantValue;
    fn from_str(text: &str) -> Result<Self, UnknownGrantValue> {
        let all = [Self::Granted, Self::DeniedAlways];
        all.into_iter().find(|it| it.as_str() == text).ok_or_else(|| UnknownGrantValue(text.to_owned()))
    }
}

impl fmt::Display for GrantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for GrantDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A grant. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantRecord {
    /// Id of the grant, a UUIDv7.
    pub id: String,
    /// Kind of the answered request.
    pub kind: GrantKind,
    /// The permission, for a permission request.
    pub permission: Option<String>,
    /// Name or pattern of the source. The store does not interpret it.
    pub source: String,
    /// Name or pattern of the tool. The store does not interpret it.
    pub tool: String,
    /// Principal whose calls the grant covers. None covers all principals.
    pub principal: Option<String>,
    /// Agent whose calls the grant covers. None covers all agents and calls outside an agent.
    pub agent: Option<String>,
    /// The decision.
    pub decision: GrantDecision,
    /// Time of the decision.
    pub created_ms: i64,
    /// Principal that made the decision.
    pub created_by: String,
    /// Time of expiry.
    pub expires_ms: Option<i64>,
    /// Time of revocation.
    pub revoked_ms: Option<i64>,
}

impl GrantRecord {
    /// True if the grant is in force at a time.
    #[must_use]
    pub fn is_active(&self, now_ms: i64) -> bool {
        self.revoked_ms.is_none() && self.expires_ms.is_none_or(|end| now_ms < end)
    }
}

/// The table of grants. A change is on disk when its method returns, regardless of the durability of calls.
#[derive(Debug, Clone, Copy)]
pub struct GrantRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a grant";
const COLUMNS: &str = "id, kind, permission, source, tool, principal, agent, decision, created_ms, created_by, \
     expires_ms, revoked_ms";

impl GrantRepository<'_> {
    /// Lists all grants, oldest first, including revoked and expired ones. These are kept as long as call
    /// records.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<GrantRecord>, StoreError> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM grants ORDER BY created_ms, id"));
        let rows = self.0.rows("read of the grants", sqlx::query(sql)).await?;
        rows.iter().map(read).collect()
    }

    /// Lists the grants that are in force at a time, oldest first.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn active(&self, now_ms: i64) -> Result<Vec<GrantRecord>, StoreError> {
        let mut all = self.list().await?;
        all.retain(|grant| grant.is_active(now_ms));
        Ok(all)
    }

    /// Adds a grant.
    ///
    /// # Errors
    /// [`StoreError::GrantExists`] if the id exists; otherwise the error of SQLite.
    pub async fn insert(&self, grant: &GrantRecord) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO grants (id, kind, permission, source, tool, principal, agent, decision, \
             created_ms, created_by, expires_ms, revoked_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) \
             ON CONFLICT DO NOTHING";
        let query = sqlx::query(INSERT)
            .bind(grant.id.clone())
            .bind(grant.kind.as_str())
            .bind(grant.permission.clone())
            .bind(grant.source.clone())
            .bind(grant.tool.clone())
            .bind(grant.principal.clone())
            .bind(grant.agent.clone())
            .bind(grant.decision.as_str())
            .bind(grant.created_ms)
            .bind(grant.created_by.clone())
            .bind(grant.expires_ms)
            .bind(grant.revoked_ms);
        let inserted = self.0.change(WRITING, query).await?;
        if inserted { Ok(()) } else { Err(StoreError::GrantExists { id: grant.id.clone() }) }
    }

    /// Revokes a grant permanently. Returns true if the grant existed and was not revoked before.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn revoke(&self, id: &str, at_ms: i64) -> Result<bool, StoreError> {
        const REVOKE: &str = "UPDATE grants SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL";
        let id = id.to_owned();
        self.0.change(WRITING, sqlx::query(REVOKE).bind(at_ms).bind(id)).await
    }
}

/// Removes grants that ended before a time.
pub(crate) async fn remove_ended(database: &Database, before_ms: i64) -> Result<(), StoreError> {
    const ENDED: &str = "SELECT EXISTS (SELECT 1 FROM grants WHERE min(coalesce(revoked_ms, expires_ms), \
         coalesce(expires_ms, revoked_ms)) < ?)";
    const FORGET: &str = "DELETE FROM grants WHERE min(coalesce(revoked_ms, expires_ms), \
         coalesce(expires_ms, revoked_ms)) < ?";
    let (some,): (bool,) = sqlx::query_as(ENDED)
        .bind(before_ms)
        .fetch_one(database.readers())
        .await
        .map_err(StoreError::database("read of the grants"))?;
    if some {
        database.change("removal of old grants", sqlx::query(FORGET).bind(before_ms)).await?;
    }
    Ok(())
}

fn read(row: &SqliteRow) -> Result<GrantRecord, StoreError> {
    let columns = RowColumns(row);
    Ok(GrantRecord {
        id: columns.required(0)?,
        kind: parse_text("kind of grant", &columns.required(1)?)?,
        permission: columns.text(2)?,
        source: columns.required(3)?,
        tool: columns.required(4)?,
        principal: columns.text(5)?,
        agent: columns.text(6)?,
        decision: parse_text("decision", &columns.required(7)?)?,
        created_ms: columns.number(8)?,
        created_by: columns.required(9)?,
        expires_ms: columns.number_or_none(10)?,
        revoked_ms: columns.number_or_none(11)?,
    })
}

#[cfg(test)]
mod tests;
