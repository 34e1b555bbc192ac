//! REST as apps of version 1 use it: their names for what other resources have, and resources of their own. All of it is
//! deprecated. docs/version-1.md lists the names.

mod personas;
mod rows;
mod unsupported;

use std::sync::Arc;

use axum::extract::State;
use axum::{Json, Router};
use toolway_api::ErrorResponse;
use toolway_api::openapi::{AgentNameSchema, PersonaChangeSchema};
use toolway_api::version_1::{
    ChangedPersona, ConfiguredModel, ConfiguredModels, NameSessionRequest, NamedSession, Persona,
    PersonaChange, PersonaList,
};

use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams};
use crate::access::check_agent;
use crate::chat::ChatService;
use crate::http::{AuthenticatedCaller, AuthenticatedOwner};
use crate::short_text::check_title;
use crate::state::RouterState;

pub(super) use self::rows::{companion_status, message_rows, session_rows, tool_row};

/// Tag of these resources in the OpenAPI document. All operations with this tag are deprecated.
pub(super) const TAG: &str = "version 1";

pub(super) fn routes() -> ApiRoutes {
    resources!(name_session, personas, persona, put_persona, remove_persona, models)
}

/// Returns the routes of features that Toolway does not have.
pub(super) fn unsupported_routes() -> Router<RouterState> {
    unsupported::routes()
}

/// Name a session
///
/// As `PATCH` with `title`.
#[utoipa::path(
    put,
    path = "/api/sessions/{id}",
    tag = TAG,
    operation_id = "name_session",
    params(("id" = String, Path, description = "The session's id.")),
    request_body = NameSessionRequest,
    responses(
        (status = 200, description = "The session.", body = NamedSession),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn name_session(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<NameSessionRequest>,
) -> Result<Json<NamedSession>, ApiError> {
    if body.name.trim().is_empty() {
        return Err(ApiError::malformed("name is empty"));
    }
    check_title(&body.name)?;
    let session = chat.conversations.rename(&token.principal, &id, &body.name).await?;
    Ok(Json(NamedSession { session_id: session.id, name: session.title.unwrap_or_default() }))
}

/// List personas
///
/// As `GET /api/agents`.
#[utoipa::path(
    get,
    path = "/api/personas",
    tag = TAG,
    operation_id = "list_personas",
    responses((status = 200, description = "The agents that the caller may talk to.", body = PersonaList))
)]
async fn personas(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
) -> Json<PersonaList> {
    let all = chat.agents.list().into_iter();
    let mine = all.filter(|view| check_agent(&token.principal, &view.definition.name).is_ok());
    let persona = |view| Persona { system_prompt: None, ..personas::persona_of(view, &token.principal) };
    Json(PersonaList { personas: mine.map(persona).collect() })
}

/// Show a persona
///
/// As `GET /api/agents/{name}`.
#[utoipa::path(
    get,
    path = "/api/personas/{name}",
    tag = TAG,
    operation_id = "get_persona",
    params(("name" = String, Path, description = "The agent's name.")),
    responses(
        (status = 200, description = "The agent.", body = Persona),
        (status = 404, description = "The agent does not exist.", body = ErrorResponse),
    )
)]
async fn persona(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<Persona>, ApiError> {
    check_agent(&token.principal, &name)?;
    Ok(Json(personas::persona_of(chat.agents.view(&name)?, &token.principal)))
}

/// Create or change a persona
///
/// The fields of the agent that version 1 does not know stay as they are.
#[utoipa::path(
    put,
    path = "/api/personas/{name}",
    tag = TAG,
    operation_id = "put_persona",
    params(("name" = inline(AgentNameSchema), Path, description = "The agent's name.")),
    request_body = PersonaChangeSchema,
    responses(
        (status = 200, description = "The agent was created or changed.", body = ChangedPersona),
        (status = 409, description = "The agent is in a file, or there are too many agents.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn put_persona(
    _: AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
    JsonBody(change): JsonBody<PersonaChange>,
) -> Result<Json<ChangedPersona>, ApiError> {
    let definition = personas::changed_definition(&chat, &name, change);
    chat.agents.put(definition).await?;
    tracing::info!(agent = name, "agent created or changed");
    Ok(Json(ChangedPersona { status: "ok".to_owned(), name }))
}

/// Remove a persona
///
/// As `DELETE /api/agents/{name}`.
#[utoipa::path(
    delete,
    path = "/api/personas/{name}",
    tag = TAG,
    operation_id = "delete_persona",
    params(("name" = String, Path, description = "The agent's name.")),
    responses(
        (status = 200, description = "The agent was removed.", body = ChangedPersona),
        (status = 404, description = "The agent does not exist.", body = ErrorResponse),
        (status = 409, description = "The agent is in a file, or is the built-in `default`.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn remove_persona(
    _: AuthenticatedOwner,
    State(chat): State<Arc<ChatService>>,
    PathParams(name): PathParams<String>,
) -> Result<Json<ChangedPersona>, ApiError> {
    chat.agents.remove(&name).await?;
    tracing::info!(agent = name, "agent removed");
    Ok(Json(ChangedPersona { status: "ok".to_owned(), name }))
}

/// List the configured models
///
/// The default model of each model provider. An agent may use them as its `model`.
#[utoipa::path(
    get,
    path = "/api/provider/models",
    tag = TAG,
    operation_id = "list_configured_models",
    responses((status = 200, description = "The models.", body = ConfiguredModels))
)]
async fn models(_: AuthenticatedCaller, State(chat): State<Arc<ChatService>>) -> Json<ConfiguredModels> {
    let configured = chat.models.list().await.into_iter();
    let ids = configured.filter_map(|it| it.model.map(|model| format!("{}/{model}", it.name)));
    Json(ConfiguredModels { data: ids.map(|id| ConfiguredModel { id }).collect() })
}
