//! `GET /api/usage`: usage and cost. The owner sees everything, others see their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use toolway_agent::conversations::{UsageGrouping, UsageQuery, UsageReportRow as ReportRow};
use toolway_api::ErrorResponse;
use toolway_api::usage::{UsageGroupBy, UsageReport, UsageReportQuery, UsageReportRow};

use super::resources::{ApiRoutes, resources};
use super::{ApiError, QueryParams};
use crate::chat::ChatService;
use crate::http::AuthenticatedCaller;
use crate::query_limits::utc_offset;

pub(super) fn routes() -> ApiRoutes {
    resources!(usage)
}

fn grouping(by: UsageGroupBy) -> UsageGrouping {
    match by {
        UsageGroupBy::Day => UsageGrouping::Day,
        UsageGroupBy::Model => UsageGrouping::Model,
        UsageGroupBy::Agent => UsageGrouping::Agent,
        UsageGroupBy::Tool => UsageGrouping::Tool,
        UsageGroupBy::Session => UsageGrouping::Session,
        UsageGroupBy::Principal => UsageGrouping::Principal,
    }
}

fn row_view(row: ReportRow) -> UsageReportRow {
    UsageReportRow {
        key: row.key,
        requests: row.requests,
        failed: row.failed,
        input: row.usage.input,
        output: row.usage.output,
        cached: row.usage.cached,
        cache_written: row.usage.cache_written,
        reasoning: row.usage.reasoning,
        cost: row.cost,
        currency: row.currency,
        unpriced_requests: row.unpriced,
        calls: row.calls,
        errors: row.errors,
        duration_ms: Some(row.duration_ms),
    }
}

/// Show usage
#[utoipa::path(
    get,
    path = "/api/usage",
    tag = "usage",
    operation_id = "get_usage",
    params(UsageReportQuery),
    responses(
        (status = 200, description = "The usage.", body = UsageReport),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn usage(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    QueryParams(query): QueryParams<UsageReportQuery>,
) -> Result<Json<UsageReport>, ApiError> {
    let utc_offset_s = utc_offset(query.utc_offset_s)?;
    let by = grouping(query.by);
    let of = UsageQuery {
        principal: query.principal,
        from_ms: query.since_ms,
        to_ms: query.until_ms,
        zone_offset_s: utc_offset_s,
    };
    let rows = chat.conversations.usage(&token.principal, by, &of).await?;
    Ok(Json(UsageReport { by: by.as_str().to_owned(), rows: rows.into_iter().map(row_view).collect() }))
}
