//! `/api/agents`: which agents there are, making and removing them. Those of files are changed there.

mod definition_schema;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use toolway_agent::agents::{AgentOrigin, AgentView};
use toolway_agent::definition::AgentDefinition;
use utoipa::ToSchema;

use self::definition_schema::{AgentDefinitionSchema, AgentNameSchema};
use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams, agent_forbidden};
use crate::access::{AuthenticatedCaller, AuthenticatedOwner, TokenState};
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, put, remove)
}

/// Where an agent stands.
#[derive(Debug, Serialize, ToSchema)]
struct AgentOriginView {
    /// `built_in`, `database` or `file`.
    kind: &'static str,
    /// The file. For the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    path: Option<String>,
    /// The line in it. For the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line: Option<usize>,
}

/// An agent. What of it concerns only its owner (prompt, options, tools, limits) is shown to the owner.
#[derive(Debug, Serialize, ToSchema)]
struct AgentDetail {
    /// What it is; docs/agents.md has the fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    definition: Map<String, Value>,
    /// Where it stands.
    origin: AgentOriginView,
    /// What is wrong with it though it counts.
    problems: Vec<String>,
}

/// The agents.
#[derive(Debug, Serialize, ToSchema)]
struct AgentList {
    /// By name.
    agents: Vec<AgentDetail>,
}

/// What everybody who may talk to an agent is shown of it.
const PUBLIC_FIELDS: [&str; 3] = ["name", "description", "model"];

impl AgentDetail {
    fn of(view: AgentView, token: &TokenState) -> Self {
        let is_owner = token.role().is_owner();
        let mut definition = match serde_json::to_value(&*view.definition) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        if !is_owner {
            definition.retain(|name, _| PUBLIC_FIELDS.contains(&name.as_str()));
        }
        let (kind, place) = match view.origin {
            AgentOrigin::BuiltIn => ("built_in", None),
            AgentOrigin::Database => ("database", None),
            AgentOrigin::File { path, line } => ("file", Some((path.display().to_string(), line))),
        };
        let (path, line) = place.filter(|_| is_owner).unzip();
        let problems = if is_owner { view.problems } else { Vec::new() };
        Self { definition, origin: AgentOriginView { kind, path, line }, problems }
    }
}

/// Whether a token may talk to an agent.
fn can_talk(token: &TokenState, agent: &str) -> bool {
    token.principal.agent.as_deref().is_none_or(|bound| bound == agent)
}

/// List agents
#[utoipa::path(
    get,
    path = "/api/agents",
    tag = "agents",
    responses((status = 200, description = "The agents that the caller may talk to.", body = AgentList))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Json<AgentList> {
    let all = app.chat.agents.list().into_iter();
    let mine = all.filter(|view| can_talk(&token, &view.definition.name));
    Json(AgentList { agents: mine.map(|view| AgentDetail::of(view, &token)).collect() })
}

/// Show an agent
#[utoipa::path(
    get,
    path = "/api/agents/{name}",
    tag = "agents",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, description = "The agent.", body = AgentDetail),
        (status = 404, description = "There is no such agent.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<AgentDetail>, ApiError> {
    if let Some(bound) = token.principal.agent.as_deref().filter(|bound| *bound != name) {
        return Err(agent_forbidden(bound, &name));
    }
    Ok(Json(AgentDetail::of(app.chat.agents.view(&name)?, &token)))
}

/// Make or change an agent
///
/// What is left out is as it is in a new agent. One that stands in a file is changed there.
#[utoipa::path(
    put,
    path = "/api/agents/{name}",
    tag = "agents",
    params(("name" = inline(AgentNameSchema), Path, description = "Its name.")),
    request_body = AgentDefinitionSchema,
    responses(
        (status = 200, description = "The agent, which was changed.", body = AgentDetail),
        (status = 201, description = "The agent, which was made.", body = AgentDetail),
        (status = 409, description = "It stands in a file, or there are too many.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn put(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<AgentDetail>), ApiError> {
    let given = body.entry("name").or_insert_with(|| name.clone().into());
    if given.as_str() != Some(name.as_str()) {
        return Err(ApiError::malformed("name is not the name in the path").with_hint("leave it out"));
    }
    // A list in order would be taken for their fields.
    for field in ["options", "limits"] {
        if body.get(field).is_some_and(|given| !given.is_object()) {
            return Err(ApiError::malformed(format!("{field} is no object")));
        }
    }
    let mut body = Value::Object(body);
    convert_whole_floats(&mut body);
    let definition: AgentDefinition = serde_json::from_value(body).map_err(|error| {
        ApiError::malformed(format!("the agent has the wrong form: {error}"))
            .with_hint("docs/agents.md says what an agent may be")
    })?;
    let is_new = app.chat.agents.put(definition).await?;
    tracing::info!(agent = name, "an agent was made or changed");
    let shown = AgentDetail::of(app.chat.agents.view(&name)?, &token);
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(shown)))
}

/// Whole numbers that are written with a fraction of nothing (`5.0`) are whole numbers in JSON Schema.
fn convert_whole_floats(body: &mut Value) {
    const WHOLE_NUMBER_FIELDS: &[&str] =
        &["/max_tools", "/limits/rounds", "/options/max_output_tokens", "/options/seed"];
    /// Up to here a floating-point number tells one whole number from the next.
    const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;
    for path in WHOLE_NUMBER_FIELDS {
        if let Some(field) = body.pointer_mut(path)
            && let Some(number) = field.as_f64().filter(|it| field.is_f64() && it.fract() == 0.0)
            && number.abs() <= MAX_EXACT_FLOAT
        {
            #[allow(clippy::cast_possible_truncation, reason = "it is whole and in the range")]
            let whole = number as i64;
            *field = whole.into();
        }
    }
}

/// Remove an agent
///
/// Sessions with it stay, and can be gone on with another.
#[utoipa::path(
    delete,
    path = "/api/agents/{name}",
    tag = "agents",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 204, description = "It is gone; `default` is as it was at first."),
        (status = 404, description = "There is no such agent.", body = ErrorResponse),
        (status = 409, description = "It stands in a file, or is `default`.", body = ErrorResponse),
        (status = 503, description = "It could not be removed.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    app.chat.agents.remove(&name).await?;
    tracing::info!(agent = name, "an agent was removed");
    Ok(StatusCode::NO_CONTENT)
}
