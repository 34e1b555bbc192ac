//! `/api/mcp/servers`: MCP servers. Servers with a URL can be set over the network. A program for this computer to run
//! and a URL that gets one of its secrets can be set only in files.

mod error;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Map, Value};
use toolway_api::mcp_servers::{McpServerDetail, McpServerList};
use toolway_api::openapi::{McpServerDefinitionSchema, McpServerNameSchema};
use toolway_api::{ErrorResponse, FileProblem};
use toolway_files::owner_file;
use toolway_mcp::definition::{DefinedServer, ServerDefinition};

use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::api_views::{mcp_server_origin, mcp_server_status};
use crate::http::AuthenticatedOwner;
use crate::mcp::McpService;
use crate::mcp::parse_name;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, put, remove, reconnect)
}

fn server_detail(placed: &DefinedServer, mcp: &McpService) -> McpServerDetail {
    let definition = match serde_json::to_value(placed.definition.redacted()) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    McpServerDetail {
        name: placed.slug.to_string(),
        definition,
        origin: mcp_server_origin(&placed.location),
        status: mcp.upstreams.get(&placed.slug).map(|upstream| mcp_server_status(upstream.status())),
        log: None,
    }
}

/// List MCP servers
#[utoipa::path(
    get,
    path = "/api/mcp/servers",
    tag = "mcp",
    operation_id = "list_mcp_servers",
    responses((status = 200, description = "The servers and their connections.", body = McpServerList))
)]
async fn list(_: AuthenticatedOwner, State(mcp): State<Arc<McpService>>) -> Json<McpServerList> {
    let servers = mcp.definitions.list().iter().map(|placed| server_detail(placed, &mcp)).collect();
    let problem = |problem: &owner_file::FileProblem| FileProblem {
        path: problem.path.display().to_string(),
        line: problem.line,
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    };
    Json(McpServerList { servers, problems: mcp.definitions.problems().iter().map(problem).collect() })
}

/// Show an MCP server
///
/// With the last lines of its standard error.
#[utoipa::path(
    get,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    operation_id = "get_mcp_server",
    params(("name" = String, Path, description = "The server's name.")),
    responses(
        (status = 200, description = "The server.", body = McpServerDetail),
        (status = 404, description = "The server does not exist.", body = ErrorResponse),
    )
)]
async fn show(
    _: AuthenticatedOwner,
    State(mcp): State<Arc<McpService>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<McpServerDetail>, ApiError> {
    let placed = mcp.admin.get(&name)?;
    let log = mcp.upstreams.get(&placed.slug).map(|upstream| upstream.log().lines());
    Ok(Json(McpServerDetail { log: Some(log.unwrap_or_default()), ..server_detail(&placed, &mcp) }))
}

/// Add or change an MCP server
///
/// A server with a URL. The gateway starts to connect and responds at once. Programs and the gateway's own secrets can
/// be set only in files.
#[utoipa::path(
    put,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    operation_id = "put_mcp_server",
    params(("name" = inline(McpServerNameSchema), Path, description = "The server's name: a lower-case letter, then a-z, 0-9 and -.")),
    request_body = McpServerDefinitionSchema,
    responses(
        (status = 200, description = "The changed server.", body = McpServerDetail),
        (status = 201, description = "The new server.", body = McpServerDetail),
        (status = 403, description = "The definition can be set only in files.", body = ErrorResponse),
        (status = 409, description = "The server is in the settings, its name is taken, there are too many servers, or the \
            file is invalid.", body = ErrorResponse),
        (status = 503, description = "The file cannot be written.", body = ErrorResponse),
    )
)]
async fn put(
    _: AuthenticatedOwner,
    State(mcp): State<Arc<McpService>>,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<McpServerDetail>), ApiError> {
    let slug = parse_name(&name)?;
    let changed = mcp.admin.put(&slug, read_definition(body)?).await?;
    let status = if changed.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(server_detail(&changed.server, &mcp))))
}

/// Remove an MCP server
///
/// Its tools disappear at once. A server with a program can be removed only in files.
#[utoipa::path(
    delete,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    operation_id = "delete_mcp_server",
    params(("name" = String, Path, description = "The server's name.")),
    responses(
        (status = 204, description = "Removed."),
        (status = 403, description = "The server runs a program and can be changed only in files.", body = ErrorResponse),
        (status = 404, description = "The server does not exist.", body = ErrorResponse),
        (status = 409, description = "The server is in the settings, or the file is invalid.", body = ErrorResponse),
        (status = 503, description = "The file cannot be written.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(mcp): State<Arc<McpService>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    mcp.admin.remove(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Reconnect to an MCP server
///
/// Starts at once and does not wait for the result.
#[utoipa::path(
    post,
    path = "/api/mcp/servers/{name}/reconnect",
    tag = "mcp",
    operation_id = "reconnect_mcp_server",
    params(("name" = String, Path, description = "The server's name.")),
    responses(
        (status = 202, description = "The gateway connects.", body = McpServerDetail),
        (status = 404, description = "The server does not exist.", body = ErrorResponse),
        (status = 409, description = "The server is disabled, or a device has its name.", body = ErrorResponse),
    )
)]
async fn reconnect(
    _: AuthenticatedOwner,
    State(mcp): State<Arc<McpService>>,
    PathParams(name): PathParams<String>,
) -> Result<(StatusCode, Json<McpServerDetail>), ApiError> {
    let server = mcp.admin.reconnect(&name)?;
    Ok((StatusCode::ACCEPTED, Json(server_detail(&server, &mcp))))
}

fn read_definition(body: Map<String, Value>) -> Result<ServerDefinition, ApiError> {
    // Serde would read an array as its fields in order.
    if body.get("oauth").is_some_and(|given| !given.is_object()) {
        return Err(ApiError::malformed("oauth must be an object"));
    }
    serde_json::from_value(Value::Object(body)).map_err(|error| {
        ApiError::malformed(format!("the server is invalid: {error}"))
            .with_hint("docs/mcp-servers.md describes the fields")
    })
}
