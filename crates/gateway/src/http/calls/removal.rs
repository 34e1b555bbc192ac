//! Removing calls. Only the owner may do this.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::calls::{CallConditions, PurgeCallsRequest, PurgeCallsResponse};
use toolway_store::CallRemoval;

use super::query::call_filter;
use super::{no_such_call, parse_id};
use crate::http::AuthenticatedOwner;
use crate::http::resources::{ApiRoutes, resources};
use crate::http::{ApiError, JsonBody, PathParams};
use toolway_store::Store;

pub(super) fn routes() -> ApiRoutes {
    resources!(purge, remove)
}

/// Remove calls
///
/// Running calls stay.
#[utoipa::path(
    post,
    path = "/api/calls/purge",
    tag = "calls",
    operation_id = "purge_calls",
    request_body = PurgeCallsRequest,
    responses(
        (status = 200, description = "The result.", body = PurgeCallsResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
pub(super) async fn purge(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(store): State<Store>,
    JsonBody(body): JsonBody<PurgeCallsRequest>,
) -> Result<Json<PurgeCallsResponse>, ApiError> {
    let which = CallConditions {
        tool: body.tool,
        source: body.source,
        principal: body.principal,
        status: body.status,
        session_id: body.session_id,
        agent: body.agent,
        approved_by: body.approved_by,
        search: body.search,
        since_ms: None,
        until_ms: Some(body.before_ms),
    };
    let filter = call_filter(which, &token)?;
    let removed = store.calls().remove_all(&filter).await?;
    // Without the text itself: somebody who removes it may not want it in the log either.
    let searched = filter.text.is_some();
    tracing::info!(
        by = token.id(),
        calls = removed.calls,
        before_ms = filter.until_ms,
        principal = filter.principal,
        session = filter.session,
        agent = filter.agent,
        source = filter.source,
        tool = ?filter.tool,
        searched,
        "calls removed"
    );
    Ok(Json(PurgeCallsResponse { removed: removed.calls, freed_bytes: removed.freed_bytes }))
}

/// Remove a call
#[utoipa::path(
    delete,
    path = "/api/calls/{id}",
    tag = "calls",
    operation_id = "delete_call",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, description = "The call does not exist.", body = ErrorResponse),
        (status = 409, description = "The call is running.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
pub(super) async fn remove(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(store): State<Store>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    match store.calls().remove(parse_id(&id)?).await? {
        CallRemoval::Removed => {
            tracing::info!(by = token.id(), call = id, "call removed");
            Ok(StatusCode::NO_CONTENT)
        }
        CallRemoval::Running => {
            let words = format!("the call {id} is running");
            Err(ApiError::new(StatusCode::CONFLICT, "call_running", words)
                .with_hint("try again when it has ended"))
        }
        CallRemoval::Unknown => Err(no_such_call(&id)),
    }
}
