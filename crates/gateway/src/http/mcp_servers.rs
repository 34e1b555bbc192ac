//! `/api/mcp/servers`: MCP servers. Servers with a URL can be set over the network. A program for this computer to run
//! and a URL that gets one of its secrets can be set only in files.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Map, Value};
use toolway_api::mcp_servers::{McpServerDetail, McpServerList};
use toolway_api::openapi::{McpServerDefinitionSchema, McpServerNameSchema};
use toolway_api::{ErrorResponse, FileProblem};
use toolway_mcp::definition::store::ServersFileError;
use toolway_mcp::definition::{
    DefinedServer, DefinitionFileProblem, DefinitionLocation, HIDDEN, SECRET_PREFIX, ServerDefinition,
    check_name,
};
use toolway_types::Slug;

use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::access::AuthenticatedOwner;
use crate::api_views::{mcp_server_origin, mcp_server_status};
use crate::state::AppState;

/// Maximum number of servers.
const MAX_SERVERS: usize = 256;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, put, remove, reconnect)
}

fn server_detail(placed: &DefinedServer, app: &AppState) -> McpServerDetail {
    let definition = match serde_json::to_value(placed.definition.redacted()) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    McpServerDetail {
        name: placed.slug.to_string(),
        definition,
        origin: mcp_server_origin(&placed.location),
        status: app.mcp.upstreams.get(&placed.slug).map(|upstream| mcp_server_status(upstream.status())),
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
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<McpServerList> {
    let servers = app.mcp.definitions.list().iter().map(|placed| server_detail(placed, &app)).collect();
    let problem = |problem: &DefinitionFileProblem| FileProblem {
        path: problem.path.display().to_string(),
        line: problem.line,
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    };
    Json(McpServerList { servers, problems: app.mcp.definitions.problems().iter().map(problem).collect() })
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
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<McpServerDetail>, ApiError> {
    let placed = find_server(&name, &app)?;
    let log = app.mcp.upstreams.get(&placed.slug).map(|upstream| upstream.log().lines());
    Ok(Json(McpServerDetail { log: Some(log.unwrap_or_default()), ..server_detail(&placed, &app) }))
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
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<McpServerDetail>), ApiError> {
    // A reserved name is a valid name that is taken.
    let slug = match name.parse::<Slug>() {
        Ok(slug) if slug.is_reserved() => return Err(name_taken(&name)),
        _ => check_name(&name).map_err(|flaw| ApiError::malformed(flaw.message).with_hint(flaw.hint))?,
    };
    let mut definition = read_definition(body)?;
    let before = app.mcp.definitions.get(&name);
    if let Some(before) = &before {
        refuse_settings(before)?;
    }
    let may_run = app.settings.allow_remote_commands;
    if !may_run {
        refuse_command(&name, &definition, before.as_ref())?;
    }
    keep_hidden(&mut definition, before.as_ref())?;
    if !may_run {
        refuse_secrets(&definition, before.as_ref())?;
    }
    definition.check().map_err(|flaws| {
        let words: Vec<_> = flaws.iter().map(ToString::to_string).collect();
        let hint = flaws.first().map(|flaw| flaw.hint.clone()).unwrap_or_default();
        ApiError::malformed(words.join("; ")).with_hint(hint)
    })?;
    if before.is_none() {
        if app.mcp.definitions.list().len() >= MAX_SERVERS {
            let words = format!("there are already {MAX_SERVERS} MCP servers");
            return Err(ApiError::new(StatusCode::CONFLICT, "too_many_servers", words)
                .with_hint("`toolway mcp remove NAME` removes one"));
        }
        if app.sources.get(slug.as_str()).is_some() {
            return Err(name_taken(&name));
        }
    }
    app.mcp.definitions.put(&slug, definition).await.map_err(change_error)?;
    tracing::info!(server = %slug, "MCP server added or changed");
    let status = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    let placed = find_server(&name, &app)?;
    Ok((status, Json(server_detail(&placed, &app))))
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
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let placed = find_server(&name, &app)?;
    refuse_settings(&placed)?;
    if placed.definition.command.is_some() && !app.settings.allow_remote_commands {
        return Err(remote_commands_disabled(&format!("{name} runs a program on the gateway's computer"))
            .with_hint(format!("on that computer, run `toolway mcp remove {name}`")));
    }
    if !app.mcp.definitions.remove(&placed.slug).await.map_err(change_error)? {
        return Err(unknown_server(&name));
    }
    if let Err(error) = app.mcp.oauth.remove(&placed.slug).await {
        tracing::warn!(server = %placed.slug, %error, "the tokens of its login could not be removed");
    }
    tracing::info!(server = %placed.slug, "MCP server removed");
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
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<(StatusCode, Json<McpServerDetail>), ApiError> {
    let placed = find_server(&name, &app)?;
    if placed.definition.disabled {
        return Err(ApiError::new(StatusCode::CONFLICT, "server_disabled", format!("{name} is disabled"))
            .with_hint("remove `disabled` from its definition"));
    }
    if !app.mcp.upstreams.reconnect(&placed.slug) {
        return Err(name_taken(&name));
    }
    Ok((StatusCode::ACCEPTED, Json(server_detail(&placed, &app))))
}

fn find_server(name: &str, app: &AppState) -> Result<DefinedServer, ApiError> {
    app.mcp.definitions.get(name).ok_or_else(|| unknown_server(name))
}

fn unknown_server(name: &str) -> ApiError {
    ApiError::not_found("mcp_server_not_found", format!("there is no MCP server {name:?}"))
        .with_hint("`toolway mcp list` shows their names")
}

fn name_taken(name: &str) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "name_taken", format!("another source has the name {name:?}"))
        .with_hint("choose another name")
}

fn read_definition(body: Map<String, Value>) -> Result<ServerDefinition, ApiError> {
    // Serde would read an array as its fields in order.
    if body.get("oauth").is_some_and(|given| !given.is_object()) {
        return Err(ApiError::malformed("oauth is no object"));
    }
    serde_json::from_value(Value::Object(body)).map_err(|error| {
        ApiError::malformed(format!("the server is invalid: {error}"))
            .with_hint("docs/mcp-servers.md describes the fields")
    })
}

fn remote_commands_disabled(what: &str) -> ApiError {
    let message = format!("{what}; this can be set only in files");
    ApiError::new(StatusCode::FORBIDDEN, "remote_commands_disabled", message)
}

/// Rejects changes of a server in the settings.
fn refuse_settings(placed: &DefinedServer) -> Result<(), ApiError> {
    let DefinitionLocation::Settings { path, line } = &placed.location else { return Ok(()) };
    let place = match (path, line) {
        (Some(path), Some(line)) => format!("{}, line {line}", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, _) => "the settings".to_owned(),
    };
    let words = format!("{} is defined in {place}", placed.slug);
    Err(ApiError::new(StatusCode::CONFLICT, "server_in_settings", words)
        .with_hint("change it there, in [mcp.servers.NAME]"))
}

/// Rejects a program for this computer to run, and replacing one.
fn refuse_command(
    name: &str,
    new: &ServerDefinition,
    before: Option<&DefinedServer>,
) -> Result<(), ApiError> {
    let runs = new.command.is_some() || before.is_some_and(|before| before.definition.command.is_some());
    if !runs {
        return Ok(());
    }
    Err(remote_commands_disabled("a command makes the gateway's computer run a program")
        .with_hint(format!("on that computer, run `toolway mcp add {name} --command PROGRAM ARGS…`")))
}

/// The previous definition, if it has the same URL.
fn definition_at_same_address<'b>(
    new: &ServerDefinition,
    before: Option<&'b DefinedServer>,
) -> Option<&'b ServerDefinition> {
    before.map(|before| &before.definition).filter(|before| before.url.is_some() && before.url == new.url)
}

/// Keeps the stored values of hidden fields, for the same URL only.
fn keep_hidden(new: &mut ServerDefinition, before: Option<&DefinedServer>) -> Result<(), ApiError> {
    // A URL that contains a hidden part.
    if let Some(before) = before.filter(|before| before.definition.redacted().url == new.url) {
        new.url.clone_from(&before.definition.url);
    }
    let kept = definition_at_same_address(new, before).cloned();
    for (name, value) in new.headers.iter_mut().filter(|(_, value)| *value == HIDDEN) {
        let old = kept.as_ref().and_then(|kept| kept.headers.get(name));
        let old = old.ok_or_else(|| {
            ApiError::malformed(format!("headers.{name} is {HIDDEN:?}, but no value is stored for this URL"))
                .with_hint("send the value")
        })?;
        value.clone_from(old);
    }
    Ok(())
}

/// Rejects a new use of a secret of this computer. Only files may send it somewhere.
fn refuse_secrets(new: &ServerDefinition, before: Option<&DefinedServer>) -> Result<(), ApiError> {
    let kept = definition_at_same_address(new, before);
    let is_new = |name: &String, value: &String| {
        value.starts_with(SECRET_PREFIX) && kept.is_none_or(|kept| kept.headers.get(name) != Some(value))
    };
    let has_new = new.headers.iter().any(|(name, value)| is_new(name, value));
    let client_secret =
        |definition: &ServerDefinition| definition.oauth.as_ref().and_then(|it| it.client_secret.clone());
    let new_client = client_secret(new);
    let issuer = |definition: &ServerDefinition| definition.oauth.as_ref().and_then(|it| it.issuer.clone());
    let same_issuer = kept.is_some_and(|kept| issuer(kept) == issuer(new));
    let has_new_client = new_client.is_some() && !(same_issuer && kept.and_then(client_secret) == new_client);
    if !has_new && !has_new_client {
        return Ok(());
    }
    Err(remote_commands_disabled("the definition combines a URL with a secret of the gateway's computer")
        .with_hint("on that computer, run `toolway mcp add NAME --url URL --header NAME:secret:SECRET`"))
}

fn change_error(error: ServersFileError) -> ApiError {
    let words = match &error {
        ServersFileError::Invalid { problems, .. } => {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    };
    match error {
        ServersFileError::Io { .. } => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "storage_failed", words)
                .with_hint("see the gateway's log")
        }
        _ => ApiError::new(StatusCode::CONFLICT, "invalid_file", words)
            .with_hint("correct the file on the gateway's computer; its previous version stays active"),
    }
}
