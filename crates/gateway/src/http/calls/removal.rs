//! Throwing calls away, which only the owner may.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_store::CallRemoval;
use utoipa::ToSchema;

use super::query::CallConditions;
use super::{no_such_call, parse_id};
use crate::access::AuthenticatedOwner;
use crate::http::call_status::CallStatusWordSchema;
use crate::http::error::ErrorResponse;
use crate::http::resources::{ApiRoutes, resources};
use crate::http::token_input::whole;
use crate::http::{ApiError, JsonBody, PathParams};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(purge, remove)
}

/// Which calls to throw away: those that fit everything that is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PurgeCallsRequest {
    /// Those that started before this time, in milliseconds since the Unix epoch.
    #[serde(deserialize_with = "whole")]
    before_ms: i64,
    /// Of this tool: its id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
    tool: Option<String>,
    /// Of this source.
    source: Option<String>,
    /// Of this caller: a token's id.
    caller: Option<String>,
    /// `success`, `error`, one of the four kinds of error, or an error's code.
    #[schema(inline, value_type = Option<CallStatusWordSchema>)]
    status: Option<String>,
    /// Of this conversation.
    session: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Let run by this caller, or by `grant:` and a grant's id.
    approved_by: Option<String>,
    /// With this text in them, as `GET /api/calls` finds it.
    #[schema(min_length = 1, max_length = 256)]
    search: Option<String>,
}

/// What was thrown away.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PurgeCallsResponse {
    /// How many calls.
    removed: u64,
    /// By how many bytes the database shrank.
    freed_bytes: u64,
}

/// Throw calls away
///
/// Calls that still run stay.
#[utoipa::path(
    post,
    path = "/api/calls/purge",
    tag = "calls",
    request_body = PurgeCallsRequest,
    responses(
        (status = 200, description = "What was thrown away.", body = PurgeCallsResponse),
        (status = 503, description = "They could not be removed.", body = ErrorResponse),
    )
)]
pub(super) async fn purge(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    JsonBody(body): JsonBody<PurgeCallsRequest>,
) -> Result<Json<PurgeCallsResponse>, ApiError> {
    let which = CallConditions {
        tool: body.tool,
        source: body.source,
        caller: body.caller,
        status: body.status,
        session: body.session,
        agent: body.agent,
        approved_by: body.approved_by,
        search: body.search,
        since_ms: None,
        until_ms: Some(body.before_ms),
    };
    let filter = which.filter(&token)?;
    let removed = app.store.calls().remove_all(&filter).await?;
    // Not the text that was looked for: whoever has it removed may not want it in the log either.
    let searched = filter.text.is_some();
    tracing::info!(
        by = token.id(),
        calls = removed.calls,
        before_ms = filter.until_ms,
        caller = filter.principal,
        session = filter.session,
        agent = filter.agent,
        source = filter.source,
        tool = ?filter.tool,
        searched,
        "calls thrown away"
    );
    Ok(Json(PurgeCallsResponse { removed: removed.calls, freed_bytes: removed.freed_bytes }))
}

/// Throw a call away
#[utoipa::path(
    delete,
    path = "/api/calls/{id}",
    tag = "calls",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such call.", body = ErrorResponse),
        (status = 409, description = "It still runs.", body = ErrorResponse),
        (status = 503, description = "It could not be removed.", body = ErrorResponse),
    )
)]
pub(super) async fn remove(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    match app.store.calls().remove(parse_id(&id)?).await? {
        CallRemoval::Removed => {
            tracing::info!(by = token.id(), call = id, "call thrown away");
            Ok(StatusCode::NO_CONTENT)
        }
        CallRemoval::Running => {
            let words = format!("the call {id} still runs");
            Err(ApiError::new(StatusCode::CONFLICT, "call_running", words)
                .with_hint("wait until it has ended"))
        }
        CallRemoval::Unknown => Err(no_such_call(&id)),
    }
}
