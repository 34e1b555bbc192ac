//! A turn's way through the store: it begins with a person's message, in one transaction before the model is asked;
//! answers and results are added while it goes on; and it ends, with the last of them.

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

/// Most turns that are read at a time.
const MAX_TURNS: usize = 1000;

/// A turn that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// Its id, a UUIDv7.
    pub id: String,
    /// The session; made where there is none yet.
    pub session: String,
    /// Owner of the session.
    pub principal: String,
    /// The agent that answers.
    pub agent: String,
    /// When it begins, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The input that the turn answers.
    pub opening: TurnOpening,
}

/// Input of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOpening {
    /// A new message.
    Message(NewMessage),
    /// The person's message of this number, again: what came after it is taken out.
    Regenerate {
        /// The number.
        answers: u64,
    },
}

/// Position of a new turn in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedTurn {
    /// The number of the message that it answers.
    pub answers: u64,
    /// The number that its next message will have.
    pub next: u64,
    /// True if the session is new.
    pub is_new_session: bool,
}

/// Position of added messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedMessages {
    /// The number of the first.
    pub first: u64,
    /// The number that the turn's next message will have.
    pub next: u64,
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnding {
    /// The turn.
    pub turn: String,
    /// In which way; not [`TurnState::Running`].
    pub state: TurnState,
    /// When, in milliseconds since the Unix epoch.
    pub ended_ms: i64,
    /// The last of what was said.
    pub messages: Vec<NewMessage>,
    /// Requests to models that were not kept yet.
    pub requests: Vec<ModelRequestRecord>,
    /// Why it failed, for programs.
    pub code: Option<String>,
    /// Why it failed, in words.
    pub message: Option<String>,
    /// Why the model's last answer ended.
    pub finish: Option<String>,
    /// Number of requests to models.
    pub rounds: u32,
    /// Number of tool calls.
    pub calls: u32,
    /// Tokens of all its requests.
    pub tokens: TokenCounts,
    /// Total cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
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
    /// Begins a turn: makes its session where there is none, keeps the person's message or takes out the answer that
    /// is to be made again, and notes that the turn runs. All of it survives the program (not the computer) when this
    /// answers, or nothing has changed.
    ///
    /// # Errors
    /// [`StoreError::SessionTaken`] where the session is another principal's; [`StoreError::Missing`] where there is
    /// no such message to be answered again; [`StoreError::MessageTooLarge`], [`StoreError::SessionFull`]; else what
    /// SQLite says.
    pub async fn begin(&self, turn: NewTurn) -> Result<StartedTurn, StoreError> {
        if let TurnOpening::Message(message) = &turn.opening {
            check_size(message)?;
        }
        self.database.write(move |conn| Box::pin(begin(conn, turn))).await
    }

    /// Adds what was said in a running turn, and the requests to models that it came from, in one transaction that
    /// survives the program (not the computer). Where something was said, the turn's draft is gone then.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where the turn does not run (its session was removed, or a backup put in its place);
    /// [`StoreError::MessageTooLarge`], [`StoreError::SessionFull`]; else what SQLite says. But for the last, the
    /// requests are kept.
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

    /// Ends a running turn, with the last of what was said and the requests that it came from, in one transaction
    /// that survives the program (not the computer).
    ///
    /// # Errors
    /// As [`SessionRepository::append`] does. A turn whose last messages are refused has ended all the same.
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

    /// Notes how far the text of an answer is that is under way in a running turn. It is written within a quarter of
    /// a second, and becomes a message if the gateway stops before the answer is whole. `next` is the number that
    /// the answer will have ([`Begun::next`], [`Appended::next`]); a draft of one that is there already is dropped.
    pub fn draft(&self, turn: &Arc<str>, next: u64, text: impl Into<String>) {
        self.database.queue.draft(turn, ResponseDraft { seq: next, text: text.into() });
    }

    /// The newest turns of a session, the oldest of them first: at most `limit` (1 to 1,000).
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

    /// One turn; none where there is none of this id.
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

/// Messages of a turn, to be added.
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

/// Ends a transaction that failed. Where SQLite has ended it already there is none.
async fn roll_back(conn: &mut SqliteConnection) {
    if let Err(error) = sqlx::query("ROLLBACK").execute(conn).await {
        tracing::debug!(%error, "a transaction that failed was over");
    }
}

/// Takes out what came after a person's message, and marks the turns that answered it.
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

/// Keeps what was said in a running turn, and ends it where that is said. Requests are kept, and the turn ends,
/// also where the messages are refused.
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

/// The outer error is one that nothing is kept after.
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

/// Statements that go to SQLite together: each that goes alone is a way to another thread and back.
type SqlBatch = QueryBuilder<Sqlite>;

/// Asks where the session of a running turn is; [`read_totals`] reads the answer.
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

/// Makes a message of what a running turn's answer had come to.
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
