//! `/api/mcp/servers`: the MCP servers whose tools are offered. Those at an address can be set from here; what makes
//! this computer run a program, and what sends a secret that is kept here somewhere, is set in files.

mod definition_schema;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use toolway_mcp::definition::store::ServersFileError;
use toolway_mcp::definition::{
    DefinedServer, DefinitionFileProblem, DefinitionLocation, HIDDEN, SECRET_PREFIX, ServerDefinition,
    check_name,
};
use toolway_mcp::upstream::UpstreamStatus;
use toolway_types::Slug;
use utoipa::ToSchema;

use self::definition_schema::{McpServerDefinitionSchema, McpServerNameSchema};
use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::schema_wrapper::shown_as;
use super::{ApiError, JsonBody, PathParams};
use crate::access::AuthenticatedOwner;
use crate::state::AppState;

/// Most servers.
const MAX_SERVERS: usize = 256;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, put, remove, reconnect)
}

shown_as! {
    /// How the connection to a server stands.
    StatusShown(UpstreamStatus) {
        /// Its name.
        slug: String,
        /// Its command line or address, without secrets.
        #[schema(rename = "where")]
        place: String,
        /// `connecting`, `connected`, `failed`, `needs_login` or `disabled`.
        state: String,
        /// Since when, in milliseconds since the Unix epoch.
        since_ms: i64,
        /// When it is tried again.
        #[schema(required = false)]
        next_try_ms: i64,
        /// What carries the messages: `stdio`, `streamable-http` or `sse`.
        #[schema(required = false)]
        transport: String,
        /// The version of MCP that is spoken.
        #[schema(required = false)]
        protocol_version: String,
        /// Which era that belongs to: `stateless` or `handshake`.
        #[schema(required = false)]
        era: String,
        /// What it calls itself.
        #[schema(required = false)]
        server_name: String,
        /// Which version of itself that is.
        #[schema(required = false)]
        server_version: String,
        /// How many of its tools are offered.
        tools: usize,
        /// How many resources it has, templates apart.
        resources: usize,
        /// How many prompts it has.
        prompts: usize,
        /// Those of its tools that are not offered: `name` and `reason`.
        #[schema(required = false)]
        left_out: Vec<serde_json::Map<String, serde_json::Value>>,
        /// What went wrong last: `message` and `hint`.
        #[schema(value_type = Object, required = false)]
        problem: serde_json::Value,
    }
}

/// Where a definition stands.
#[derive(Debug, Serialize, ToSchema)]
struct McpServerOriginView {
    /// `file` (`mcp.toml`, which is changed from here too) or `settings`.
    kind: &'static str,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    path: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line: Option<usize>,
}

/// An MCP server.
#[derive(Debug, Serialize, ToSchema)]
struct McpServerDetail {
    /// Its name, which is the slug of its source.
    name: String,
    /// What was said of it, with `[hidden]` in the place of what may be a secret.
    #[schema(value_type = Object)]
    definition: Map<String, Value>,
    /// Where that stands.
    origin: McpServerOriginView,
    /// How the connection to it stands; absent where a device has its name, so that there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<StatusShown>,
    /// The last lines that its program wrote to standard error, where one server is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    log: Option<Vec<String>>,
}

/// Something that is wrong in the file of servers.
#[derive(Debug, Serialize, ToSchema)]
struct McpServersFileProblem {
    /// The file.
    path: String,
    /// The line in it.
    line: usize,
    /// What is wrong.
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
}

/// The MCP servers.
#[derive(Debug, Serialize, ToSchema)]
struct McpServerList {
    /// By name.
    servers: Vec<McpServerDetail>,
    /// What is wrong in the file; then what it said before stands.
    problems: Vec<McpServersFileProblem>,
}

impl McpServerDetail {
    fn of(placed: &DefinedServer, app: &AppState) -> Self {
        let definition = match serde_json::to_value(placed.definition.redacted()) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let text = |path: &std::path::PathBuf| path.display().to_string();
        let origin = match &placed.location {
            DefinitionLocation::File { path, line } => {
                McpServerOriginView { kind: "file", path: Some(text(path)), line: Some(*line) }
            }
            DefinitionLocation::Settings { path, line } => {
                McpServerOriginView { kind: "settings", path: path.as_ref().map(text), line: *line }
            }
        };
        let status = app.mcp.upstreams.get(&placed.slug).map(|upstream| upstream.status().into());
        Self { name: placed.slug.to_string(), definition, origin, status, log: None }
    }
}

/// List MCP servers
#[utoipa::path(
    get,
    path = "/api/mcp/servers",
    tag = "mcp",
    responses((status = 200, description = "The servers, each with how it stands.", body = McpServerList))
)]
async fn list(_: AuthenticatedOwner, State(app): State<Arc<AppState>>) -> Json<McpServerList> {
    let servers = app.mcp.definitions.list().iter().map(|placed| McpServerDetail::of(placed, &app)).collect();
    let problem = |problem: &DefinitionFileProblem| McpServersFileProblem {
        path: problem.path.display().to_string(),
        line: problem.line,
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    };
    Json(McpServerList { servers, problems: app.mcp.definitions.problems().iter().map(problem).collect() })
}

/// Show an MCP server
///
/// With the last lines that its program wrote to standard error.
#[utoipa::path(
    get,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, description = "The server.", body = McpServerDetail),
        (status = 404, description = "There is no such server.", body = ErrorResponse),
    )
)]
async fn show(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<McpServerDetail>, ApiError> {
    let placed = find_server(&name, &app)?;
    let log = app.mcp.upstreams.get(&placed.slug).map(|upstream| upstream.log().lines());
    Ok(Json(McpServerDetail { log: Some(log.unwrap_or_default()), ..McpServerDetail::of(&placed, &app) }))
}

/// Add or change an MCP server
///
/// One at an address. It is connected to at once, and not waited for. What runs a program, and what names a secret
/// that is kept here, is set in files.
#[utoipa::path(
    put,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    params(("name" = inline(McpServerNameSchema), Path, description = "Its name: a lower-case letter, then a-z, 0-9 and -.")),
    request_body = McpServerDefinitionSchema,
    responses(
        (status = 200, description = "The server, which was changed.", body = McpServerDetail),
        (status = 201, description = "The server, which was added.", body = McpServerDetail),
        (status = 403, description = "What it says is set in files only.", body = ErrorResponse),
        (status = 409, description = "It stands in the settings, its name is taken, there are too many, or the file is \
            wrong.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn put(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<McpServerDetail>), ApiError> {
    // What is kept for Toolway itself has the form of a name, and is taken.
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
            let words = format!("there are {MAX_SERVERS} MCP servers already");
            return Err(ApiError::new(StatusCode::CONFLICT, "too_many_servers", words)
                .with_hint("`toolway mcp remove NAME` removes one"));
        }
        if app.sources.get(slug.as_str()).is_some() {
            return Err(name_taken(&name));
        }
    }
    app.mcp.definitions.put(&slug, definition).await.map_err(change_error)?;
    tracing::info!(server = %slug, "an MCP server was added or changed");
    let status = if before.is_none() { StatusCode::CREATED } else { StatusCode::OK };
    let placed = find_server(&name, &app)?;
    Ok((status, Json(McpServerDetail::of(&placed, &app))))
}

/// Remove an MCP server
///
/// Its tools are gone at once. One that runs a program is removed where the program is set.
#[utoipa::path(
    delete,
    path = "/api/mcp/servers/{name}",
    tag = "mcp",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 403, description = "It runs a program, which is changed in files only.", body = ErrorResponse),
        (status = 404, description = "There is no such server.", body = ErrorResponse),
        (status = 409, description = "It stands in the settings, or the file is wrong.", body = ErrorResponse),
        (status = 503, description = "It could not be removed.", body = ErrorResponse),
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
        return Err(files_only(&format!("{name} runs a program on the gateway's computer"))
            .with_hint(format!("there, `toolway mcp remove {name}` removes it")));
    }
    if !app.mcp.definitions.remove(&placed.slug).await.map_err(change_error)? {
        return Err(unknown_server(&name));
    }
    if let Err(error) = app.mcp.oauth.remove(&placed.slug).await {
        tracing::warn!(server = %placed.slug, %error, "what its login gave could not be removed");
    }
    tracing::info!(server = %placed.slug, "an MCP server was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Connect to an MCP server anew
///
/// At once, whatever it waits for; the answer does not wait for it.
#[utoipa::path(
    post,
    path = "/api/mcp/servers/{name}/reconnect",
    tag = "mcp",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 202, description = "It is being connected to.", body = McpServerDetail),
        (status = 404, description = "There is no such server.", body = ErrorResponse),
        (status = 409, description = "It is disabled, or a device has its name.", body = ErrorResponse),
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
            .with_hint("take `disabled` out of its definition"));
    }
    if !app.mcp.upstreams.reconnect(&placed.slug) {
        return Err(name_taken(&name));
    }
    Ok((StatusCode::ACCEPTED, Json(McpServerDetail::of(&placed, &app))))
}

fn find_server(name: &str, app: &AppState) -> Result<DefinedServer, ApiError> {
    app.mcp.definitions.get(name).ok_or_else(|| unknown_server(name))
}

fn unknown_server(name: &str) -> ApiError {
    ApiError::not_found("mcp_server_unknown", format!("there is no MCP server {name:?}"))
        .with_hint("`toolway mcp list` shows their names")
}

fn name_taken(name: &str) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "name_taken", format!("the name {name:?} is another source's"))
        .with_hint("choose another name")
}

fn read_definition(body: Map<String, Value>) -> Result<ServerDefinition, ApiError> {
    // A list in order would be taken for its fields.
    if body.get("oauth").is_some_and(|given| !given.is_object()) {
        return Err(ApiError::malformed("oauth is no object"));
    }
    serde_json::from_value(Value::Object(body)).map_err(|error| {
        ApiError::malformed(format!("the server has the wrong form: {error}"))
            .with_hint("docs/mcp-servers.md says what may be said of a server")
    })
}

fn files_only(what: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "files_only", format!("{what}, which is set in files only"))
}

/// What stands in the settings is changed there.
fn refuse_settings(placed: &DefinedServer) -> Result<(), ApiError> {
    let DefinitionLocation::Settings { path, line } = &placed.location else { return Ok(()) };
    let place = match (path, line) {
        (Some(path), Some(line)) => format!("{}, line {line}", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, _) => "the settings".to_owned(),
    };
    let words = format!("{} stands in {place}", placed.slug);
    Err(ApiError::new(StatusCode::CONFLICT, "server_in_settings", words)
        .with_hint("change it there: [mcp.servers.NAME] in the settings is not changed from here"))
}

/// What makes this computer run a program is not set from afar, nor put out of force.
fn refuse_command(
    name: &str,
    new: &ServerDefinition,
    before: Option<&DefinedServer>,
) -> Result<(), ApiError> {
    let runs = new.command.is_some() || before.is_some_and(|before| before.definition.command.is_some());
    if !runs {
        return Ok(());
    }
    Err(files_only("a command makes the gateway's computer run a program")
        .with_hint(format!("on that computer, `toolway mcp add {name} --command PROGRAM ARGS…` sets one")))
}

/// Whether a definition goes to the very address that another goes to.
fn definition_at_same_address<'b>(
    new: &ServerDefinition,
    before: Option<&'b DefinedServer>,
) -> Option<&'b ServerDefinition> {
    before.map(|before| &before.definition).filter(|before| before.url.is_some() && before.url == new.url)
}

/// What was shown as hidden stays what it was, for the same address.
fn keep_hidden(new: &mut ServerDefinition, before: Option<&DefinedServer>) -> Result<(), ApiError> {
    // An address with something hidden in it, as it was shown.
    if let Some(before) = before.filter(|before| before.definition.redacted().url == new.url) {
        new.url.clone_from(&before.definition.url);
    }
    let kept = definition_at_same_address(new, before).cloned();
    for (name, value) in new.headers.iter_mut().filter(|(_, value)| *value == HIDDEN) {
        let old = kept.as_ref().and_then(|kept| kept.headers.get(name));
        let old = old.ok_or_else(|| {
            ApiError::malformed(format!("headers.{name} is {HIDDEN:?}, and nothing is kept for this address"))
                .with_hint("send the value itself")
        })?;
        value.clone_from(old);
    }
    Ok(())
}

/// A secret that is kept here goes where the owner's files say, and nowhere else.
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
    Err(files_only("an address together with a secret that is kept on the gateway's computer")
        .with_hint("there, `toolway mcp add NAME --url URL --header NAME:secret:SECRET` sets both"))
}

fn change_error(error: ServersFileError) -> ApiError {
    let words = match &error {
        ServersFileError::Invalid { problems, .. } => {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    };
    match error {
        ServersFileError::Io { .. } => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_kept", words)
            .with_hint("see the gateway's log"),
        _ => ApiError::new(StatusCode::CONFLICT, "bad_file", words)
            .with_hint("put the file right on the gateway's computer; what it said before stands"),
    }
}
