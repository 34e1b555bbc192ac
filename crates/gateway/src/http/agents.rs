//! `/api/agents`: agents. Those in files can be changed only there.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Map, Value};
use toolway_agent::agents::AgentView;
use toolway_agent::definition::AgentDefinition;
use toolway_api::agents::{AgentDetail, AgentList};
use toolway_api::openapi::{AgentDefinitionSchema, AgentNameSchema};
use toolway_api::{DefinitionOrigin, ErrorResponse};

use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::access::{TokenState, check_agent};
use crate::chat::ChatService;
use crate::chat::visible_agent::VisibleAgent;
use crate::http::{AuthenticatedCaller, AuthenticatedOwner};

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, put, remove)
}

fn agent_detail(view: AgentView, token: &TokenState) -> AgentDetail {
    let VisibleAgent { definition, origin, place, problems } = VisibleAgent::of(view, &token.principal);
    let (path, line) = place.unzip();
    AgentDetail {
        definition,
        origin: DefinitionOrigin { path, line, ..DefinitionOrigin::new(origin) },
        problems,
    }
}

/// List agents
#[utoipa::path(
    get,
    path = "/api/agents",
    tag = "agents",
    operation_id = "list_agents",
    responses((status = 200, description = "The agents that the caller may talk to.", body = AgentList))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
) -> Json<AgentList> {
    let all = chat.agents.list().into_iter();
    let mine = all.filter(|view| check_agent(&token.principal, &view.definition.name).is_ok());
    Json(AgentList { agents: mine.map(|view| agent_detail(view, &token)).collect() })
}

/// Show an agent
#[utoipa::path(
    get,
    path = "/api/agents/{name}",
    tag = "agents",
    operation_id = "get_agent",
    params(("name" = String, Path, description = "The agent's name.")),
    responses(
        (status = 200, description = "The agent.", body = AgentDetail),
        (status = 404, description = "The agent does not exist.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<AgentDetail>, ApiError> {
    check_agent(&token.principal, &name)?;
    Ok(Json(agent_detail(chat.agents.view(&name)?, &token)))
}

/// Create or change an agent
///
/// A missing field gets its default. An agent in a file can be changed only there.
#[utoipa::path(
    put,
    path = "/api/agents/{name}",
    tag = "agents",
    operation_id = "put_agent",
    params(("name" = inline(AgentNameSchema), Path, description = "The agent's name.")),
    request_body = AgentDefinitionSchema,
    responses(
        (status = 200, description = "The changed agent.", body = AgentDetail),
        (status = 201, description = "The new agent.", body = AgentDetail),
        (status = 409, description = "The agent is in a file, or there are too many agents.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn put(
    AuthenticatedOwner(token): AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<AgentDetail>), ApiError> {
    let given = body.entry("name").or_insert_with(|| name.clone().into());
    if given.as_str() != Some(name.as_str()) {
        return Err(ApiError::malformed("name differs from the name in the path").with_hint("leave it out"));
    }
    // Serde would read an array as their fields in order.
    for field in ["options", "limits"] {
        if body.get(field).is_some_and(|given| !given.is_object()) {
            return Err(ApiError::malformed(format!("{field} must be an object")));
        }
    }
    let mut body = Value::Object(body);
    convert_whole_floats(&mut body);
    let definition: AgentDefinition = serde_json::from_value(body).map_err(|error| {
        ApiError::malformed(format!("the agent is invalid: {error}"))
            .with_hint("docs/agents.md describes the fields")
    })?;
    let is_new = chat.agents.put(definition).await?;
    tracing::info!(agent = name, "agent created or changed");
    let shown = agent_detail(chat.agents.view(&name)?, &token);
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(shown)))
}

/// Converts whole floats such as `5.0` to integers, as JSON Schema does.
fn convert_whole_floats(body: &mut Value) {
    const WHOLE_NUMBER_FIELDS: &[&str] =
        &["/max_tools", "/limits/rounds", "/options/max_output_tokens", "/options/seed"];
    /// Largest float below which every whole number is exact.
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
/// Its sessions stay; they can continue with another agent.
#[utoipa::path(
    delete,
    path = "/api/agents/{name}",
    tag = "agents",
    operation_id = "delete_agent",
    params(("name" = String, Path, description = "The agent's name.")),
    responses(
        (status = 204, description = "Removed; `default` is back to its built-in version."),
        (status = 404, description = "The agent does not exist.", body = ErrorResponse),
        (status = 409, description = "The agent is in a file, or is the built-in `default`.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn remove(
    _: AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    chat.agents.remove(&name).await?;
    tracing::info!(agent = name, "agent removed");
    Ok(StatusCode::NO_CONTENT)
}
