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
use toolway_api::ErrorResponse;
use toolway_api::calls::{CallDetail, CallList, CallSummary, ListCallsQuery};
use toolway_api::event_stream::{CALL, StreamEvent};
use toolway_core::ClosedCall;
use toolway_store::CallCursor;
use toolway_types::CallId;

use self::query::call_filter;
use self::view::{call_detail, call_summary, closed_call_summary};
use super::event_stream::{EventStreamReader, follow};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, PathParams, QueryParams};
use crate::access::{RecordAccess, TokenState};
use crate::http::AuthenticatedCaller;
use crate::query_limits::page_size;
use crate::state::AppState;
use toolway_store::Store;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, tail, show).merge(export::routes()).merge(removal::routes())
}

/// List calls
///
/// With `search`, a page ends after a quarter of a second. It can have few or no calls and still have a next page.
#[utoipa::path(
    get,
    path = "/api/calls",
    tag = "calls",
    operation_id = "list_calls",
    params(ListCallsQuery),
    responses(
        (status = 200, description = "A page of calls.", body = CallList<CallSummary>),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(store): State<Store>,
    QueryParams(mut query): QueryParams<ListCallsQuery>,
) -> Result<Json<CallList<CallSummary>>, ApiError> {
    let limit = page_size(query.limit)?;
    let cursor = query.cursor.as_deref().map(str::parse::<CallCursor>).transpose();
    let cursor = cursor.map_err(|_| {
        ApiError::malformed("the cursor is invalid").with_hint("use `next_cursor` of the previous page")
    })?;
    let filter = call_filter(query.take_conditions(), &token)?;
    let page = store.calls().list(&filter, cursor.as_ref(), limit).await?;
    Ok(Json(CallList {
        calls: page.calls.iter().map(|call| call_summary(call, &token)).collect(),
        searched_to_ms: page.next.filter(|_| filter.text.is_some()).map(|next| next.started_ms()),
        next_cursor: page.next.map(|next| next.to_string()),
    }))
}

/// Show a call
#[utoipa::path(
    get,
    path = "/api/calls/{id}",
    tag = "calls",
    operation_id = "get_call",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 200, description = "The call.", body = CallDetail),
        (status = 404, description = "The call does not exist, or belongs to another caller.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(store): State<Store>,
    PathParams(id): PathParams<String>,
) -> Result<Json<CallDetail>, ApiError> {
    let row = store.calls().get(parse_id(&id)?).await?.ok_or_else(|| no_such_call(&id))?;
    if !RecordAccess::of(&token.principal).may_see(&row.principal) {
        return Err(no_such_call(&id));
    }
    Ok(Json(call_detail(row, &token)))
}

fn parse_id(id: &str) -> Result<CallId, ApiError> {
    id.parse().map_err(|_| no_such_call(id))
}

fn no_such_call(id: &str) -> ApiError {
    ApiError::not_found("call_not_found", format!("there is no call {id:?}"))
        .with_hint("`toolway calls list` shows the ids; the gateway removes old calls")
}

/// Follow the calls
///
/// An event `call` for each call that ends from now on, and `lagged` with the number of missed calls if the reader is
/// too slow.
#[utoipa::path(
    get,
    path = "/api/calls/tail",
    tag = "calls",
    operation_id = "tail_calls",
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
        let may_see = RecordAccess::of(&token.principal).may_see(&call.opened.principal);
        let event = may_see.then(|| Event::default().event(CALL))?;
        event.json_data(closed_call_summary(call, token)).ok()
    };
    let stream = follow(app.call_tail.follow(), |calls| calls, reader, shown);
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}
