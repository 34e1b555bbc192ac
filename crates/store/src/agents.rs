//! Agents that were created over the network or on the command line. The store keeps an agent's definition as
//! JSON text and does not interpret it.

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use toolway_types::RawJson;

use crate::call_row::RowColumns;
use crate::database::Database;
use crate::error::StoreError;

/// An agent. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentRecord {
    /// Unique name of the agent.
    pub name: String,
    /// Definition of the agent, as JSON.
    pub body: RawJson,
    /// Time of creation.
    pub created_ms: i64,
    /// Time of the last change.
    pub updated_ms: i64,
}

/// The table of agents. A change is on disk when its method returns, regardless of the durability of calls.
#[derive(Debug, Clone, Copy)]
pub struct AgentRepository<'s>(pub(crate) &'s Database);

const WRITING: &str = "writing of an agent";
const READING: &str = "read of the agents";

impl AgentRepository<'_> {
    /// Lists all agents by name.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn list(&self) -> Result<Vec<AgentRecord>, StoreError> {
        const LIST: &str = "SELECT name, body, created_ms, updated_ms FROM agents ORDER BY name";
        let rows =
            sqlx::query(LIST).fetch_all(self.0.readers()).await.map_err(StoreError::database(READING))?;
        rows.iter().map(read).collect()
    }

    /// Finds an agent by name.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn get(&self, name: &str) -> Result<Option<AgentRecord>, StoreError> {
        const GET: &str = "SELECT name, body, created_ms, updated_ms FROM agents WHERE name = ?";
        let row = sqlx::query(GET)
            .bind(name)
            .fetch_optional(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        row.as_ref().map(read).transpose()
    }

    /// Adds an agent, or replaces the definition of the agent with this name. Returns true if the agent is
    /// new.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn put(&self, name: &str, body: &RawJson, at_ms: i64) -> Result<bool, StoreError> {
        const CHANGE: &str = "UPDATE agents SET body = ?, updated_ms = ? WHERE name = ?";
        const ADD: &str = "INSERT INTO agents (name, body, created_ms, updated_ms) VALUES (?1, ?2, ?3, ?3)";
        let (name, body) = (name.to_owned(), body.get().to_owned());
        self.0
            .write_durably(move |conn| {
                Box::pin(async move {
                    // Only this connection writes, so nothing happens between the two statements.
                    let change = sqlx::query(CHANGE).bind(body.clone()).bind(at_ms).bind(name.clone());
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

    /// Removes an agent. Returns true if it existed.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let remove = sqlx::query("DELETE FROM agents WHERE name = ?").bind(name.to_owned());
        self.0.change(WRITING, remove).await
    }
}

fn read(row: &SqliteRow) -> Result<AgentRecord, StoreError> {
    let columns = RowColumns(row);
    Ok(AgentRecord {
        name: columns.required(0)?,
        body: columns.json(1)?.unwrap_or_default(),
        created_ms: columns.number(2)?,
        updated_ms: columns.number(3)?,
    })
}

#[cfg(test)]
mod tests;
