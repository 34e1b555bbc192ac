//! `/api/calls`: the log of calls. Owners see all of them, clients their own.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::error::RecvError;
use toolway_core::ClosedCall;
use toolway_store::{CallFilter, CallRow, CallStatus, Cursor, StatusFilter, ToolFilter};
use toolway_types::{CallId, RawJson};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::call_status::StatusWord;
use super::error::ErrorBody;
use super::given::whole;
use super::{ApiError, JsonBody, PathOf, QueryOf};
use crate::access::{Caller, Owner, TokenState};
use crate::state::App;

/// Calls on a page where nothing is said.
const PAGE: usize = 50;
/// Most calls on a page.
const MAX_PAGE: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(tail))
        .routes(routes!(purge))
        .routes(routes!(show))
}

/// A call.
#[derive(Debug, Serialize, ToSchema)]
struct CallView {
    /// Its id.
    call_id: String,
    /// The name as the caller gave it.
    name: String,
    /// The tool's id, `source/tool`, where the name led to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool: Option<String>,
    /// The tool's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    source: Option<String>,
    /// Who called: the token's id.
    caller: String,
    /// With which role.
    role: String,
    /// Through which door: `rest`, `websocket`, `agent`, `mcp` or `local`.
    door: String,
    /// `open`, `success` or `error`.
    status: &'static str,
    /// The coarse reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error_type: Option<String>,
    /// The fine reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<String>,
    /// The failure in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
    /// When it started, in milliseconds since the Unix epoch.
    started_ms: i64,
    /// How long it took, in milliseconds.
    duration_ms: f64,
    /// Of that, waiting for a person.
    waiting_ms: f64,
    /// Of that, waiting for its turn.
    queued_ms: f64,
    /// Of that, the tool running.
    running_ms: f64,
    /// How often the request was sent to the tool.
    attempts: u32,
}

/// A call with what went in and what came out.
#[derive(Debug, Serialize, ToSchema)]
struct WholeCall {
    #[serde(flatten)]
    call: CallView,
    /// The arguments, secrets replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, nullable = false)]
    arguments: Option<RawJson>,
    /// The envelope; with `"cut": true` where it was longer than records may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, nullable = false)]
    outcome: Option<RawJson>,
}

/// A page of calls.
#[derive(Debug, Serialize, ToSchema)]
struct CallList {
    /// The newest first.
    calls: Vec<CallView>,
    /// What to give as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
}

impl CallView {
    fn of(row: &CallRow) -> Self {
        #[derive(Deserialize)]
        struct Message {
            message: Option<String>,
        }
        let failed = row.outcome.as_ref().filter(|_| row.status == CallStatus::Error);
        let message = failed.and_then(|outcome| outcome.to::<Message>().ok()?.message);
        Self {
            call_id: row.call_id.to_string(),
            name: row.name.clone(),
            tool: row.tool.as_ref().map(ToString::to_string),
            source: row.tool.as_ref().map(|tool| tool.source.to_string()),
            caller: row.principal.to_string(),
            role: row.role.to_string(),
            door: row.door.as_str().to_owned(),
            status: match row.status {
                CallStatus::Open => "open",
                CallStatus::Success => "success",
                CallStatus::Error => "error",
            },
            error_type: row.error_type().map(|kind| kind.to_string()),
            code: row.code.map(|code| code.to_string()),
            message,
            started_ms: row.started_ms,
            duration_ms: millis(row.total_us),
            waiting_ms: millis(row.waiting_us),
            queued_ms: millis(row.queued_us),
            running_ms: millis(row.running_us),
            attempts: row.attempts,
        }
    }

    fn of_closed(call: &ClosedCall) -> Self {
        let (opened, error) = (&call.opened, call.outcome.error());
        let millis = |duration: std::time::Duration| duration.as_secs_f64() * 1000.0;
        Self {
            call_id: opened.id.to_string(),
            name: opened.name.to_string(),
            tool: opened.tool.as_ref().map(ToString::to_string),
            source: opened.tool.as_ref().map(|tool| tool.source.to_string()),
            caller: opened.principal.to_string(),
            role: opened.role.to_string(),
            door: opened.door.as_str().to_owned(),
            status: if error.is_none() { "success" } else { "error" },
            error_type: error.map(|error| error.kind().to_string()),
            code: error.map(|error| error.code.to_string()),
            message: error.map(|error| error.message.clone()),
            started_ms: opened.started_ms,
            duration_ms: millis(call.durations.total),
            waiting_ms: millis(call.durations.waiting),
            queued_ms: millis(call.durations.queued),
            running_ms: millis(call.durations.running),
            attempts: call.attempts,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "microseconds of a call fit")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

/// Which calls.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Of this tool: its id (`source/tool`), a pattern of ids (`pixel/*`) or a name.
    #[param(nullable = false)]
    tool: Option<String>,
    /// Of this source.
    #[param(nullable = false)]
    source: Option<String>,
    /// Of this caller: a token's id.
    #[param(nullable = false)]
    caller: Option<String>,
    /// `open`, `success`, `error`, one of the four kinds of error, or an error's code.
    #[param(inline, nullable = false, value_type = Option<StatusWord>)]
    status: Option<String>,
    /// Started at this time or later, in milliseconds since the Unix epoch. Also written `since`.
    #[serde(alias = "since")]
    #[param(nullable = false)]
    since_ms: Option<i64>,
    /// Started before this time. Also written `until`.
    #[serde(alias = "until")]
    #[param(nullable = false)]
    until_ms: Option<i64>,
    /// Most calls on the page (50).
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
    /// Where to go on: `next` of the page before.
    #[param(nullable = false, pattern = "^[0-9]{1,18}[.][0-9]{1,18}$")]
    cursor: Option<String>,
}

/// List calls
#[utoipa::path(
    get,
    path = "/api/calls",
    tag = "calls",
    params(ListQuery),
    responses(
        (status = 200, description = "A page of calls.", body = CallList),
        (status = 400, description = "The query is malformed.", body = ErrorBody),
        (status = 503, description = "They could not be read.", body = ErrorBody),
    )
)]
async fn list(
    Caller(token): Caller,
    State(app): State<Arc<App>>,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Json<CallList>, ApiError> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(ApiError::malformed(format!("limit is {limit}; it may be 1 to {MAX_PAGE}")));
    }
    let status = query.status.as_deref().map(str::parse::<StatusFilter>).transpose();
    let cursor = query.cursor.as_deref().map(str::parse::<Cursor>).transpose();
    let cursor = cursor.map_err(|_| {
        ApiError::malformed("the cursor is not one of this gateway")
            .with_hint("give `next` of the page before")
    })?;
    let filter = CallFilter {
        tool: query.tool.as_deref().map(ToolFilter::from),
        source: query.source,
        principal: whose(&token, query.caller)?,
        status: status.map_err(|unknown| ApiError::malformed(unknown.to_string()))?,
        since_ms: query.since_ms,
        until_ms: query.until_ms,
        ..CallFilter::default()
    };
    let page = app.store.calls().list(&filter, cursor.as_ref(), limit).await?;
    let calls = page.calls.iter().map(CallView::of).collect();
    Ok(Json(CallList { calls, next: page.next.map(|next| next.to_string()) }))
}

/// Whose calls this token may ask for: the owner anybody's, others their own.
fn whose(token: &TokenState, asked: Option<String>) -> Result<Option<String>, ApiError> {
    if token.role().is_owner() {
        return Ok(asked);
    }
    match asked {
        Some(other) if other != token.id() => {
            let words = "only the owner may see the calls of others";
            Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `caller` out"))
        }
        _ => Ok(Some(token.id().to_owned())),
    }
}

/// Show a call
#[utoipa::path(
    get,
    path = "/api/calls/{id}",
    tag = "calls",
    params(("id" = String, Path, description = "The call's id.")),
    responses(
        (status = 200, description = "The call.", body = WholeCall),
        (status = 400, description = "The path is malformed.", body = ErrorBody),
        (status = 404, description = "There is no such call, or not of this caller.", body = ErrorBody),
        (status = 503, description = "It could not be read.", body = ErrorBody),
    )
)]
async fn show(
    Caller(token): Caller,
    State(app): State<Arc<App>>,
    PathOf(id): PathOf<String>,
) -> Result<Json<WholeCall>, ApiError> {
    let missing = || {
        ApiError::not_found("call_unknown", format!("there is no call {id:?}"))
            .with_hint("`toolway calls list` shows the ids; old calls are thrown away")
    };
    let call_id: CallId = id.parse().map_err(|_| missing())?;
    let row = app.store.calls().get(call_id).await?.ok_or_else(missing)?;
    if !token.role().is_owner() && *row.principal.0 != *token.id() {
        return Err(missing());
    }
    Ok(Json(WholeCall { call: CallView::of(&row), arguments: row.arguments, outcome: row.outcome }))
}

/// Follow the calls
///
/// An event of the type `call` for each call that ends from now on, and one of the type `missed` with a
/// number where the reader was too slow for some.
#[utoipa::path(
    get,
    path = "/api/calls/tail",
    tag = "calls",
    responses(
        (status = 200, description = "The calls as they end.", content_type = "text/event-stream", body = String),
        (status = 429, description = "Too many event streams are open.", body = ErrorBody),
    )
)]
async fn tail(Caller(token): Caller, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let room = app.event_stream()?;
    let followed = (app.tail.follow(), token, app, room);
    let stream = stream::unfold(followed, async |(mut calls, token, app, room)| {
        loop {
            let event = tokio::select! {
                event = calls.recv() => event,
                _ = token.ended() => return None,
                () = app.closing.cancelled() => return None,
            };
            let event = match event {
                Ok(call) if token.role().is_owner() || *call.opened.principal.0 == *token.id() => {
                    Event::default().event("call").json_data(CallView::of_closed(&call)).ok()
                }
                Ok(_) => None,
                Err(RecvError::Lagged(missed)) => {
                    Some(Event::default().event("missed").data(missed.to_string()))
                }
                Err(RecvError::Closed) => return None,
            };
            if let Some(event) = event {
                return Some((Ok::<_, Infallible>(event), (calls, token, app, room)));
            }
        }
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

/// Which calls to throw away.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PurgeBody {
    /// Those that started before this time, in milliseconds since the Unix epoch.
    #[serde(deserialize_with = "whole")]
    before_ms: i64,
}

/// What was thrown away.
#[derive(Debug, Serialize, ToSchema)]
struct Purged {
    /// How many calls.
    removed: u64,
    /// By how many bytes the database shrank.
    freed_bytes: u64,
}

/// Throw calls away
#[utoipa::path(
    post,
    path = "/api/calls/purge",
    tag = "calls",
    request_body = PurgeBody,
    responses(
        (status = 200, description = "What was thrown away.", body = Purged),
        (status = 400, description = "The body is malformed.", body = ErrorBody),
        (status = 408, description = "The body took too long to arrive.", body = ErrorBody),
        (status = 413, description = "The body is too large.", body = ErrorBody),
        (status = 415, description = "The body is not JSON.", body = ErrorBody),
        (status = 503, description = "They could not be removed.", body = ErrorBody),
    )
)]
async fn purge(
    _: Owner,
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody<PurgeBody>,
) -> Result<Json<Purged>, ApiError> {
    let older = CallFilter { until_ms: Some(body.before_ms), ..CallFilter::default() };
    let removed = app.store.calls().remove_all(&older).await?;
    tracing::info!(calls = removed.calls, "calls thrown away");
    Ok(Json(Purged { removed: removed.calls, freed_bytes: removed.freed_bytes }))
}
