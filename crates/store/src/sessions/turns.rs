//! Writes turns. A turn begins with a person's message, in one transaction before the model is asked. Answers
//! and tool results are appended while it runs, and its end is written with the last of them.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::record::{NewMessage, StoredRole, TURN_COLUMNS, TurnRecord, TurnState};
use super::search::normalise_text;
use super::{MAX_MESSAGE_BYTES, MAX_SESSION_BYTES, READING, SessionRepository, WRITING};
use crate::call_row::RowColumns;
use crate::error::StoreError;
use crate::integers::{u64_to_i64, usize_to_i64};
use crate::token_counts::TokenCounts;
use crate::usage::{self, ModelRequestRecord};
use crate::writer::response_drafts::ResponseDraft;

/// Maximum number of turns that are read at once.
const MAX_TURNS: usize = 1000;

/// A new turn.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// Id of the turn, a UUIDv7.
    pub id: String,
    /// Session of the turn; created if it does not exist.
    pub session: String,
    /// Owner of the session.
    pub principal: String,
    /// Agent that answers.
    pub agent: String,
    /// Time of the start, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The input that the turn answers.
    pub opening: TurnOpening,
}

/// Input of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOpening {
    /// A new message.
    Message(NewMessage),
    /// An existing message of the person, to be answered again. Later messages are removed.
    Regenerate {
        /// Number of the message.
        answers: u64,
    },
}

/// Position of a new turn in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedTurn {
    /// Number of the message that the turn answers.
    pub answers: u64,
    /// Number of the turn's next message.
    pub next: u64,
    /// True if the session is new.
    pub is_new_session: bool,
}

/// Position of added messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedMessages {
    /// Number of the first added message.
    pub first: u64,
    /// Number of the turn's next message.
    pub next: u64,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnding {
    /// Id of the turn.
    pub turn: String,
    /// Final state; not [`TurnState::Running`].
    pub state: TurnState,
    /// Time of the end, in milliseconds since the Unix epoch.
    pub ended_ms: i64,
    /// The last messages.
    pub messages: Vec<NewMessage>,
    /// Model requests that are not stored yet.
    pub requests: Vec<ModelRequestRecord>,
    /// Code of the failure, for programs.
    pub code: Option<String>,
    /// Description of the failure.
    pub message: Option<String>,
    /// Reason why the model's last answer ended.
    pub finish: Option<String>,
    /// Number of requests to models.
    pub rounds: u32,
    /// Number of tool calls.
    pub calls: u32,
    /// Tokens of all requests of the turn.
    pub tokens: TokenCounts,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// Currency of `cost`.
    pub currency: Option<String>,
}

/// Totals of a session.
struct SessionTotals {
    session: String,
    messages: u64,
    bytes: u64,
    /// True if the turn has a draft.
    has_draft: bool,
}

impl SessionRepository<'_> {
    /// Begins a turn: creates its session if needed, stores the person's message or removes the answer to
    /// replace, and marks the turn as running. When this returns, everything survives a crash of the program
    /// (not of the computer). If it fails, nothing has changed.
    ///
    /// # Errors
    /// [`StoreError::SessionTaken`] if the session belongs to another principal; [`StoreError::Missing`] if
    /// the message to answer again does not exist; [`StoreError::MessageTooLarge`],
    /// [`StoreError::SessionFull`]; otherwise the error of SQLite.
    pub async fn begin(&self, turn: NewTurn) -> Result<StartedTurn, StoreError> {
        if let TurnOpening::Message(message) = &turn.opening {
            check_size(message)?;
        }
        self.database.write(move |conn| Box::pin(begin(conn, turn))).await
    }

    /// Appends messages of a running turn and the model requests that produced them, in one transaction that
    /// survives a crash of the program (not of the computer). If there are messages, the turn's draft is
    /// removed.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if the turn is not running (its session was removed, or a backup was
    /// restored); [`StoreError::MessageTooLarge`], [`StoreError::SessionFull`]; otherwise the error of
    /// SQLite. The requests are stored except in the last case.
    pub async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<AppendedMessages, StoreError> {
        let turn = turn.to_owned();
        self.database
            .write(move |conn| {
                Box::pin(async move {
                    let said = TurnBatch { turn: &turn, messages: &messages, requests: &requests, at_ms };
                    write_batch(conn, said, None).await
                })
            })
            .await
    }

    /// Ends a running turn with its last messages and their model requests, in one transaction that survives
    /// a crash of the program (not of the computer).
    ///
    /// # Errors
    /// The same as for [`SessionRepository::append`]. A turn whose last messages are refused ends
    /// nevertheless.
    pub async fn end(&self, ending: TurnEnding) -> Result<AppendedMessages, StoreError> {
        self.database
            .write(move |conn| {
                Box::pin(async move {
                    let said = TurnBatch {
                        turn: &ending.turn,
                        messages: &ending.messages,
                        requests: &ending.requests,
                        at_ms: ending.ended_ms,
                    };
                    write_batch(conn, said, Some(&ending)).await
                })
            })
            .await
    }

    /// Stores a draft of a running turn's answer. It is written within a quarter of a second, and becomes a
    /// message if the gateway stops before the answer is complete. `next` is the number of the answer
    /// ([`StartedTurn::next`], [`AppendedMessages::next`]); the draft of an answer that is already stored is
    /// dropped.
    pub fn draft(&self, turn: &Arc<str>, next: u64, text: impl Into<String>) {
        self.database.queue.draft(turn, ResponseDraft { seq: next, text: text.into() });
    }

    /// Lists the newest turns of a session, oldest first: at most `limit` (1 to 1,000).
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn turns(&self, session: &str, limit: usize) -> Result<Vec<TurnRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(TURN_COLUMNS).push(" FROM turns WHERE session = ").push_bind(session.to_owned());
        self.push_session_principal(&mut sql, "turns.session");
        sql.push(" ORDER BY started_ms DESC, id DESC LIMIT ")
            .push_bind(usize_to_i64(limit.clamp(1, MAX_TURNS)));
        let rows =
            sql.build().fetch_all(self.database.readers()).await.map_err(StoreError::database(READING))?;
        rows.iter().rev().map(TurnRecord::read).collect()
    }

    /// Finds a turn by id.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn turn(&self, id: &str) -> Result<Option<TurnRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(TURN_COLUMNS).push(" FROM turns WHERE id = ").push_bind(id.to_owned());
        self.push_session_principal(&mut sql, "turns.session");
        let row = sql
            .build()
            .fetch_optional(self.database.readers())
            .await
            .map_err(StoreError::database(READING))?;
        row.as_ref().map(TurnRecord::read).transpose()
    }
}

/// Messages and requests of a turn, to be written.
struct TurnBatch<'t> {
    turn: &'t str,
    messages: &'t [NewMessage],
    requests: &'t [ModelRequestRecord],
    at_ms: i64,
}

async fn begin(conn: &mut SqliteConnection, turn: NewTurn) -> Result<StartedTurn, StoreError> {
    let begun = begin_in_transaction(conn, turn).await;
    if begun.is_err() {
        roll_back(conn).await;
    }
    begun
}

async fn begin_in_transaction(conn: &mut SqliteConnection, turn: NewTurn) -> Result<StartedTurn, StoreError> {
    let failed = || StoreError::database(WRITING);
    let mut script = QueryBuilder::new(
        "BEGIN IMMEDIATE; SELECT principal, message_count, bytes FROM sessions WHERE id = ",
    );
    script.push_bind(turn.session.clone());
    let found = script.build().fetch_optional(&mut *conn).await.map_err(failed())?;
    let mut place = SessionTotals { session: turn.session.clone(), messages: 0, bytes: 0, has_draft: false };
    let is_new_session = found.is_none();
    let mut script = QueryBuilder::new("");
    match (&found, &turn.opening) {
        (Some(row), _) => {
            let columns = RowColumns(row);
            if columns.required(0)? != turn.principal {
                return Err(StoreError::SessionTaken { id: turn.session });
            }
            (place.messages, place.bytes) = (columns.count(1)?, columns.count(2)?);
        }
        (None, TurnOpening::Regenerate { .. }) => {
            return Err(StoreError::Missing { what: "conversation", id: turn.session });
        }
        (None, TurnOpening::Message(_)) => push_session(&mut script, &turn),
    }
    let answers = match &turn.opening {
        TurnOpening::Message(message) => {
            let said = std::slice::from_ref(message);
            check_capacity(&place, said)?;
            push_messages(&mut script, &mut place, &turn.id, said, turn.started_ms);
            place.messages
        }
        TurnOpening::Regenerate { answers } => {
            remove_answer(conn, &mut place, *answers).await?;
            *answers
        }
    };
    push_totals(&mut script, &place, turn.started_ms, Some(&turn.agent));
    script.push(
        "INSERT INTO turns (id, session, user_message_seq, status, replaced, started_ms, rounds, calls) VALUES (",
    );
    let mut values = script.separated(", ");
    values.push_bind(turn.id).push_bind(turn.session).push_bind(u64_to_i64(answers));
    values.push("0, 0").push_bind(turn.started_ms).push("0, 0");
    script.push("); COMMIT");
    script.build().execute(conn).await.map_err(failed())?;
    Ok(StartedTurn { answers, next: place.messages + 1, is_new_session })
}

/// Rolls back a failed transaction. SQLite may have ended it already.
async fn roll_back(conn: &mut SqliteConnection) {
    if let Err(error) = sqlx::query("ROLLBACK").execute(conn).await {
        tracing::debug!(%error, "a failed transaction was already rolled back");
    }
}

/// Removes the messages after a person's message, and marks the turns that answered it.
async fn remove_answer(
    conn: &mut SqliteConnection,
    place: &mut SessionTotals,
    answers: u64,
) -> Result<(), StoreError> {
    const ROLE: &str = "SELECT role FROM messages WHERE session = ? AND seq = ?";
    const BYTES: &str = "SELECT coalesce(sum(octet_length(parts) + octet_length(text)), 0) FROM messages \
         WHERE session = ? AND seq > ?";
    const DELETE: &str = "DELETE FROM messages WHERE session = ? AND seq > ?";
    const REPLACED: &str = "UPDATE turns SET replaced = 1 WHERE session = ? AND user_message_seq >= ?";
    let failed = || StoreError::database(WRITING);
    let (session, after) = (place.session.as_str(), u64_to_i64(answers));
    let role = sqlx::query(ROLE)
        .bind(session.to_owned())
        .bind(after)
        .fetch_optional(&mut *conn)
        .await
        .map_err(failed())?;
    let role = role.map(|row| RowColumns(&row).number(0)).transpose()?;
    if role != Some(StoredRole::User.number()) {
        return Err(StoreError::Missing { what: "message of a person", id: format!("{session}:{answers}") });
    }
    let bytes = sqlx::query(BYTES).bind(session.to_owned()).bind(after);
    let bytes = RowColumns(&bytes.fetch_one(&mut *conn).await.map_err(failed())?).count(0)?;
    for sql in [DELETE, REPLACED] {
        let query = sqlx::query(sql).bind(session.to_owned()).bind(after);
        query.execute(&mut *conn).await.map_err(failed())?;
    }
    place.messages = answers;
    place.bytes = place.bytes.saturating_sub(bytes);
    Ok(())
}

/// Stores the messages of a running turn, and ends it if requested. The requests are stored and the turn ends
/// even if the messages are refused.
async fn write_batch(
    conn: &mut SqliteConnection,
    said: TurnBatch<'_>,
    ending: Option<&TurnEnding>,
) -> Result<AppendedMessages, StoreError> {
    match write_batch_in_transaction(conn, &said, ending).await {
        Ok(kept) => kept,
        Err(error) => {
            roll_back(conn).await;
            Err(error)
        }
    }
}

/// Runs within a transaction. After an outer error nothing is stored.
async fn write_batch_in_transaction(
    conn: &mut SqliteConnection,
    said: &TurnBatch<'_>,
    ending: Option<&TurnEnding>,
) -> Result<Result<AppendedMessages, StoreError>, StoreError> {
    let failed = || StoreError::database(WRITING);
    let mut script = QueryBuilder::new("BEGIN IMMEDIATE; ");
    for request in said.requests {
        usage::push_request(&mut script, request);
    }
    push_totals_query(&mut script, said.turn);
    let row = script.build().fetch_optional(&mut *conn).await.map_err(failed())?;
    let mut script = QueryBuilder::new("");
    let Some(mut place) = row.as_ref().map(read_totals).transpose()? else {
        sqlx::query("COMMIT").execute(conn).await.map_err(failed())?;
        return Ok(Err(StoreError::Missing { what: "running turn", id: said.turn.to_owned() }));
    };
    let first = place.messages + 1;
    let refusal =
        said.messages.iter().try_for_each(check_size).and_then(|()| check_capacity(&place, said.messages));
    let has_said = refusal.is_ok() && !said.messages.is_empty();
    if has_said {
        push_messages(&mut script, &mut place, said.turn, said.messages, said.at_ms);
    }
    if let Some(ending) = ending {
        push_ending(&mut script, ending);
    }
    if has_said || ending.is_some() {
        push_totals(&mut script, &place, said.at_ms, None);
        if place.has_draft {
            script.push("DELETE FROM drafts WHERE turn = ").push_bind(said.turn.to_owned()).push("; ");
        }
    }
    script.push("COMMIT");
    script.build().execute(conn).await.map_err(failed())?;
    Ok(refusal.map(|()| AppendedMessages { first, next: place.messages + 1 }))
}

/// Statements that are sent to SQLite together, because each round trip to its thread takes time.
type SqlBatch = QueryBuilder<Sqlite>;

/// Queries the session totals of a running turn; [`read_totals`] reads the result.
fn push_totals_query(script: &mut SqlBatch, turn: &str) {
    script
        .push(
            "SELECT s.id, s.message_count, s.bytes, EXISTS (SELECT 1 FROM drafts AS d WHERE d.turn = t.id) \
             FROM turns AS t JOIN sessions AS s ON s.id = t.session WHERE t.status = 0 AND t.id = ",
        )
        .push_bind(turn.to_owned());
}

fn read_totals(row: &SqliteRow) -> Result<SessionTotals, StoreError> {
    let columns = RowColumns(row);
    Ok(SessionTotals {
        session: columns.required(0)?,
        messages: columns.count(1)?,
        bytes: columns.count(2)?,
        has_draft: columns.number(3)? != 0,
    })
}

fn push_session(script: &mut SqlBatch, turn: &NewTurn) {
    script.push(
        "INSERT INTO sessions (id, principal, agent, created_ms, updated_ms, title_by, message_count, bytes) VALUES (",
    );
    let mut values = script.separated(", ");
    values.push_bind(turn.session.clone()).push_bind(turn.principal.clone()).push_bind(turn.agent.clone());
    values.push_bind(turn.started_ms).push_bind(turn.started_ms).push("0, 0, 0");
    script.push("); ");
}

fn push_messages(
    script: &mut SqlBatch,
    place: &mut SessionTotals,
    turn: &str,
    messages: &[NewMessage],
    at_ms: i64,
) {
    for message in messages {
        let text = normalise_text(&message.text);
        place.messages += 1;
        place.bytes += (text.len() + message.parts.get().len()) as u64;
        script.push(
            "INSERT INTO messages (session, seq, role, truncated, created_ms, turn, text, parts) VALUES (",
        );
        let mut values = script.separated(", ");
        values.push_bind(place.session.clone()).push_bind(u64_to_i64(place.messages));
        values.push_bind(message.role.number()).push_bind(message.is_cut).push_bind(at_ms);
        values.push_bind(turn.to_owned()).push_bind(text).push_bind(message.parts.get().to_owned());
        script.push("); ");
    }
}

fn push_totals(script: &mut SqlBatch, place: &SessionTotals, at_ms: i64, agent: Option<&str>) {
    script.push("UPDATE sessions SET message_count = ").push_bind(u64_to_i64(place.messages));
    script.push(", bytes = ").push_bind(u64_to_i64(place.bytes));
    script.push(", updated_ms = max(updated_ms, ").push_bind(at_ms);
    script.push("), agent = coalesce(").push_bind(agent.map(str::to_owned));
    script.push(", agent) WHERE id = ").push_bind(place.session.clone()).push("; ");
}

fn push_ending(script: &mut SqlBatch, ending: &TurnEnding) {
    script.push(
        "UPDATE turns SET (status, ended_ms, code, message, finish_reason, rounds, calls, input, output, cached, \
         cache_written, reasoning, cost, currency) = (",
    );
    let mut values = script.separated(", ");
    values.push_bind(ending.state.number()).push_bind(ending.ended_ms).push_bind(ending.code.clone());
    values.push_bind(ending.message.clone()).push_bind(ending.finish.clone());
    values.push_bind(i64::from(ending.rounds)).push_bind(i64::from(ending.calls));
    for count in ending.tokens.numbers() {
        values.push_bind(count);
    }
    values.push_bind(ending.cost).push_bind(ending.currency.clone());
    script.push(") WHERE id = ").push_bind(ending.turn.clone()).push("; ");
}

fn check_size(message: &NewMessage) -> Result<(), StoreError> {
    let bytes = message.bytes();
    if bytes > MAX_MESSAGE_BYTES { Err(StoreError::MessageTooLarge { bytes }) } else { Ok(()) }
}

fn check_capacity(place: &SessionTotals, messages: &[NewMessage]) -> Result<(), StoreError> {
    let more: u64 = messages.iter().map(|message| message.bytes() as u64).sum();
    let fits = place.bytes.saturating_add(more) <= MAX_SESSION_BYTES;
    if fits { Ok(()) } else { Err(StoreError::SessionFull { id: place.session.clone() }) }
}

/// Stores the draft of a running turn's answer as a message.
pub(super) async fn save_draft_message(
    conn: &mut SqliteConnection,
    turn: &str,
    message: &NewMessage,
    at_ms: i64,
) -> Result<(), StoreError> {
    let failed = || StoreError::database(WRITING);
    let mut script = QueryBuilder::new("");
    push_totals_query(&mut script, turn);
    let row = script.build().fetch_optional(&mut *conn).await.map_err(failed())?;
    let Some(mut place) = row.as_ref().map(read_totals).transpose()? else { return Ok(()) };
    let mut script = QueryBuilder::new("");
    push_messages(&mut script, &mut place, turn, std::slice::from_ref(message), at_ms);
    push_totals(&mut script, &place, at_ms, None);
    script.build().execute(conn).await.map(drop).map_err(failed())
}

#[cfg(test)]
mod tests;
