//! Policy rules that were made over the network, in the order in which they are tried. What a rule says is
//! others' business: here it is a JSON text.

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection};
use toolway_types::RawJson;

use crate::call_row::RowColumns;
use crate::database::Database;
use crate::error::StoreError;

/// A rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleRecord {
    /// Its name, which no other has.
    pub name: String,
    /// Definition of the rule, as JSON.
    pub body: RawJson,
    /// When it was first made, in milliseconds since the Unix epoch.
    pub created_ms: i64,
}

/// The table of rules. Changes are on disk, whatever the durability of calls, when they answer.
#[derive(Debug, Clone, Copy)]
pub struct RuleRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of a rule";

impl RuleRepository<'_> {
    /// Every rule, in the order in which they are tried.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<RuleRecord>, StoreError> {
        const LIST: &str = "SELECT name, body, created_ms FROM rules ORDER BY position, name";
        let rows = self.0.rows("read of the rules", sqlx::query(LIST)).await?;
        rows.iter().map(read).collect()
    }

    /// Adds a rule at the end, or changes what the one of this name says, in its place. Answers whether it is
    /// new.
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
                    // Nobody else writes, so nothing happens between these two.
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

    /// Removes a rule. Answers whether there was one.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let remove = sqlx::query("DELETE FROM rules WHERE name = ?").bind(name.to_owned());
        self.0.change(WRITING, remove).await
    }

    /// Moves a rule so that `before` others come before it; past the end means to the end. Answers whether
    /// there is one.
    ///
    /// # Errors
    /// Fails if SQLite fails. Then nothing has moved.
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
