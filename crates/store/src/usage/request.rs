//! One request to a model, as it is written down.

use serde::{Deserialize, Serialize};
use sqlx::{Connection, SqliteConnection};

use super::WRITING;
use crate::call_row::number_of;
use crate::error::StoreError;
use crate::sessions::TokenCounts;

/// How a request to a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// The model answered.
    Answered,
    /// It did not, or not to the end.
    Failed,
    /// Whoever asked did not wait for the end.
    GivenUp,
}

/// Every one; its place is the number that stands in the database, so new ones go to the end.
const STATUSES: &[RequestStatus] = &[RequestStatus::Answered, RequestStatus::Failed, RequestStatus::GivenUp];

/// A request to a model, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequestRecord {
    /// The turn it belonged to, where it was kept.
    pub turn: Option<String>,
    /// The session it belonged to, where there was one.
    pub session: Option<String>,
    /// Who asked.
    pub principal: String,
    /// The agent in whose name.
    pub agent: String,
    /// The model provider's name.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// How long until something of the answer came, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// How often it was made.
    pub attempts: u32,
    /// How it ended.
    pub status: RequestStatus,
    /// Why it failed.
    pub code: Option<String>,
    /// Tokens, as the provider reported them.
    pub tokens: TokenCounts,
    /// What it cost; none where a price or a number is not known.
    pub cost: Option<f64>,
    /// The currency of `cost`.
    pub currency: Option<String>,
}

/// Writes a request. The caller's transaction is around it.
pub(crate) async fn write(
    conn: &mut SqliteConnection,
    request: &ModelRequestRecord,
) -> Result<(), StoreError> {
    // The name of a session that was removed meanwhile is not written down any more.
    const REQUEST: &str = "INSERT INTO model_requests (started_ms, principal, agent, provider, model, session, turn, \
         duration_ms, first_token_ms, attempts, status, code, input, output, cached, cache_written, reasoning, cost, \
         currency) SELECT ?1, ?2, ?3, ?4, ?5, s.id, iif(?6 IS NULL OR s.id IS NOT NULL, ?7, NULL), \
         ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19 \
         FROM (SELECT 1) LEFT JOIN sessions AS s ON s.id = ?6";
    let millis = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut query = sqlx::query(REQUEST)
        .bind(request.started_ms)
        .bind(request.principal.clone())
        .bind(request.agent.clone())
        .bind(request.provider.clone())
        .bind(request.model.clone())
        .bind(request.session.clone())
        .bind(request.turn.clone())
        .bind(millis(request.duration_ms))
        .bind(request.first_token_ms.map(millis))
        .bind(i64::from(request.attempts))
        .bind(number_of(STATUSES, request.status))
        .bind(request.code.clone());
    for count in request.tokens.numbers() {
        query = query.bind(count);
    }
    query = query.bind(request.cost).bind(request.currency.clone());
    query.execute(conn).await.map(drop).map_err(StoreError::database(WRITING))
}

/// Writes requests, all or none.
pub(super) async fn write_all(
    conn: &mut SqliteConnection,
    requests: &[ModelRequestRecord],
) -> Result<(), StoreError> {
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    for request in requests {
        write(&mut transaction, request).await?;
    }
    transaction.commit().await.map_err(failed())
}
