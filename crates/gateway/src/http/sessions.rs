//! `/api/sessions`: conversations. Everybody sees their own; an owner sees all.

mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::{Deserialize, Serialize};
use toolway_agent::conversations::{AbortStatus, ExportFormat, SessionListOptions};
use utoipa::{IntoParams, ToSchema};

use self::view::{MessageListView, SessionDetailView, SessionListView, SessionView};
use super::error::ErrorResponse;
use super::resources::{ApiRoutes, resources};
use super::token_input::MAX_TEXT;
use super::{ApiError, JsonBody, PathParams, QueryParams};
use crate::access::AuthenticatedCaller;
use crate::state::AppState;

/// Most sessions, or messages, on a page.
const MAX_PAGE: usize = 1000;
/// Messages on a page where nothing is said.
const PAGE: usize = 50;
/// Longest text that is looked for, in characters.
const MAX_SEARCH: usize = 256;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, rename, remove, messages, export, abort)
}

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListSessionsQuery {
    /// With this text in the title or in a message.
    #[param(nullable = false, min_length = 1, max_length = 256)]
    search: Option<String>,
    /// In which this agent was last talked to.
    #[param(nullable = false)]
    agent: Option<String>,
    /// Of this principal: a token's id. For the owner.
    #[param(nullable = false)]
    principal: Option<String>,
    /// Only the caller's own, which for all but the owner is so anyway; `principal` does not count then.
    #[serde(default)]
    mine: bool,
    /// The `next` of the page before, with the same filters.
    #[param(nullable = false, pattern = "^[0-9]{1,18}[.].+$")]
    before: Option<String>,
    /// How many; 50 where nothing is said.
    #[param(nullable = false, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

fn page_size(limit: Option<usize>) -> Result<usize, ApiError> {
    let limit = limit.unwrap_or(PAGE);
    match (1..=MAX_PAGE).contains(&limit) {
        true => Ok(limit),
        false => Err(ApiError::malformed(format!("limit is {limit}; it may be 1 to {MAX_PAGE}"))),
    }
}

/// List sessions
///
/// Those in which something was said last first.
#[utoipa::path(
    get,
    path = "/api/sessions",
    tag = "chat",
    params(ListSessionsQuery),
    responses(
        (status = 200, description = "A page of sessions.", body = SessionListView),
        (status = 503, description = "They could not be read.", body = ErrorResponse),
    )
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    QueryParams(query): QueryParams<ListSessionsQuery>,
) -> Result<Json<SessionListView>, ApiError> {
    let length = query.search.as_ref().map_or(1, |text| text.chars().count());
    if !(1..=MAX_SEARCH).contains(&length) {
        let words = format!("search has {length} characters; it may have 1 to {MAX_SEARCH}");
        return Err(ApiError::malformed(words));
    }
    let filter = SessionListOptions {
        text: query.search,
        agent: query.agent,
        principal: if query.mine { Some(token.principal.id.0.to_string()) } else { query.principal },
        before: query.before,
        limit: Some(page_size(query.limit)?),
    };
    let list = app.chat.conversations.list(&token.principal, &filter).await?;
    Ok(Json(list.into()))
}

/// Show a session
///
/// With the newest of its messages and turns.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id.")),
    responses(
        (status = 200, description = "The session.", body = SessionDetailView),
        (status = 404, description = "There is no such session, or not for this caller.", body = ErrorResponse),
        (status = 503, description = "It could not be read.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<SessionDetailView>, ApiError> {
    let detail = app.chat.conversations.detail(&token.principal, &id).await?;
    Ok(Json(detail.into()))
}

/// What to change about a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RenameSessionRequest {
    /// Its title; an empty one takes the title away, and a model may give it another.
    #[schema(max_length = 128)]
    title: String,
}

/// Rename a session
///
/// A title that a person gave stays.
#[utoipa::path(
    patch,
    path = "/api/sessions/{id}",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id.")),
    request_body = RenameSessionRequest,
    responses(
        (status = 200, description = "The session.", body = SessionView),
        (status = 404, description = "There is no such session, or not for this caller.", body = ErrorResponse),
        (status = 503, description = "It could not be kept.", body = ErrorResponse),
    )
)]
async fn rename(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RenameSessionRequest>,
) -> Result<Json<SessionView>, ApiError> {
    let length = body.title.chars().count();
    if length > MAX_TEXT {
        let words = format!("title has {length} characters; it may have {MAX_TEXT}");
        return Err(ApiError::malformed(words));
    }
    let summary = app.chat.conversations.rename(&token.principal, &id, &body.title).await?;
    Ok(Json(summary.into()))
}

/// What to remove with a session.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemoveSessionQuery {
    /// Whether the records of its calls are removed as well. For the owner.
    #[param(nullable = false)]
    calls: Option<bool>,
}

/// Remove a session
///
/// With all that was said in it. A turn that runs in it is ended. What it used and cost stays counted.
#[utoipa::path(
    delete,
    path = "/api/sessions/{id}",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id."), RemoveSessionQuery),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is no such session, or not for this caller.", body = ErrorResponse),
        (status = 503, description = "It could not be removed.", body = ErrorResponse),
    )
)]
async fn remove(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<RemoveSessionQuery>,
) -> Result<StatusCode, ApiError> {
    let with_calls = query.calls.unwrap_or_default();
    if with_calls && !token.role().is_owner() {
        let words = "only the owner may remove records of calls";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `calls` out"));
    }
    app.chat.conversations.delete(&token.principal, &id, with_calls).await?;
    tracing::info!(session = id, by = %token.id(), with_calls, "a session was removed");
    Ok(StatusCode::NO_CONTENT)
}

/// Which messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListMessagesQuery {
    /// Those before this number; the newest where nothing is said.
    #[param(nullable = false, minimum = 0)]
    before: Option<u64>,
    /// How many; 50 where nothing is said.
    #[param(nullable = false, minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Show messages
///
/// The newest before a number, or of all; the oldest of them first.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}/messages",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id."), ListMessagesQuery),
    responses(
        (status = 200, description = "The messages.", body = MessageListView),
        (status = 404, description = "There is no such session, or not for this caller.", body = ErrorResponse),
        (status = 503, description = "They could not be read.", body = ErrorResponse),
    )
)]
async fn messages(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ListMessagesQuery>,
) -> Result<Json<MessageListView>, ApiError> {
    let limit = page_size(query.limit)?;
    let list = app.chat.conversations.messages(&token.principal, &id, query.before, limit).await?;
    Ok(Json(list.into()))
}

/// The form of an export.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SessionExportFormat {
    /// For people.
    #[default]
    Markdown,
    /// For programs.
    Json,
}

/// How to export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportSessionQuery {
    /// `markdown`, where nothing is said, or `json`.
    #[param(inline)]
    #[serde(default)]
    form: SessionExportFormat,
}

/// Export a session
///
/// All of it, as a text.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}/export",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id."), ExportSessionQuery),
    responses(
        (status = 200, description = "The session.", content(
            (String = "text/markdown"),
            (serde_json::Value = "application/json"),
        )),
        (status = 404, description = "There is no such session, or not for this caller.", body = ErrorResponse),
        (status = 503, description = "It could not be read.", body = ErrorResponse),
    )
)]
async fn export(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ExportSessionQuery>,
) -> Result<Response, ApiError> {
    let (form, kind, name) = match query.form {
        SessionExportFormat::Markdown => {
            (ExportFormat::Markdown, "text/markdown; charset=utf-8", "session.md")
        }
        SessionExportFormat::Json => (ExportFormat::Json, "application/json", "session.json"),
    };
    let text = app.chat.conversations.export(&token.principal, &id, form).await?;
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)], text).into_response())
}

/// What became of the wish to end a turn.
#[derive(Debug, Serialize, ToSchema)]
struct AbortTurnResponse {
    /// `aborting`, or `idle` where no turn runs.
    status: &'static str,
}

/// End the turn that runs in a session
///
/// What was said stays. The turn is over a moment later.
#[utoipa::path(
    post,
    path = "/api/sessions/{id}/abort",
    tag = "chat",
    params(("id" = String, Path, description = "The session's id.")),
    responses(
        (status = 200, description = "What became of it. In a session that is not there yet nothing runs.", body = AbortTurnResponse),
        (status = 404, description = "It is another's.", body = ErrorResponse),
    )
)]
async fn abort(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<AbortTurnResponse>, ApiError> {
    let status = match app.chat.conversations.abort(&token.principal, &id).await? {
        AbortStatus::Aborting => "aborting",
        AbortStatus::Idle => "idle",
    };
    Ok(Json(AbortTurnResponse { status }))
}
