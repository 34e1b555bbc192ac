//! What has changed about a tool, and letting it pass.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolway_core::{Door, Lookup};
use toolway_types::ToolId;
use utoipa::ToSchema;

use super::error::ErrorBody;
use super::resources::{Resources, resources};
use super::{ApiError, OptionalJsonBody, PathOf};
use crate::access::{Owner, TokenState};
use crate::changes::Accepted;
use crate::state::App;

pub(super) fn routes() -> Resources {
    resources!(show, accept)
}

/// How a tool differs from what it was when it was last accepted.
#[derive(Debug, Serialize, ToSchema)]
struct ChangeView {
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
fn find(app: &App, owner: &TokenState, name: &str) -> Result<ToolId, ApiError> {
    let caller = toolway_core::Caller::new(owner.principal.clone(), Door::Rest);
    match app.registry.snapshot().lookup(name, &caller, |_, _| true) {
        Lookup::Found(id, ..) | Lookup::Away(id) => Ok(id),
        Lookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.exposed().to_string()).collect();
            Err(missing(name).with_hint(format!("several sources have one; say which: {}", names.join(", "))))
        }
        Lookup::Unknown => Err(missing(name).with_hint("`toolway tools list` shows the tools")),
    }
}

fn missing(name: &str) -> ApiError {
    ApiError::not_found("tool_not_available", format!("Tool {name} is not available"))
}

/// Show what changed about a tool
#[utoipa::path(
    get,
    path = "/api/tools/{name}/changes",
    tag = "tools",
    params(("name" = String, Path, description = "Its name, or a bare name that only one source has.")),
    responses(
        (status = 200, description = "How it differs from what was accepted.", body = ChangeView),
        (status = 404, description = "There is no such tool, or it is not compared.", body = ErrorBody),
        (status = 503, description = "It could not be read.", body = ErrorBody),
    )
)]
async fn show(
    Owner(owner): Owner,
    State(app): State<Arc<App>>,
    PathOf(name): PathOf<String>,
) -> Result<Json<ChangeView>, ApiError> {
    let tool = find(&app, &owner, &name)?;
    let Some(difference) = app.changes.difference(&tool).await? else { return Err(not_compared(&tool)) };
    Ok(Json(ChangeView {
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
struct AcceptBody {
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
    request_body = Option<AcceptBody>,
    responses(
        (status = 204, description = "It is accepted."),
        (status = 404, description = "There is no such tool, or it is not compared.", body = ErrorBody),
        (status = 409, description = "It has changed again.", body = ErrorBody),
        (status = 503, description = "It could not be kept.", body = ErrorBody),
    )
)]
async fn accept(
    Owner(owner): Owner,
    State(app): State<Arc<App>>,
    PathOf(name): PathOf<String>,
    OptionalJsonBody(body): OptionalJsonBody<AcceptBody>,
) -> Result<StatusCode, ApiError> {
    let tool = find(&app, &owner, &name)?;
    let wanted = match body.unwrap_or_default().fingerprint {
        None => Accepted::Now,
        Some(text) => Accepted::This(unhex(&text).ok_or_else(|| {
            ApiError::malformed("fingerprint is not a SHA-256 in hex")
                .with_hint(format!("GET /api/tools/{name}/changes gives it"))
        })?),
    };
    if app.changes.difference(&tool).await?.is_none() {
        return Err(not_compared(&tool));
    }
    if app.changes.accept(&tool, wanted).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ApiError::new(StatusCode::CONFLICT, "tool_changed_again", format!("{tool} has changed again"))
        .with_hint(format!("look again: `toolway tools diff {name}`")))
}
