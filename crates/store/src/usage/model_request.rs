//! Record of one request to a model.

use serde::{Deserialize, Serialize};
use sqlx::{Connection, QueryBuilder, Sqlite, SqliteConnection};

use super::WRITING;
use crate::call_row::index_of;
use crate::error::StoreError;
use crate::token_counts::TokenCounts;

/// Result of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// The model answered completely.
    Answered,
    /// The request failed, or the answer was incomplete.
    Failed,
    /// The request was abandoned before the answer was complete.
    GivenUp,
}

/// All values. The index is the number in the database, so new values go to the end.
const STATUSES: &[RequestStatus] = &[RequestStatus::Answered, RequestStatus::Failed, RequestStatus::GivenUp];

/// A model request and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRequestRecord {
    /// Turn of the request, if it is stored.
    pub turn: Option<String>,
    /// Session of the request, if there was one.
    pub session: Option<String>,
    /// Principal that made the request.
    pub principal: String,
    /// Agent of the request.
    pub agent: String,
    /// Name of the model provider.
    pub provider: String,
    /// Id of the model at its provider.
    pub model: String,
    /// Time of the start, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Time to the first token of the response in milliseconds.
    pub first_token_ms: Option<u64>,
    /// Number of attempts.
    pub attempts: u32,
    /// The result of the request.
    pub status: RequestStatus,
    /// Code of the failure.
    pub code: Option<String>,
    /// Token counts as reported by the provider.
    pub tokens: TokenCounts,
    /// Cost. None if a price or a number of tokens is not known.
    pub cost: Option<f64>,
    /// Currency of `cost`.
    pub currency: Option<String>,
}

/// Appends the insertion of a request to a batch of statements.
pub(crate) fn push_request(script: &mut QueryBuilder<Sqlite>, request: &ModelRequestRecord) {
    let millis = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    script.push(
        "INSERT INTO model_requests (started_ms, principal, agent, provider, model, duration_ms, first_token_ms, \
         attempts, status, code, input, output, cached, cache_written, reasoning, cost, currency, session, turn) \
         SELECT ",
    );
    let mut values = script.separated(", ");
    values.push_bind(request.started_ms).push_bind(request.principal.clone());
    values.push_bind(request.agent.clone()).push_bind(request.provider.clone());
    values.push_bind(request.model.clone()).push_bind(millis(request.duration_ms));
    values.push_bind(request.first_token_ms.map(millis)).push_bind(i64::from(request.attempts));
    values.push_bind(index_of(STATUSES, request.status)).push_bind(request.code.clone());
    for count in request.tokens.numbers() {
        values.push_bind(count);
    }
    values.push_bind(request.cost).push_bind(request.currency.clone());
    // The id of a session that was removed meanwhile is not written.
    script.push(", s.id, iif(s.id IS NOT NULL OR ").push_bind(request.session.clone());
    script.push(" IS NULL, ").push_bind(request.turn.clone());
    script.push(", NULL) FROM (SELECT 1) LEFT JOIN sessions AS s ON s.id = ");
    script.push_bind(request.session.clone()).push("; ");
}

/// Writes requests, all or none.
pub(super) async fn write_all(
    conn: &mut SqliteConnection,
    requests: &[ModelRequestRecord],
) -> Result<(), StoreError> {
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    for request in requests {
        let mut script = QueryBuilder::new("");
        push_request(&mut script, request);
        script.build().execute(&mut *transaction).await.map_err(failed())?;
    }
    transaction.commit().await.map_err(failed())
}
