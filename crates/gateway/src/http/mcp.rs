//! The entry points of MCP clients over HTTP: `/mcp` has all tools that the token may call, `/mcp/agents/{agent}` those
//! of one agent, `/mcp/sources/{source}` those of one device or server, under their own names.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::StatusCode;
use serde::Deserialize;
use toolway_core::{Caller as EngineCaller, EntryPoint};
use toolway_mcp::server::{ClientScope, EndpointScope, ToolRestrictions};
use toolway_types::Slug;

use super::extractors::read_body;
use super::{ApiError, QueryParams};
use crate::access::{TokenState, check_agent};
use crate::http::AuthenticatedCaller;
use crate::state::{AppState, RouterState};

/// Returns the routes.
pub(super) fn routes() -> Router<RouterState> {
    Router::new()
        .route("/mcp", any(everything))
        .route("/mcp/agents/{agent}", any(of_agent))
        .route("/mcp/sources/{source}", any(of_source))
}

/// Query parameters that narrow the tools that the token may call.
#[derive(Debug, Default, Deserialize)]
struct McpQuery {
    /// Include only read-only tools.
    #[serde(default)]
    read_only: bool,
    /// Include only tools whose ids match this pattern, or one of several separated by commas.
    only: Option<String>,
}

impl McpQuery {
    fn bounds(&self) -> Result<Arc<ToolRestrictions>, ApiError> {
        let only: Vec<&str> = self.only.iter().flat_map(|only| only.split(',')).collect();
        let bounds = ToolRestrictions::parse(self.read_only, &only);
        bounds.map(Arc::new).map_err(|bad| ApiError::malformed(format!("only: {bad}")))
    }
}

async fn everything(
    State(app): State<Arc<AppState>>,
    AuthenticatedCaller(token): AuthenticatedCaller,
    QueryParams(query): QueryParams<McpQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let scope = client_scope(&token, None, EndpointScope::Everything, query.bounds()?);
    serve(&app, scope, request).await
}

async fn of_agent(
    State(app): State<Arc<AppState>>,
    AuthenticatedCaller(token): AuthenticatedCaller,
    Path(agent): Path<String>,
    QueryParams(query): QueryParams<McpQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let agent = agent_of(&app, &token, &agent)?;
    let scope = client_scope(&token, Some(agent), EndpointScope::Everything, query.bounds()?);
    serve(&app, scope, request).await
}

async fn of_source(
    State(app): State<Arc<AppState>>,
    AuthenticatedCaller(token): AuthenticatedCaller,
    Path(source): Path<String>,
    QueryParams(query): QueryParams<McpQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let slug = source.parse::<Slug>().ok().filter(|slug| app.registry.snapshot().source(slug).is_some());
    let slug = slug.ok_or_else(|| {
        ApiError::not_found("source_not_found", format!("there is no source {source:?}"))
            .with_hint("`toolway devices list` and `toolway mcp list` show the sources")
    })?;
    let scope = client_scope(&token, None, EndpointScope::Source(slug), query.bounds()?);
    serve(&app, scope, request).await
}

/// Finds an agent by name if the token may use it.
pub(crate) fn agent_of(app: &AppState, token: &TokenState, agent: &str) -> Result<Arc<str>, ApiError> {
    check_agent(&token.principal, agent)?;
    Ok(Arc::from(app.chat.agents.view(agent)?.definition.name.as_str()))
}

/// Returns the scope of a client with this token at one of the entry points.
pub(crate) fn client_scope(
    token: &Arc<TokenState>,
    agent: Option<Arc<str>>,
    scope: EndpointScope,
    bounds: Arc<ToolRestrictions>,
) -> ClientScope {
    let mut caller = EngineCaller::new(Arc::clone(&token.principal), EntryPoint::Mcp);
    caller.agent = agent;
    ClientScope { caller, scope, restrictions: bounds, revoked: token.end_signal() }
}

async fn serve(app: &AppState, scope: ClientScope, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, app.settings.limits.frame_bytes).await?;
    if app.closing.is_cancelled() {
        return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    let response = app.mcp.http.serve(scope, http::Request::from_parts(parts, body)).await;
    Ok(response.map(Body::new))
}
