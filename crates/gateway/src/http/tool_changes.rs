//! What has changed about a tool, and letting it pass.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_core::{EntryPoint, ToolLookup};
use toolway_types::ToolId;
use utoipa::ToSchema;

use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::{ApiError, OptionalJsonBody, PathParams};
use crate::access::{AuthenticatedOwner, TokenState};
use crate::state::AppState;
use crate::tool_changes::AcceptedVersion;

pub(super) fn routes() -> ApiRoutes {
    resources!(show, accept)
}

/// How a tool differs from what it was when it was last accepted.
#[derive(Debug, Serialize, ToSchema)]
struct ToolChange {
    /// The tool's id.
    tool: String,
    /// Whether it differs.
    changed: bool,
    /// When it changed, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    changed_ms: Option<i64>,
    /// What it is now: SHA-256 of its spec, in hex. Accepting with it accepts this and nothing later.
    fingerprint: String,
    /// The spec that was accepted, as JSON; absent where it is no longer kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    before: Option<String>,
    /// The spec it has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    now: Option<String>,
    /// Both, line by line, as `diff -u` writes it; empty where nothing differs.
    diff: String,
}

/// The id that a name leads the owner to, tools of sources that are away among them.
fn find(app: &AppState, owner: &TokenState, name: &str) -> Result<ToolId, ApiError> {
    let caller = toolway_core::Caller::new(owner.principal.clone(), EntryPoint::Rest);
    match app.registry.snapshot().lookup(name, &caller, |_, _| true) {
        ToolLookup::Found(id, ..) | ToolLookup::Offline(id) => Ok(id),
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(no_such_tool(name)
                .with_hint(format!("several sources have one; say which: {}", names.join(", "))))
        }
        ToolLookup::Unknown => Err(no_such_tool(name).with_hint("`toolway tools list` shows the tools")),
    }
}

fn no_such_tool(name: &str) -> ApiError {
    ApiError::not_found("tool_not_available", format!("Tool {name} is not available"))
}

/// Show what changed about a tool
#[utoipa::path(
    get,
    path = "/api/tools/{name}/changes",
    tag = "tools",
    params(("name" = String, Path, description = "Its name, or a bare name that only one source has.")),
    responses(
        (status = 200, description = "How it differs from what was accepted.", body = ToolChange),
        (status = 404, description = "There is no such tool, or it is not compared.", body = ErrorResponse),
        (status = 503, description = "It could not be read.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedOwner(owner): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<ToolChange>, ApiError> {
    let tool = find(&app, &owner, &name)?;
    let Some(difference) = app.tool_changes.difference(&tool).await? else { return Err(not_compared(&tool)) };
    Ok(Json(ToolChange {
        tool: tool.to_string(),
        changed: difference.changed,
        changed_ms: difference.changed_ms,
        fingerprint: hex(&difference.fingerprint),
        before: difference.before,
        now: difference.now,
        diff: difference.diff,
    }))
}

fn not_compared(tool: &ToolId) -> ApiError {
    ApiError::not_found("tool_not_compared", format!("{tool} is not compared with what it was"))
        .with_hint("that is so for tools of the gateway itself and of connections without a name")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let is_whole = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    is_whole.then_some(bytes)
}

/// What to accept.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AcceptToolChangeRequest {
    /// The fingerprint that was looked at; what the tool is now, where nothing is said.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    fingerprint: Option<String>,
}

/// Accept a tool as it is now
#[utoipa::path(
    post,
    path = "/api/tools/{name}/accept",
    tag = "tools",
    params(("name" = String, Path, description = "Its name, or a bare name that only one source has.")),
    request_body = Option<AcceptToolChangeRequest>,
    responses(
        (status = 204, description = "It is accepted."),
        (status = 404, description = "There is no such tool, or it is not compared.", body = ErrorResponse),
        (status = 409, description = "It has changed again.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
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
        return Err(not_compared(&tool));
    }
    if app.tool_changes.accept(&tool, wanted).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::new(StatusCode::CONFLICT, "tool_changed_again", format!("{tool} has changed again"))
        .with_hint(format!("look again: `toolway tools diff {name}`")))
}
