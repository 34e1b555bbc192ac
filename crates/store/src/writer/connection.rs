//! The writer's connection. It is opened again after doubtful errors, and switches its sync mode before each
//! use.

use sqlx::{Connection, SqliteConnection};

use crate::connector::DatabaseConnector;
use crate::options::Durability;

/// The connection, or the means to open it.
pub(super) struct WriterConnection {
    connector: DatabaseConnector,
    durability: Durability,
    conn: Option<SqliteConnection>,
    /// True if a commit returns only when it is on disk. Otherwise it may still be with the operating system.
    full_sync: bool,
}

impl WriterConnection {
    pub(super) fn new(connector: DatabaseConnector, durability: Durability, conn: SqliteConnection) -> Self {
        Self { connector, full_sync: durability == Durability::Each, durability, conn: Some(conn) }
    }

    /// Returns the connection. If `durable` or the settings require it, its commits are on disk when they
    /// return.
    pub(super) async fn get(&mut self, durable: bool) -> Result<&mut SqliteConnection, sqlx::Error> {
        let conn = match self.conn.take() {
            Some(open) => open,
            None => {
                self.full_sync = self.durability == Durability::Each;
                self.connector.writer().await?
            }
        };
        let conn = self.conn.insert(conn);
        let full = durable || self.durability == Durability::Each;
        if self.full_sync != full {
            let sql = if full { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            sqlx::query(sql).execute(&mut *conn).await?;
            self.full_sync = full;
        }
        Ok(conn)
    }

    /// Drops a doubtful connection, so that the next use opens a new one.
    pub(super) fn drop_connection(&mut self) {
        self.conn = None;
    }

    pub(super) async fn close(&mut self) -> Result<(), sqlx::Error> {
        match self.conn.take() {
            Some(conn) => conn.close().await,
            None => Ok(()),
        }
    }
}
