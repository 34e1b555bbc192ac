//! Closes calls and turns that a gateway left open because it did not stop properly.

use sqlx::{Connection, SqliteConnection};

use crate::database::InterruptedWork;
use crate::error::StoreError;
use crate::outcome;
use crate::sessions::close_running_turns;
use crate::writer;
use crate::writer::started_calls::move_to_calls;

impl InterruptedWork {
    /// Closes all open calls and turns.
    pub(crate) async fn close_interrupted(
        conn: &mut SqliteConnection,
        now_ms: i64,
    ) -> Result<Self, StoreError> {
        Ok(Self { calls: close_open_calls(conn).await?, turns: close_running_turns(conn, now_ms).await? })
    }

    pub(crate) fn log(self) {
        let Self { calls, turns } = self;
        if calls > 0 {
            tracing::warn!(
                calls,
                "calls were open when the gateway last stopped; closed as gateway_restarted"
            );
        }
        if turns > 0 {
            tracing::warn!(turns, "turns were running when the gateway last stopped; marked as interrupted");
        }
    }
}

async fn close_open_calls(conn: &mut SqliteConnection) -> Result<u64, StoreError> {
    let failed = || StoreError::database("closing of calls left open");
    let outcome = outcome::restart_outcome();
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    move_to_calls(&mut transaction).await.map_err(failed())?;
    let done = sqlx::query("UPDATE calls SET status = ?, code = ?, outcome = ? WHERE status = 0")
        .bind(writer::rows::status_of(&outcome))
        .bind(outcome.error().map(|error| error.code.as_str()))
        .bind(outcome::encode(&outcome, usize::MAX))
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
    transaction.commit().await.map_err(failed())?;
    Ok(done.rows_affected())
}
