//! Shows the changes of a tool and accepts them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use toolway_api::ErrorResponse;
use toolway_api::tool_changes::{AcceptToolChangeRequest, ToolChange};
use toolway_core::{EntryPoint, ToolLookup, suggestion_hint};
use toolway_types::ToolId;
use toolway_types::text::hex;

use super::resources::{ApiRoutes, resources};
use super::{ApiError, OptionalJsonBody, PathParams};
use crate::access::TokenState;
use crate::http::AuthenticatedOwner;
use crate::state::AppState;
use crate::tool_changes::AcceptedVersion;

pub(super) fn routes() -> ApiRoutes {
    resources!(show, accept)
}

/// Finds the id of the tool with this name, including tools of disconnected sources.
fn find(app: &AppState, owner: &TokenState, name: &str) -> Result<ToolId, ApiError> {
    let caller = toolway_core::Caller::new(owner.principal.clone(), EntryPoint::Rest);
    let snapshot = app.registry.snapshot();
    match snapshot.lookup(name, &caller, |_, _| true) {
        ToolLookup::Found(id, ..) | ToolLookup::Offline(id) => Ok(id),
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(no_such_tool(name)
                .with_hint(format!("several sources have this tool; use a full name: {}", names.join(", "))))
        }
        ToolLookup::Unknown => {
            let similar = suggestion_hint(&snapshot.similar_names(name, |_, _| true));
            Err(no_such_tool(name)
                .with_hint(similar.unwrap_or_else(|| "`toolway tools list` shows the tools".to_owned())))
        }
    }
}

fn no_such_tool(name: &str) -> ApiError {
    ApiError::not_found("tool_not_available", format!("Tool {name} is not available"))
}

/// Show the changes of a tool
#[utoipa::path(
    get,
    path = "/api/tools/{name}/changes",
    tag = "tools",
    operation_id = "get_tool_changes",
    params(("name" = String, Path, description = "The tool's full name or id (`source/tool`; write `/` as `%2F`), or a bare name that only one source has.")),
    responses(
        (status = 200, description = "The difference between the accepted and the current version.", body = ToolChange),
        (status = 404, description = "The tool does not exist, or the gateway does not track its changes.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedOwner(owner): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<ToolChange>, ApiError> {
    let tool = find(&app, &owner, &name)?;
    let Some(difference) = app.tool_changes.difference(&tool).await? else { return Err(untracked(&tool)) };
    Ok(Json(ToolChange {
        tool_id: tool.to_string(),
        changed: difference.changed,
        changed_ms: difference.changed_ms,
        fingerprint: hex(&difference.fingerprint),
        accepted: difference.before,
        current: difference.now,
        diff: difference.diff,
    }))
}

fn untracked(tool: &ToolId) -> ApiError {
    ApiError::not_found("tool_not_tracked", format!("the gateway does not track changes of {tool}"))
        .with_hint("it tracks no tools of its own and of connections without a name")
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let is_whole = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    is_whole.then_some(bytes)
}

/// Accept the current version of a tool
#[utoipa::path(
    post,
    path = "/api/tools/{name}/accept",
    tag = "tools",
    operation_id = "accept_tool",
    params(("name" = String, Path, description = "The tool's full name or id (`source/tool`; write `/` as `%2F`), or a bare name that only one source has.")),
    request_body = Option<AcceptToolChangeRequest>,
    responses(
        (status = 204, description = "Accepted."),
        (status = 404, description = "The tool does not exist, or the gateway does not track its changes.", body = ErrorResponse),
        (status = 409, description = "The tool has changed again.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn accept(
    AuthenticatedOwner(owner): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    OptionalJsonBody(body): OptionalJsonBody<AcceptToolChangeRequest>,
) -> Result<StatusCode, ApiError> {
    let tool = find(&app, &owner, &name)?;
    let wanted = match body.unwrap_or_default().fingerprint {
        None => AcceptedVersion::Current,
        Some(text) => AcceptedVersion::Fingerprint(unhex(&text).ok_or_else(|| {
            ApiError::malformed("fingerprint is not a SHA-256 in hex")
                .with_hint(format!("GET /api/tools/{name}/changes gives it"))
        })?),
    };
    if app.tool_changes.difference(&tool).await?.is_none() {
        return Err(untracked(&tool));
    }
    if app.tool_changes.accept(&tool, wanted).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::new(StatusCode::CONFLICT, "fingerprint_mismatch", format!("{tool} has changed again"))
        .with_hint(format!("look at the new changes: `toolway tools diff {name}`")))
}
