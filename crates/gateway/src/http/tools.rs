//! `/api/tools`: what the caller can call, and calling it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize, Serializer};
use toolway_core::{CallRequest, Engine, EntryPoint, FinishedCall, RawArguments, Tool, ToolLookup, ToolSpec};
use toolway_types::{CallId, Code, Outcome, RawJson, ResultEnvelope, ToolId};
use utoipa::{IntoParams, ToSchema};

use super::conversion::ToolConversion;
use super::error::{ErrorDetail, ErrorResponse};
use super::event_stream::StreamEvent;
use super::extractors::{expect_json, parse_optional_json, read_body};
use super::resources::{ApiRoutes, resources};
use super::token_input::optional_whole;
use super::{ApiError, PathParams, QueryParams, call_stream, conversion};
use crate::access::{AuthenticatedCaller, TokenState};
use crate::sources::device_source::DevicePresence;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, call)
}

/// A tool that the caller may call.
#[derive(Debug, Serialize, ToSchema)]
struct ToolView {
    /// The name to call it by, unique over all sources.
    name: String,
    /// Its id, `source/tool`: what records and rules use.
    id: String,
    /// Where it comes from.
    source: String,
    /// `ready`, or `reconnecting` while its device is gone for a moment.
    status: &'static str,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// What it does, as its source says.
    description: String,
    /// JSON Schema of its arguments, as its source gave it; absent where it gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    parameters: Option<RawJson>,
    /// JSON Schema of its structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    output_schema: Option<RawJson>,
    /// MCP's tool annotations, as its source gave them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    annotations: Option<RawJson>,
    /// Permissions that running it needs.
    permissions: Vec<String>,
    /// How long one run may take, in milliseconds.
    timeout_ms: u64,
    /// Whether its calls never overlap with others of its source.
    sequential: bool,
    /// For the owner: file and line, where it is defined in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    defined_in: Option<String>,
    /// What is odd about it: `changed` where it is not what it was, `no_description`, `invisible_characters`,
    /// `unreadable_annotations`, `not_snake_case`.
    flags: Vec<&'static str>,
}

/// The tools that the caller may call.
#[derive(Debug, Serialize, ToSchema)]
struct CallableToolList {
    /// The version of the form of specs.
    spec_version: u32,
    /// By source and name.
    tools: Vec<ToolView>,
}

impl ToolView {
    fn of(app: &AppState, id: &ToolId, tool: &Arc<dyn Tool>, caller: &toolway_core::Caller) -> Self {
        let spec = tool.spec();
        let document = spec.document();
        let source = app.sources.get(id.source.as_str());
        let away = source.is_some_and(|source| source.presence() == DevicePresence::Reconnecting);
        let object = |raw: &Option<RawJson>| raw.clone().filter(|raw| raw.get().starts_with('{'));
        Self {
            name: id.full_name().to_string(),
            id: id.to_string(),
            source: id.source.to_string(),
            status: if away { "reconnecting" } else { "ready" },
            title: document.title.clone(),
            description: spec.description().to_owned(),
            parameters: object(&document.parameters),
            output_schema: object(&document.output_schema),
            annotations: object(&document.annotations),
            permissions: document.permissions.clone(),
            timeout_ms: millis(app.engine.tool_timeout(id, spec)),
            sequential: spec.is_sequential(),
            // Where the owner's files are is nobody else's business.
            defined_in: app.gateway_tools.definition_place(id).filter(|_| caller.principal.role.is_owner()),
            flags: flags(app, id, spec),
        }
    }
}

fn flags(app: &AppState, id: &ToolId, spec: &ToolSpec) -> Vec<&'static str> {
    let changed = app.engine.changed_tools().contains(id).then_some("changed");
    changed.into_iter().chain(spec.flags().iter().map(|flag| flag.as_str())).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn caller(token: &TokenState) -> toolway_core::Caller {
    toolway_core::Caller::new(token.principal.clone(), EntryPoint::Rest)
}

/// List tools
#[utoipa::path(
    get,
    path = "/api/tools",
    tag = "tools",
    responses((status = 200, description = "The tools that the caller may call.", body = CallableToolList))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Json<CallableToolList> {
    let caller = caller(&token);
    let snapshot = app.registry.snapshot();
    let policy = app.engine.policy();
    let mine = snapshot.tools().filter(|(id, tool)| policy.may_use(&caller, id, Some(tool.spec())));
    let tools = mine.map(|(id, tool)| ToolView::of(&app, &id, tool, &caller)).collect();
    Json(CallableToolList { spec_version: toolway_types::spec::SPEC_VERSION, tools })
}

/// How to show a tool.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ShowToolQuery {
    /// As it is described to models: of a kind (`openai`, `openai-strict`, `openai-responses`, `anthropic`, `gemini`,
    /// `compatible`) or of a provider that is set up. Without it, as its source described it.
    #[serde(rename = "for")]
    #[param(nullable = false)]
    target: Option<String>,
}

/// A tool as its source described it, or as models are told of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum ToolViewOrConversion {
    /// As its source described it.
    Tool(Box<ToolView>),
    /// As models are told of it.
    Conversion(ToolConversion),
}

/// Show a tool
///
/// With `for`, how it is described to models and what is lost on the way there.
#[utoipa::path(
    get,
    path = "/api/tools/{name}",
    tag = "tools",
    params(("name" = String, Path, description = "Its name, or a bare name that only one source has."), ShowToolQuery),
    responses(
        (status = 200, description = "The tool.", body = ToolViewOrConversion),
        (status = 404, description = "There is no such tool, or not for this caller; or no such models.",
         body = ErrorResponse),
    )
)]
async fn show(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    QueryParams(query): QueryParams<ShowToolQuery>,
) -> Result<Json<ToolViewOrConversion>, ApiError> {
    let caller = caller(&token);
    let policy = app.engine.policy();
    let may_use = |id: &ToolId, spec: Option<&_>| policy.may_use(&caller, id, spec);
    let missing = || ApiError::not_found("tool_not_available", format!("Tool {name} is not available"));
    match app.registry.snapshot().lookup(&name, &caller, may_use) {
        ToolLookup::Found(id, tool, _) => Ok(Json(match query.target {
            None => ToolViewOrConversion::Tool(Box::new(ToolView::of(&app, &id, &tool, &caller))),
            Some(target) => {
                ToolViewOrConversion::Conversion(conversion::convert(&app, &id, tool.spec(), &target)?)
            }
        })),
        ToolLookup::Unknown => {
            Err(missing().with_hint("`toolway tools list` shows the tools that you may call"))
        }
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(missing().with_hint(format!("several sources have one; say which: {}", names.join(", "))))
        }
        ToolLookup::Offline(id) => {
            Err(missing().with_hint(format!("{} has it, but is not connected", id.source)))
        }
    }
}

/// Longest idempotency key that the engine takes, in bytes.
const MAX_KEY: usize = 256;

/// What to call a tool with.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallToolRequest {
    /// The arguments, an object. Anything else is answered with the outcome `invalid_arguments`.
    #[schema(value_type = serde_json::Value, required = false)]
    args: Option<RawJson>,
    /// How long the caller waits, in milliseconds; the tool's own limit holds as well.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "optional_whole")]
    timeout_ms: Option<u64>,
    /// Makes the same call again safe for ten minutes: it runs once, and both get its outcome.
    #[schema(min_length = 1, max_length = 256)]
    idempotency_key: Option<String>,
    /// With event streams: whether somebody is there to answer questions about the call, which then come as
    /// events of the type `asked` and are answered at `/api/approvals/{id}`.
    #[serde(default)]
    ask: bool,
}

/// A call's outcome.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallToolResponse {
    /// The call's id.
    #[schema(value_type = String)]
    call_id: CallId,
    /// How long it took, in milliseconds.
    duration_ms: f64,
    /// `success` with `result` (and `content`), or `error` with `error_type`, `message`, `code`, `hint`,
    /// `authorize_intent`, `dispatched` and `retryable`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    envelope: OutcomeEnvelope,
    /// The refusal again in the form that every refusal over HTTP has, where the status is not 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<ErrorDetail>,
}

/// An outcome, written as the envelope.
#[derive(Debug)]
struct OutcomeEnvelope(Arc<Outcome>);

impl Serialize for OutcomeEnvelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ResultEnvelope(&self.0).serialize(serializer)
    }
}

impl CallToolResponse {
    pub(super) fn of(finished: &FinishedCall) -> Self {
        Self {
            call_id: finished.id,
            duration_ms: finished.durations.total.as_secs_f64() * 1000.0,
            envelope: OutcomeEnvelope(finished.outcome.clone()),
            error: None,
        }
    }
}

/// Call a tool
///
/// The outcome of a tool is a 200, also where it is a failure or there is no such tool. With
/// `Accept: text/event-stream` events of the type `progress` come while it runs and one of the type `outcome`
/// at its end, and with `ask` those of the types `asked` and `over` where a person is needed. Closing the request cancels the call.
#[utoipa::path(
    post,
    path = "/api/tools/{name}/call",
    tag = "tools",
    params(("name" = String, Path, description = "Its name, or a bare name that only one source has.")),
    request_body = Option<CallToolRequest>,
    responses(
        (status = 200, description = "The outcome.", content(
            (CallToolResponse = "application/json"),
            (StreamEvent = "text/event-stream"),
        )),
        (status = 409, description = "The idempotency key was used for another call.", body = CallToolResponse),
        (status = 415, description = "The body is not JSON.", body = ErrorResponse),
        (status = 429, description = "Too many event streams are open.", body = ErrorResponse),
    )
)]
async fn call(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Result<Response, ApiError> {
    let body = read_body(&headers, body, app.settings.limits.frame_bytes).await?;
    if !body.is_empty() {
        expect_json(&headers)?;
    }
    let body: CallToolRequest = parse_optional_json(&body)?.unwrap_or_default();
    if body.timeout_ms == Some(0) {
        return Err(ApiError::malformed("timeout_ms is 0; it must be 1 or more"));
    }
    if body.idempotency_key.as_ref().is_some_and(|key| !(1..=MAX_KEY).contains(&key.len())) {
        return Err(ApiError::malformed(format!("idempotency_key must have 1 to {MAX_KEY} bytes")));
    }
    let call = CallRequest {
        timeout: body.timeout_ms.map(Duration::from_millis),
        idempotency_key: body.idempotency_key.map(Arc::from),
        ..CallRequest::new(name, body.args.map_or(RawArguments::None, RawArguments::Json), caller(&token))
    };
    if wants_events(&headers) {
        return Ok(call_stream::respond(
            app.engine.clone(),
            call,
            token,
            body.ask,
            app.reserve_event_stream()?,
        ));
    }
    Ok(run_and_respond(&app.engine, call, &token).await)
}

/// Calls, and gives the call up when its token ends: what waits for a person or a device by then is nobody's.
pub(super) async fn run_call(
    engine: &Arc<Engine>,
    mut call: CallRequest,
    token: &TokenState,
) -> FinishedCall {
    let cancel = call.cancel.get_or_insert_default().clone();
    let mut running = std::pin::pin!(engine.call(call));
    tokio::select! {
        finished = &mut running => finished,
        _ = token.wait_until_ended() => {
            cancel.cancel();
            running.await
        }
    }
}

async fn run_and_respond(engine: &Arc<Engine>, call: CallRequest, token: &TokenState) -> Response {
    let finished = run_call(engine, call, token).await;
    let mut answer = CallToolResponse::of(&finished);
    let conflict = finished.outcome.error().filter(|error| error.code == Code::IdempotencyConflict);
    let Some(error) = conflict else { return Json(answer).into_response() };
    answer.error = Some(ErrorDetail {
        code: error.code.to_string(),
        message: error.message.clone(),
        hint: error.hint.clone(),
    });
    (StatusCode::CONFLICT, Json(answer)).into_response()
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(http::header::ACCEPT).into_iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}
