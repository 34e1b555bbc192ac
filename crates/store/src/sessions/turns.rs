//! A turn's way through the store: it begins with a person's message, in one transaction that is on disk before
//! the model is asked; answers and results are added while it goes on; and it ends, with the last of them.

use std::sync::Arc;

use sqlx::{Connection, QueryBuilder, Sqlite, SqliteConnection};

use super::drafts::Draft;
use super::record::{NewMessage, StoredRole, TURN_COLUMNS, TokenCounts, TurnRecord, TurnState};
use super::search::fold;
use super::{MAX_MESSAGE_BYTES, MAX_SESSION_BYTES, READING, Sessions, WRITING};
use crate::call_row::Columns;
use crate::calls::as_number;
use crate::error::StoreError;
use crate::usage::{self, ModelRequestRecord};

/// Most turns that are read at a time.
const MAX_TURNS: usize = 1000;

/// A turn that begins.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTurn {
    /// Its id, a UUIDv7.
    pub id: String,
    /// The session; made where there is none yet.
    pub session: String,
    /// Whose session it is.
    pub principal: String,
    /// The agent that answers.
    pub agent: String,
    /// When it begins, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// What it answers.
    pub opening: TurnOpening,
}

/// What a turn answers.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOpening {
    /// A new message.
    Message(NewMessage),
    /// The person's message of this number, again: what came after it is taken out.
    Again {
        /// The number.
        answers: u64,
    },
}

/// Where a turn stands that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// The number of the message that it answers.
    pub answers: u64,
    /// The number that its next message will have.
    pub next: u64,
    /// Whether the session was not there before.
    pub is_new_session: bool,
}

/// Where messages were put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The number of the first.
    pub first: u64,
    /// The number that the turn's next message will have.
    pub next: u64,
}

/// How a turn ends.
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
    /// How often a model was asked.
    pub rounds: u32,
    /// How many tools were called.
    pub calls: u32,
    /// Tokens of all its requests.
    pub tokens: TokenCounts,
    /// What they cost; none where a price or a number is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
}

/// Where a session is.
struct Place {
    session: String,
    messages: u64,
    bytes: u64,
    /// Whether a draft of the turn is there.
    has_draft: bool,
}

impl Sessions<'_> {
    /// Begins a turn: makes its session where there is none, keeps the person's message or takes out the answer that
    /// is to be made again, and notes that the turn runs. All of it is on disk when this answers, or nothing has
    /// changed.
    ///
    /// # Errors
    /// [`StoreError::SessionTaken`] where the session is another principal's; [`StoreError::Missing`] where there is
    /// no such message to be answered again; [`StoreError::MessageTooLarge`], [`StoreError::SessionFull`]; else what
    /// SQLite says.
    pub async fn begin(&self, turn: NewTurn) -> Result<Begun, StoreError> {
        if let TurnOpening::Message(message) = &turn.opening {
            check_size(message)?;
        }
        self.store.durably(move |conn| Box::pin(begin(conn, turn))).await
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
    ) -> Result<Appended, StoreError> {
        let turn = turn.to_owned();
        self.store
            .write(move |conn| {
                Box::pin(async move {
                    let said = Said { turn: &turn, messages: &messages, requests: &requests, at_ms };
                    keep(conn, said, None).await
                })
            })
            .await
    }

    /// Ends a running turn, with the last of what was said and the requests that it came from, in one transaction
    /// that survives the program (not the computer).
    ///
    /// # Errors
    /// As [`Sessions::append`] does. A turn whose last messages are refused has ended all the same.
    pub async fn end(&self, ending: TurnEnding) -> Result<Appended, StoreError> {
        self.store
            .write(move |conn| {
                Box::pin(async move {
                    let said = Said {
                        turn: &ending.turn,
                        messages: &ending.messages,
                        requests: &ending.requests,
                        at_ms: ending.ended_ms,
                    };
                    keep(conn, said, Some(&ending)).await
                })
            })
            .await
    }

    /// Notes how far the text of an answer is that is under way in a running turn. It is written within a quarter of
    /// a second, and becomes a message if the gateway stops before the answer is whole. `next` is the number that
    /// the answer will have ([`Begun::next`], [`Appended::next`]); a draft of one that is there already is dropped.
    pub fn draft(&self, turn: &Arc<str>, next: u64, text: impl Into<String>) {
        self.store.inner().queue.draft(turn, Draft { seq: next, text: text.into() });
    }

    /// The newest turns of a session, the oldest of them first: at most `limit` (1 to 1,000).
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn turns(&self, session: &str, limit: usize) -> Result<Vec<TurnRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(TURN_COLUMNS).push(" FROM turns WHERE session = ").push_bind(session.to_owned());
        self.push_whose_session(&mut sql, "turns.session");
        sql.push(" ORDER BY started_ms DESC, id DESC LIMIT ").push_bind(as_number(limit.clamp(1, MAX_TURNS)));
        let rows =
            sql.build().fetch_all(self.store.readers()).await.map_err(StoreError::database(READING))?;
        rows.iter().rev().map(TurnRecord::read).collect()
    }

    /// One turn; none where there is none of this id.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn turn(&self, id: &str) -> Result<Option<TurnRecord>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        sql.push(TURN_COLUMNS).push(" FROM turns WHERE id = ").push_bind(id.to_owned());
        self.push_whose_session(&mut sql, "turns.session");
        let row =
            sql.build().fetch_optional(self.store.readers()).await.map_err(StoreError::database(READING))?;
        row.as_ref().map(TurnRecord::read).transpose()
    }
}

/// What was said in a turn.
struct Said<'t> {
    turn: &'t str,
    messages: &'t [NewMessage],
    requests: &'t [ModelRequestRecord],
    at_ms: i64,
}

async fn begin(conn: &mut SqliteConnection, turn: NewTurn) -> Result<Begun, StoreError> {
    const FIND: &str = "SELECT principal, messages, bytes FROM sessions WHERE id = ?";
    const MAKE: &str = "INSERT INTO sessions (id, principal, agent, title_by, created_ms, updated_ms, messages, bytes) \
         VALUES (?1, ?2, ?3, 0, ?4, ?4, 0, 0)";
    const TURN: &str = "INSERT INTO turns (id, session, answers, state, replaced, started_ms, rounds, calls) \
         VALUES (?, ?, ?, 0, 0, ?, 0, 0)";
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    let found = sqlx::query(FIND)
        .bind(turn.session.clone())
        .fetch_optional(&mut *transaction)
        .await
        .map_err(failed())?;
    let mut place = Place { session: turn.session.clone(), messages: 0, bytes: 0, has_draft: false };
    let is_new_session = found.is_none();
    match (&found, &turn.opening) {
        (Some(row), _) => {
            let columns = Columns(row);
            if columns.required(0)? != turn.principal {
                return Err(StoreError::SessionTaken { id: turn.session });
            }
            (place.messages, place.bytes) = (columns.count(1)?, columns.count(2)?);
        }
        (None, TurnOpening::Again { .. }) => {
            return Err(StoreError::Missing { what: "conversation", id: turn.session });
        }
        (None, TurnOpening::Message(_)) => {
            sqlx::query(MAKE)
                .bind(turn.session.clone())
                .bind(turn.principal.clone())
                .bind(turn.agent.clone())
                .bind(turn.started_ms)
                .execute(&mut *transaction)
                .await
                .map_err(failed())?;
        }
    }
    let answers = match &turn.opening {
        TurnOpening::Message(message) => {
            let said = std::slice::from_ref(message);
            check_room(&place, said)?;
            write_messages(&mut transaction, &mut place, &turn.id, said, turn.started_ms).await?;
            place.messages
        }
        TurnOpening::Again { answers } => {
            take_out(&mut transaction, &mut place, *answers).await?;
            *answers
        }
    };
    write_place(&mut transaction, &place, turn.started_ms, Some(&turn.agent)).await?;
    sqlx::query(TURN)
        .bind(turn.id)
        .bind(turn.session)
        .bind(number(answers))
        .bind(turn.started_ms)
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
    transaction.commit().await.map_err(failed())?;
    Ok(Begun { answers, next: place.messages + 1, is_new_session })
}

/// Takes out what came after a person's message, and marks the turns that answered it.
async fn take_out(conn: &mut SqliteConnection, place: &mut Place, answers: u64) -> Result<(), StoreError> {
    const ROLE: &str = "SELECT role FROM messages WHERE session = ? AND seq = ?";
    const BYTES: &str = "SELECT coalesce(sum(octet_length(parts) + octet_length(text)), 0) FROM messages \
         WHERE session = ? AND seq > ?";
    const DELETE: &str = "DELETE FROM messages WHERE session = ? AND seq > ?";
    const REPLACED: &str = "UPDATE turns SET replaced = 1 WHERE session = ? AND answers >= ?";
    let failed = || StoreError::database(WRITING);
    let (session, after) = (place.session.as_str(), number(answers));
    let role = sqlx::query(ROLE)
        .bind(session.to_owned())
        .bind(after)
        .fetch_optional(&mut *conn)
        .await
        .map_err(failed())?;
    let role = role.map(|row| Columns(&row).number(0)).transpose()?;
    if role != Some(StoredRole::User.number()) {
        return Err(StoreError::Missing { what: "message of a person", id: format!("{session}:{answers}") });
    }
    let bytes = sqlx::query(BYTES).bind(session.to_owned()).bind(after);
    let bytes = Columns(&bytes.fetch_one(&mut *conn).await.map_err(failed())?).count(0)?;
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
async fn keep(
    conn: &mut SqliteConnection,
    said: Said<'_>,
    ending: Option<&TurnEnding>,
) -> Result<Appended, StoreError> {
    const DRAFT: &str = "DELETE FROM drafts WHERE turn = ?";
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    for request in said.requests {
        usage::write(&mut transaction, request).await?;
    }
    let Some(mut place) = place_of(&mut transaction, said.turn).await? else {
        transaction.commit().await.map_err(failed())?;
        return Err(StoreError::Missing { what: "running turn", id: said.turn.to_owned() });
    };
    let first = place.messages + 1;
    let refusal =
        said.messages.iter().try_for_each(check_size).and_then(|()| check_room(&place, said.messages));
    let has_said = refusal.is_ok() && !said.messages.is_empty();
    if has_said {
        write_messages(&mut transaction, &mut place, said.turn, said.messages, said.at_ms).await?;
    }
    if let Some(ending) = ending {
        write_ending(&mut transaction, ending).await?;
    }
    if has_said || ending.is_some() {
        write_place(&mut transaction, &place, said.at_ms, None).await?;
        if place.has_draft {
            let draft = sqlx::query(DRAFT).bind(said.turn.to_owned());
            draft.execute(&mut *transaction).await.map_err(failed())?;
        }
    }
    transaction.commit().await.map_err(failed())?;
    refusal.map(|()| Appended { first, next: place.messages + 1 })
}

/// Where the session of a running turn is.
async fn place_of(conn: &mut SqliteConnection, turn: &str) -> Result<Option<Place>, StoreError> {
    const PLACE: &str = "SELECT s.id, s.messages, s.bytes, EXISTS (SELECT 1 FROM drafts AS d WHERE d.turn = t.id) \
         FROM turns AS t JOIN sessions AS s ON s.id = t.session WHERE t.id = ? AND t.state = 0";
    let row = sqlx::query(PLACE)
        .bind(turn.to_owned())
        .fetch_optional(conn)
        .await
        .map_err(StoreError::database(WRITING))?;
    let place = |row| {
        let columns = Columns(row);
        Ok(Place {
            session: columns.required(0)?,
            messages: columns.count(1)?,
            bytes: columns.count(2)?,
            has_draft: columns.number(3)? != 0,
        })
    };
    row.as_ref().map(place).transpose()
}

async fn write_messages(
    conn: &mut SqliteConnection,
    place: &mut Place,
    turn: &str,
    messages: &[NewMessage],
    at_ms: i64,
) -> Result<(), StoreError> {
    const MESSAGE: &str = "INSERT INTO messages (session, seq, role, cut, created_ms, turn, text, parts) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    for message in messages {
        let text = fold(&message.text);
        place.messages += 1;
        place.bytes += (text.len() + message.parts.get().len()) as u64;
        sqlx::query(MESSAGE)
            .bind(place.session.clone())
            .bind(number(place.messages))
            .bind(message.role.number())
            .bind(message.is_cut)
            .bind(at_ms)
            .bind(turn.to_owned())
            .bind(text)
            .bind(message.parts.get().to_owned())
            .execute(&mut *conn)
            .await
            .map_err(StoreError::database(WRITING))?;
    }
    Ok(())
}

async fn write_place(
    conn: &mut SqliteConnection,
    place: &Place,
    at_ms: i64,
    agent: Option<&str>,
) -> Result<(), StoreError> {
    const SESSION: &str = "UPDATE sessions SET messages = ?, bytes = ?, updated_ms = max(updated_ms, ?), \
         agent = coalesce(?, agent) WHERE id = ?";
    sqlx::query(SESSION)
        .bind(number(place.messages))
        .bind(number(place.bytes))
        .bind(at_ms)
        .bind(agent.map(str::to_owned))
        .bind(place.session.clone())
        .execute(conn)
        .await
        .map(drop)
        .map_err(StoreError::database(WRITING))
}

async fn write_ending(conn: &mut SqliteConnection, ending: &TurnEnding) -> Result<(), StoreError> {
    const ENDING: &str = "UPDATE turns SET state = ?, ended_ms = ?, code = ?, message = ?, finish = ?, rounds = ?, \
         calls = ?, input = ?, output = ?, cached = ?, cache_written = ?, reasoning = ?, cost = ?, currency = ? \
         WHERE id = ?";
    let mut query = sqlx::query(ENDING)
        .bind(ending.state.number())
        .bind(ending.ended_ms)
        .bind(ending.code.clone())
        .bind(ending.message.clone())
        .bind(ending.finish.clone())
        .bind(i64::from(ending.rounds))
        .bind(i64::from(ending.calls));
    for count in ending.tokens.numbers() {
        query = query.bind(count);
    }
    query = query.bind(ending.cost).bind(ending.currency.clone()).bind(ending.turn.clone());
    query.execute(conn).await.map(drop).map_err(StoreError::database(WRITING))
}

fn check_size(message: &NewMessage) -> Result<(), StoreError> {
    let bytes = message.bytes();
    if bytes > MAX_MESSAGE_BYTES { Err(StoreError::MessageTooLarge { bytes }) } else { Ok(()) }
}

fn check_room(place: &Place, messages: &[NewMessage]) -> Result<(), StoreError> {
    let more: u64 = messages.iter().map(|message| message.bytes() as u64).sum();
    let fits = place.bytes.saturating_add(more) <= MAX_SESSION_BYTES;
    if fits { Ok(()) } else { Err(StoreError::SessionFull { id: place.session.clone() }) }
}

/// A number as SQLite has it.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Makes a message of what a running turn's answer had come to.
pub(super) async fn keep_draft(
    conn: &mut SqliteConnection,
    turn: &str,
    message: &NewMessage,
    at_ms: i64,
) -> Result<(), StoreError> {
    let Some(mut place) = place_of(conn, turn).await? else { return Ok(()) };
    write_messages(conn, &mut place, turn, std::slice::from_ref(message), at_ms).await?;
    write_place(conn, &place, at_ms, None).await
}

#[cfg(test)]
mod tests;
