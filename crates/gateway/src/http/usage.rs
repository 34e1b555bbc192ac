//! `GET /api/usage`: what was used, and what it cost. Everybody sees their own; an owner sees all.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use toolway_agent::conversations::{UsageGrouping, UsageQuery, UsageReportRow};
use utoipa::{IntoParams, ToSchema};

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::schema_wrapper::shown_as;
use super::{ApiError, QueryParams};
use crate::access::AuthenticatedCaller;
use crate::state::AppState;

/// The largest distance of a clock from UTC, in seconds.
const MAX_ZONE_S: i32 = 18 * 3600;

pub(super) fn routes() -> ApiRoutes {
    resources!(usage)
}

shown_as! {
    /// A line of the report. By tool it has `calls`, `errors` and `duration_ms`, otherwise requests, tokens and cost.
    RowShown(UsageReportRow) {
        /// What it is of; null for what belongs to none.
        key: Option<String>,
        /// How many requests to models.
        #[schema(required = false)]
        requests: u64,
        /// How many of them did not come to their end.
        #[schema(required = false)]
        failed: u64,
        /// Tokens read, where reported.
        input: Option<u64>,
        /// Tokens written.
        output: Option<u64>,
        /// Of those read, how many came from the provider's cache.
        cached: Option<u64>,
        /// Of those read, how many were written into the provider's cache.
        cache_written: Option<u64>,
        /// Of those written, how many were spent on thinking.
        reasoning: Option<u64>,
        /// What they cost, as far as that is known.
        cost: Option<f64>,
        /// The currency of `cost`.
        #[schema(required = false)]
        currency: String,
        /// Of how many requests the cost is not known.
        #[schema(required = false)]
        unpriced: u64,
        /// How many calls of tools.
        #[schema(required = false)]
        calls: u64,
        /// How many of them failed.
        #[schema(required = false)]
        errors: u64,
        /// How long it took together, in milliseconds.
        duration_ms: u64,
    }
}

/// By what usage is added up.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UsageGroupBy {
    /// The day.
    #[default]
    Day,
    /// The model.
    Model,
    /// The agent.
    Agent,
    /// The tool, from the record of calls.
    Tool,
    /// The session.
    Session,
    /// Who asked.
    Principal,
}

impl From<UsageGroupBy> for UsageGrouping {
    fn from(word: UsageGroupBy) -> Self {
        match word {
            UsageGroupBy::Day => Self::Day,
            UsageGroupBy::Model => Self::Model,
            UsageGroupBy::Agent => Self::Agent,
            UsageGroupBy::Tool => Self::Tool,
            UsageGroupBy::Session => Self::Session,
            UsageGroupBy::Principal => Self::Principal,
        }
    }
}

/// Of what.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UsageReportQuery {
    /// `day` where nothing is said, `model`, `agent`, `tool`, `session` or `principal`.
    #[param(inline)]
    #[serde(default)]
    by: UsageGroupBy,
    /// Of this principal: a token's id. For the owner.
    #[param(nullable = false)]
    principal: Option<String>,
    /// Begun at this time or later, in milliseconds since the Unix epoch. Also written `since`.
    #[serde(alias = "since")]
    #[param(nullable = false)]
    since_ms: Option<i64>,
    /// Begun before this time. Also written `until`.
    #[serde(alias = "until")]
    #[param(nullable = false)]
    until_ms: Option<i64>,
    /// How many seconds your clock is ahead of UTC, for where days begin.
    #[param(nullable = false, minimum = -64800, maximum = 64800)]
    zone_offset_s: Option<i32>,
}

/// What was used, and what it cost.
#[derive(Debug, Serialize, ToSchema)]
struct UsageReport {
    /// By what it is added up.
    by: &'static str,
    /// The lines: days in order; others, those with most first.
    rows: Vec<RowShown>,
}

/// Show usage
#[utoipa::path(
    get,
    path = "/api/usage",
    tag = "usage",
    params(UsageReportQuery),
    responses(
        (status = 200, description = "What was used.", body = UsageReport),
        (status = 503, description = "It could not be read.", body = ErrorResponse),
    )
)]
async fn usage(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    QueryParams(query): QueryParams<UsageReportQuery>,
) -> Result<Json<UsageReport>, ApiError> {
    let zone_offset_s = query.zone_offset_s.unwrap_or_default();
    if !(-MAX_ZONE_S..=MAX_ZONE_S).contains(&zone_offset_s) {
        let words = format!("zone_offset_s is {zone_offset_s}; it may be -{MAX_ZONE_S} to {MAX_ZONE_S}");
        return Err(ApiError::malformed(words));
    }
    let by = UsageGrouping::from(query.by);
    let of = UsageQuery {
        principal: query.principal,
        from_ms: query.since_ms,
        to_ms: query.until_ms,
        zone_offset_s,
    };
    let rows = app.chat.conversations.usage(&token.principal, by, &of).await?;
    Ok(Json(UsageReport { by: by.as_str(), rows: rows.into_iter().map(RowShown::from).collect() }))
}
