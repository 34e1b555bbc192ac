//! `/api/sessions`: conversations. The owner sees all of them, others see their own.

mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use toolway_agent::conversations::{AbortStatus, ExportFormat, SessionListOptions};
use toolway_api::ErrorResponse;
use toolway_api::sessions::{
    AbortTurnResponse, ExportSessionQuery, ListMessagesQuery, ListSessionsQuery, RemoveSessionQuery,
    RenameSessionRequest, SessionDetail, SessionExportFormat, SessionSummary,
};
use toolway_api::version_1::{MessageRows, SessionRows};

pub(super) use self::view::token_usage;
use self::view::{message_list, session_detail, session_list, session_summary};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, JsonBody, PathParams, QueryParams, version_1};
use crate::access::RecordAccess;
use crate::chat::ChatService;
use crate::http::AuthenticatedCaller;
use crate::query_limits::{check_search, page_size};
use crate::short_text::check_title;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, rename, remove, messages, export, abort)
}

/// List sessions
///
/// The most recently used first.
#[utoipa::path(
    get,
    path = "/api/sessions",
    tag = "chat",
    operation_id = "list_sessions",
    params(ListSessionsQuery),
    responses(
        (status = 200, description = "A page of sessions.", body = SessionRows),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    QueryParams(query): QueryParams<ListSessionsQuery>,
) -> Result<Json<SessionRows>, ApiError> {
    if let Some(text) = &query.search {
        check_search(text)?;
    }
    let filter = SessionListOptions {
        text: query.search,
        agent: query.agent,
        principal: if query.mine { Some(token.principal.id.0.to_string()) } else { query.principal },
        before: query.cursor,
        limit: Some(page_size(query.limit)?),
    };
    let list = chat.conversations.list(&token.principal, &filter).await?;
    Ok(Json(version_1::session_rows(session_list(list))))
}

/// Show a session
///
/// With its newest messages and turns.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}",
    tag = "chat",
    operation_id = "get_session",
    params(("id" = String, Path, description = "The session's id.")),
    responses(
        (status = 200, description = "The session.", body = SessionDetail),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
) -> Result<Json<SessionDetail>, ApiError> {
    let detail = chat.conversations.detail(&token.principal, &id).await?;
    Ok(Json(session_detail(detail)))
}

/// Rename a session
///
/// Models do not change a title that a person has set.
#[utoipa::path(
    patch,
    path = "/api/sessions/{id}",
    tag = "chat",
    operation_id = "update_session",
    params(("id" = String, Path, description = "The session's id.")),
    request_body = RenameSessionRequest,
    responses(
        (status = 200, description = "The session.", body = SessionSummary),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn rename(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<RenameSessionRequest>,
) -> Result<Json<SessionSummary>, ApiError> {
    check_title(&body.title)?;
    let summary = chat.conversations.rename(&token.principal, &id, &body.title).await?;
    Ok(Json(session_summary(summary)))
}

/// Remove a session
///
/// With all messages. This ends a running turn. Usage and cost stay counted.
#[utoipa::path(
    delete,
    path = "/api/sessions/{id}",
    tag = "chat",
    operation_id = "delete_session",
    params(("id" = String, Path, description = "The session's id."), RemoveSessionQuery),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn remove(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<RemoveSessionQuery>,
) -> Result<StatusCode, ApiError> {
    let with_calls = query.calls.unwrap_or_default();
    if with_calls {
        RecordAccess::of(&token.principal).check_removal()?;
    }
    chat.conversations.delete(&token.principal, &id, with_calls).await?;
    tracing::info!(session = id, by = %token.id(), with_calls, "session removed");
    Ok(StatusCode::NO_CONTENT)
}

/// List messages
///
/// The newest messages, or the newest before a number; the oldest of them first.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}/messages",
    tag = "chat",
    operation_id = "list_messages",
    params(("id" = String, Path, description = "The session's id."), ListMessagesQuery),
    responses(
        (status = 200, description = "The messages.", body = MessageRows),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn messages(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ListMessagesQuery>,
) -> Result<Json<MessageRows>, ApiError> {
    let limit = page_size(query.limit)?;
    let list = chat.conversations.messages(&token.principal, &id, query.before_seq, limit).await?;
    Ok(Json(version_1::message_rows(message_list(list))))
}

/// Export a session
///
/// The whole session as Markdown or JSON.
#[utoipa::path(
    get,
    path = "/api/sessions/{id}/export",
    tag = "chat",
    operation_id = "export_session",
    params(("id" = String, Path, description = "The session's id."), ExportSessionQuery),
    responses(
        (status = 200, description = "The session.", content(
            (String = "text/markdown"),
            (serde_json::Value = "application/json"),
        )),
        (status = 404, description = "The session does not exist.", body = ErrorResponse),
        (status = 503, description = "The database failed.", body = ErrorResponse),
    )
)]
async fn export(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
    QueryParams(query): QueryParams<ExportSessionQuery>,
) -> Result<Response, ApiError> {
    let (format, kind, name) = match query.format {
        SessionExportFormat::Markdown => {
            (ExportFormat::Markdown, "text/markdown; charset=utf-8", "session.md")
        }
        SessionExportFormat::Json => (ExportFormat::Json, "application/json", "session.json"),
    };
    let text = chat.conversations.export(&token.principal, &id, format).await?;
    let disposition = format!("attachment; filename=\"{name}\"");
    Ok(([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)], text).into_response())
}

/// Stop the running turn
///
/// The messages stay. The turn ends a moment later.
#[utoipa::path(
    post,
    path = "/api/sessions/{id}/abort",
    tag = "chat",
    operation_id = "abort_session",
    params(("id" = String, Path, description = "The session's id.")),
    responses(
        (status = 200, description = "The state of the turn. It is `idle` for a session that does not exist or belongs to another principal.", body = AbortTurnResponse),
    )
)]
async fn abort(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(chat): State<Arc<ChatService>>,
    PathParams(id): PathParams<String>,
) -> Json<AbortTurnResponse> {
    let status = match chat.conversations.abort(&token.principal, &id) {
        AbortStatus::Aborting => "aborting",
        AbortStatus::Idle => "idle",
    };
    Json(AbortTurnResponse { status: status.to_owned() })
}
