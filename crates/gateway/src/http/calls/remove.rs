//! Throwing calls away, which only the owner may.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_store::Removal;
use utoipa::ToSchema;

use super::query::Which;
use super::{no_such_call, parse_id};
use crate::access::Owner;
use crate::http::call_status::StatusWord;
use crate::http::error::ErrorBody;
use crate::http::given::whole;
use crate::http::resources::{Resources, resources};
use crate::http::{ApiError, JsonBody, PathOf};
use crate::state::App;

pub(super) fn routes() -> Resources {
    resources!(purge, remove)
}

/// Which calls to throw away: those that fit everything that is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PurgeBody {
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
    #[schema(inline, value_type = Option<StatusWord>)]
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
pub(super) struct Purged {
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
    request_body = PurgeBody,
    responses(
        (status = 200, description = "What was thrown away.", body = Purged),
        (status = 503, description = "They could not be removed.", body = ErrorBody),
    )
)]
pub(super) async fn purge(
    Owner(token): Owner,
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody<PurgeBody>,
) -> Result<Json<Purged>, ApiError> {
    let which = Which {
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
    Ok(Json(Purged { removed: removed.calls, freed_bytes: removed.freed_bytes }))
}

/// Throw a call away
#[utoipa::path(
    delete,
    path = "/api/calls/{id}",
    tag = "calls",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such call.", body = ErrorBody),
        (status = 409, description = "It still runs.", body = ErrorBody),
        (status = 503, description = "It could not be removed.", body = ErrorBody),
    )
)]
pub(super) async fn remove(
    Owner(token): Owner,
    State(app): State<Arc<App>>,
    PathOf(id): PathOf<String>,
) -> Result<StatusCode, ApiError> {
    match app.store.calls().remove(parse_id(&id)?).await? {
        Removal::Removed => {
            tracing::info!(by = token.id(), call = id, "call thrown away");
            Ok(StatusCode::NO_CONTENT)
        }
        Removal::Running => {
            let words = format!("the call {id} still runs");
            Err(ApiError::new(StatusCode::CONFLICT, "call_running", words)
                .with_hint("wait until it has ended"))
        }
        Removal::Unknown => Err(no_such_call(&id)),
    }
}
