//! `/api/calls`: the log of calls. Owners see all of them, clients their own.

mod csv;
mod export;
mod query;
mod removal;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use toolway_core::ClosedCall;
use toolway_store::CallCursor;
use toolway_types::CallId;
use utoipa::ToSchema;

use self::query::asks_for_calls;
use self::view::{CallDetail, CallSummary};
use super::error::ErrorResponse;
use super::event_stream::{EventStreamReader, StreamEvent, follow};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, PathParams, QueryParams};
use crate::access::{AuthenticatedCaller, TokenState};
use crate::state::AppState;

/// Calls on a page where nothing is said.
const PAGE: usize = 50;
/// Most calls on a page.
const MAX_PAGE: usize = 1000;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, tail, show).merge(export::routes()).merge(removal::routes())
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
struct CallList {
    /// The newest first.
    calls: Vec<CallSummary>,
    /// What to give as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
    /// Where a text was looked for and there is a next page: how far back this one got, in milliseconds since the
    /// Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    searched_to_ms: Option<i64>,
}

asks_for_calls! {
    /// Which calls, and how many.
    struct ListCallsQuery {
        /// Most calls on the page (50).
        #[param(minimum = 1, maximum = 1000, nullable = false)]
        limit: Option<usize>,
        /// Where to go on: `next` of the page before.
        #[param(nullable = false, pattern = "^[0-9]{1,18}[.][0-9]{1,18}$")]
        cursor: Option<String>,
    }
}

/// List calls
///
/// With `search` a page ends after a part of a second, wherever it got: it may have few calls or none, and a next
/// page all the same.
#[utoipa::path(
    get,
    path = "/api/calls",
    tag = "calls",
    params(ListCallsQuery),
    responses(
        (status = 200, description = "A page of calls.", body = CallList),
        (status = 503, description = "They could not be read.", body = ErrorResponse),
    )
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    QueryParams(mut query): QueryParams<ListCallsQuery>,
) -> Result<Json<CallList>, ApiError> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(ApiError::malformed(format!("limit is {limit}; it may be 1 to {MAX_PAGE}")));
    }
    let cursor = query.cursor.as_deref().map(str::parse::<CallCursor>).transpose();
    let cursor = cursor.map_err(|_| {
        ApiError::malformed("the cursor is not one of this gateway")
            .with_hint("give `next` of the page before")
    })?;
    let filter = query.which().filter(&token)?;
    let page = app.store.calls().list(&filter, cursor.as_ref(), limit).await?;
    Ok(Json(CallList {
        calls: page.calls.iter().map(|call| CallSummary::of(call, &token)).collect(),
        searched_to_ms: page.next.filter(|_| filter.text.is_some()).map(|next| next.started_ms()),
        next: page.next.map(|next| next.to_string()),
    }))
}

/// Show a call
#[utoipa::path(
    get,
    path = "/api/calls/{id}",
    tag = "calls",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 200, description = "The call.", body = CallDetail),
        (status = 404, description = "There is no such call, or not of this caller.", body = ErrorResponse),
        (status = 503, description = "It could not be read.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<CallDetail>, ApiError> {
    let row = app.store.calls().get(parse_id(&id)?).await?.ok_or_else(|| no_such_call(&id))?;
    if !token.role().is_owner() && *row.principal.0 != *token.id() {
        return Err(no_such_call(&id));
    }
    Ok(Json(CallDetail::of(row, &token)))
}

fn parse_id(id: &str) -> Result<CallId, ApiError> {
    id.parse().map_err(|_| no_such_call(id))
}

fn no_such_call(id: &str) -> ApiError {
    ApiError::not_found("call_unknown", format!("there is no call {id:?}"))
        .with_hint("`toolway calls list` shows the ids; old calls are thrown away")
}

/// Follow the calls
///
/// An event of the type `call` for each call that ends from now on, and one of the type `missed` with a
/// number where the reader was too slow for some.
#[utoipa::path(
    get,
    path = "/api/calls/tail",
    tag = "calls",
    responses(
        (status = 200, description = "The calls as they end.", content_type = "text/event-stream", body = StreamEvent),
        (status = 429, description = "Too many event streams are open.", body = ErrorResponse),
    )
)]
async fn tail(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Result<Response, ApiError> {
    let reader = EventStreamReader::new(token, app.clone())?;
    let shown = |call: &ClosedCall, token: &TokenState| {
        let may_see = token.role().is_owner() || *call.opened.principal.0 == *token.id();
        let event = may_see.then(|| Event::default().event("call"))?;
        event.json_data(CallSummary::of_closed(call, token)).ok()
    };
    let stream = follow(app.call_tail.follow(), |calls| calls, reader, shown);
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}
