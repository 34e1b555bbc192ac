//! The entry points of MCP clients over HTTP: `/mcp` has all tools that the token may call, `/mcp/agents/{agent}` those
//! of one agent, `/mcp/sources/{source}` those of one device or server, under their own names. Doubled slashes and one at
//! the end change nothing.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, Path, Request, State};
use axum::response::Response;
use axum::routing::any;
use http::Uri;
use serde::Deserialize;
use toolway_core::{Caller as EngineCaller, EntryPoint, MemoryPermit};
use toolway_mcp::server::{ClientScope, EndpointScope, ToolRestrictions, error_response};
use toolway_types::Slug;

use super::extractors::read_large_body;
use super::{ApiError, QueryParams, client_time_zone, error};
use crate::access::{TokenState, check_agent};
use crate::http::AuthenticatedCaller;
use crate::state::{AppState, RouterState};

/// Returns the routes.
pub(super) fn routes() -> Router<RouterState> {
    let mut routes = Router::new();
    for start in ["/mcp", "//mcp"] {
        routes = routes
            .route(start, any(everything))
            .route(&format!("{start}/"), any(everything))
            .route(&format!("{start}/{{*rest}}"), any(part));
    }
    routes
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
    request: Request,
) -> Result<Response, ApiError> {
    serve(&app, &token, None, EndpointScope::Everything, request).await
}

/// Serves one agent or one source.
async fn part(
    State(app): State<Arc<AppState>>,
    AuthenticatedCaller(token): AuthenticatedCaller,
    Path(rest): Path<String>,
    uri: Uri,
    request: Request,
) -> Result<Response, ApiError> {
    let segments: Vec<&str> = rest.split('/').filter(|segment| !segment.is_empty()).collect();
    match segments.as_slice() {
        [] => serve(&app, &token, None, EndpointScope::Everything, request).await,
        ["agents", agent] => {
            let agent = agent_of(&app, &token, agent)?;
            serve(&app, &token, Some(agent), EndpointScope::Everything, request).await
        }
        ["sources", source] => {
            let source = source_of(&app, &token, source)?;
            serve(&app, &token, None, EndpointScope::Source(source), request).await
        }
        _ => Err(error::no_such_path(uri).await),
    }
}

/// Finds a source by name. A token of an agent learns nothing of sources that its agent does not use: for it, they do
/// not exist.
fn source_of(app: &AppState, token: &Arc<TokenState>, source: &str) -> Result<Slug, ApiError> {
    let found = source.parse::<Slug>().ok().filter(|slug| {
        let is_bound = token.principal.agent.is_some();
        let scope = || client_scope(token, None, EndpointScope::Source(slug.clone()), Arc::default());
        app.registry.snapshot().source(slug).is_some()
            && (!is_bound || app.mcp.shared.has_anything_for(&scope()))
    });
    found.ok_or_else(|| {
        ApiError::not_found("source_not_found", format!("there is no source {source:?}"))
            .with_hint("`toolway devices list` and `toolway mcp list` show the sources")
    })
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

/// Serves a request. Refusals of its body or query are JSON-RPC errors, because only those reach an MCP client's user.
async fn serve(
    app: &AppState,
    token: &Arc<TokenState>,
    agent: Option<Arc<str>>,
    scope: EndpointScope,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let read = async {
        let QueryParams(query) = QueryParams::<McpQuery>::from_request_parts(&mut parts, &()).await?;
        let bounds = query.bounds()?;
        let time_zone = client_time_zone(app, &parts.headers).await?;
        let received = read_large_body(app, &token.principal, &parts.headers, body).await?;
        Ok::<_, ApiError>((bounds, time_zone, received))
    };
    let (bounds, time_zone, received) = match read.await {
        Ok(read) => read,
        Err(refused) => return Ok(error_response(refused.status, refused.message).map(Body::new)),
    };
    let (body, memory) = (received.bytes, received.memory);
    let mut scope = client_scope(token, agent, scope, bounds);
    scope.caller.time_zone = time_zone;
    // The requests hold it until they have ended, which may be after the response has begun.
    parts.extensions.insert(MemoryPermit::new(memory));
    let response = app.mcp.http.serve(scope, http::Request::from_parts(parts, body)).await;
    Ok(response.map(Body::new))
}
