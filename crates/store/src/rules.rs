//! Policy rules that were created over the network, in the order of evaluation. The store keeps a rule's
//! definition as JSON text and does not interpret it.

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection};
use toolway_types::RawJson;

use crate::call_row::RowColumns;
use crate::database::Database;
use crate::error::StoreError;

/// A policy rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleRecord {
    /// Unique name of the rule.
    pub name: String,
    /// Definition of the rule, as JSON.
    pub body: RawJson,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_ms: i64,
}

/// The table of rules. A change is on disk when its method returns, regardless of the durability of calls.
#[derive(Debug, Clone, Copy)]
pub struct RuleRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a rule";

impl RuleRepository<'_> {
    /// Lists all rules in the order of evaluation.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<RuleRecord>, StoreError> {
        const LIST: &str = "SELECT name, body, created_ms FROM rules ORDER BY position, name";
        let rows = self.0.rows("read of the rules", sqlx::query(LIST)).await?;
        rows.iter().map(read).collect()
    }

    /// Adds a rule at the end, or replaces the definition of the rule with this name without moving it.
    /// Returns true if the rule is new.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn put(&self, name: &str, body: &RawJson, at_ms: i64) -> Result<bool, StoreError> {
        const CHANGE: &str = "UPDATE rules SET body = ? WHERE name = ?";
        const ADD: &str = "INSERT INTO rules (name, position, body, created_ms) \
             VALUES (?, (SELECT coalesce(max(position) + 1, 0) FROM rules), ?, ?)";
        let (name, body) = (name.to_owned(), body.get().to_owned());
        self.0
            .write_durably(move |conn| {
                Box::pin(async move {
                    // Only this connection writes, so nothing happens between the two statements.
                    let change = sqlx::query(CHANGE).bind(body.clone()).bind(name.clone());
                    let changed = change.execute(&mut *conn).await.map_err(StoreError::database(WRITING))?;
                    if changed.rows_affected() > 0 {
                        return Ok(false);
                    }
                    let add = sqlx::query(ADD).bind(name).bind(body).bind(at_ms);
                    add.execute(conn).await.map_err(StoreError::database(WRITING))?;
                    Ok(true)
                })
            })
            .await
    }

    /// Removes a rule. Returns true if it existed.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let remove = sqlx::query("DELETE FROM rules WHERE name = ?").bind(name.to_owned());
        self.0.change(WRITING, remove).await
    }

    /// Moves a rule to the position after `before` other rules, or to the end if there are fewer. Returns
    /// true if the rule exists.
    ///
    /// # Errors
    /// Fails if SQLite fails. Then no rule has moved.
    pub async fn move_to(&self, name: &str, before: usize) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.0
            .write_durably(move |conn| {
                Box::pin(async move {
                    let moved = reorder(conn, &name, before).await;
                    moved.map_err(StoreError::database(WRITING))
                })
            })
            .await
    }
}

async fn reorder(conn: &mut SqliteConnection, name: &str, before: usize) -> Result<bool, sqlx::Error> {
    const ORDER: &str = "UPDATE rules SET position = j.key FROM json_each(?) AS j WHERE rules.name = j.value";
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
    let rows =
        sqlx::query("SELECT name FROM rules ORDER BY position, name").fetch_all(&mut *transaction).await?;
    let mut names = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    let Some(at) = names.iter().position(|known| known == name) else {
        transaction.rollback().await?;
        return Ok(false);
    };
    let moved = names.remove(at);
    names.insert(before.min(names.len()), moved);
    sqlx::query(ORDER).bind(serde_json::Value::from(names).to_string()).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}

fn read(row: &SqliteRow) -> Result<RuleRecord, StoreError> {
    let columns = RowColumns(row);
    Ok(RuleRecord {
        name: columns.required(0)?,
        body: columns.json(1)?.unwrap_or_default(),
        created_ms: columns.number(2)?,
    })
}

#[cfg(test)]
mod tests;
