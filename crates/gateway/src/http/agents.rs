//! `/api/agents`: which agents there are, making and removing them. Those of files are changed there.

mod form;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use toolway_agent::agents::{AgentOrigin, AgentView};
use toolway_agent::definition::AgentDefinition;
use utoipa::ToSchema;

use self::form::{AgentForm, AgentName};
use super::error::ErrorBody;
use super::resources::{Resources, resources};
use super::{ApiError, JsonBody, PathOf, agent_forbidden};
use crate::access::{Caller, Owner, TokenState};
use crate::state::App;

pub(super) fn routes() -> Resources {
    resources!(list, show, put, remove)
}

/// Where an agent stands.
#[derive(Debug, Serialize, ToSchema)]
struct OriginView {
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
struct AgentShown {
    /// What it is; docs/agents.md has the fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    definition: Map<String, Value>,
    /// Where it stands.
    origin: OriginView,
    /// What is wrong with it though it counts.
    problems: Vec<String>,
}

/// The agents.
#[derive(Debug, Serialize, ToSchema)]
struct AgentList {
    /// By name.
    agents: Vec<AgentShown>,
}

/// What everybody who may talk to an agent is shown of it.
const SHOWN_TO_ALL: [&str; 3] = ["name", "description", "model"];

impl AgentShown {
    fn of(view: AgentView, token: &TokenState) -> Self {
        let is_owner = token.role().is_owner();
        let mut definition = match serde_json::to_value(&*view.definition) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        if !is_owner {
            definition.retain(|name, _| SHOWN_TO_ALL.contains(&name.as_str()));
        }
        let (kind, place) = match view.origin {
            AgentOrigin::BuiltIn => ("built_in", None),
            AgentOrigin::Database => ("database", None),
            AgentOrigin::File { path, line } => ("file", Some((path.display().to_string(), line))),
        };
        let (path, line) = place.filter(|_| is_owner).unzip();
        let problems = if is_owner { view.problems } else { Vec::new() };
        Self { definition, origin: OriginView { kind, path, line }, problems }
    }
}

/// Whether a token may talk to an agent.
fn may_talk(token: &TokenState, agent: &str) -> bool {
    token.principal.agent.as_deref().is_none_or(|bound| bound == agent)
}

/// List agents
#[utoipa::path(
    get,
    path = "/api/agents",
    tag = "agents",
    responses((status = 200, description = "The agents that the caller may talk to.", body = AgentList))
)]
async fn list(Caller(token): Caller, State(app): State<Arc<App>>) -> Json<AgentList> {
    let all = app.chat.agents.list().into_iter();
    let mine = all.filter(|view| may_talk(&token, &view.definition.name));
    Json(AgentList { agents: mine.map(|view| AgentShown::of(view, &token)).collect() })
}

/// Show an agent
#[utoipa::path(
    get,
    path = "/api/agents/{name}",
    tag = "agents",
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, description = "The agent.", body = AgentShown),
        (status = 404, description = "There is no such agent.", body = ErrorBody),
    )
)]
async fn show(
    Caller(token): Caller,
    State(app): State<Arc<App>>,
    PathOf(name): PathOf<String>,
) -> Result<Json<AgentShown>, ApiError> {
    if let Some(bound) = token.principal.agent.as_deref().filter(|bound| *bound != name) {
        return Err(agent_forbidden(bound, &name));
    }
    Ok(Json(AgentShown::of(app.chat.agents.view(&name)?, &token)))
}

/// Make or change an agent
///
/// What is left out is as it is in a new agent. One that stands in a file is changed there.
#[utoipa::path(
    put,
    path = "/api/agents/{name}",
    tag = "agents",
    params(("name" = inline(AgentName), Path, description = "Its name.")),
    request_body = AgentForm,
    responses(
        (status = 200, description = "The agent, which was changed.", body = AgentShown),
        (status = 201, description = "The agent, which was made.", body = AgentShown),
        (status = 409, description = "It stands in a file, or there are too many.", body = ErrorBody),
        (status = 503, description = "It could not be kept.", body = ErrorBody),
    )
)]
async fn put(
    Owner(token): Owner,
    State(app): State<Arc<App>>,
    PathOf(name): PathOf<String>,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<AgentShown>), ApiError> {
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
    make_whole(&mut body);
    let definition: AgentDefinition = serde_json::from_value(body).map_err(|error| {
        ApiError::malformed(format!("the agent has the wrong form: {error}"))
            .with_hint("docs/agents.md says what an agent may be")
    })?;
    let is_new = app.chat.agents.put(definition).await?;
    tracing::info!(agent = name, "an agent was made or changed");
    let shown = AgentShown::of(app.chat.agents.view(&name)?, &token);
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(shown)))
}

/// Whole numbers that are written with a fraction of nothing (`5.0`) are whole numbers in JSON Schema.
fn make_whole(body: &mut Value) {
    const WHOLE: &[&str] = &["/max_tools", "/limits/rounds", "/options/max_output_tokens", "/options/seed"];
    /// Up to here a floating-point number tells one whole number from the next.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    for path in WHOLE {
        if let Some(field) = body.pointer_mut(path)
            && let Some(number) = field.as_f64().filter(|it| field.is_f64() && it.fract() == 0.0)
            && number.abs() <= EXACT
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
        (status = 404, description = "There is no such agent.", body = ErrorBody),
        (status = 409, description = "It stands in a file, or is `default`.", body = ErrorBody),
        (status = 503, description = "It could not be removed.", body = ErrorBody),
    )
)]
async fn remove(
    _: Owner,
    State(app): State<Arc<App>>,
    PathOf(name): PathOf<String>,
) -> Result<StatusCode, ApiError> {
    app.chat.agents.remove(&name).await?;
    tracing::info!(agent = name, "an agent was removed");
    Ok(StatusCode::NO_CONTENT)
}
