//! `/api/tools`: the tools of a caller, and calling them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use toolway_api::event_stream::StreamEvent;
use toolway_api::tools::{
    CallToolRequest, CallToolResponse, CallableToolList, ShowToolQuery, ToolView, ToolViewOrConversion,
};
use toolway_api::version_1::ToolRow;
use toolway_api::{ErrorDetail, ErrorResponse};
use toolway_core::{
    CallRequest, Engine, EntryPoint, MAX_IDEMPOTENCY_KEY_BYTES, RawArguments, Tool, ToolLookup, ToolSpec,
    suggestion_hint,
};
use toolway_types::{Code, RawJson, ToolId};

use super::call_response::{call_response, call_with_token};
use super::extractors::{expect_json, parse_apart, parse_optional_json, read_large_body};
use super::resources::{ApiRoutes, resources};
use super::{ApiError, PathParams, QueryParams, call_stream, client_time_zone, conversion, version_1};
use crate::access::TokenState;
use crate::http::AuthenticatedCaller;
use crate::sources::device_source::DevicePresence;
use crate::state::AppState;

pub(super) fn routes() -> ApiRoutes {
    resources!(list, show, call)
}

fn tool_view(app: &AppState, id: &ToolId, tool: &Arc<dyn Tool>, caller: &toolway_core::Caller) -> ToolView {
    let spec = tool.spec();
    let document = spec.document();
    let source = app.sources.get(id.source.as_str());
    let away = source.is_some_and(|source| source.presence() == DevicePresence::Reconnecting);
    let object = |raw: &Option<RawJson>| raw.clone().filter(|raw| raw.get().starts_with('{'));
    ToolView {
        name: id.full_name().to_string(),
        id: id.to_string(),
        source: id.source.to_string(),
        status: if away { "reconnecting".to_owned() } else { "ready".to_owned() },
        title: document.title.clone(),
        description: spec.description().to_owned(),
        parameters: object(&document.parameters),
        output_schema: object(&document.output_schema),
        annotations: object(&document.annotations),
        permissions: document.permissions.clone(),
        timeout_ms: millis(app.engine.tool_timeout(id, spec)),
        sequential: spec.is_sequential(),
        // Only the owner may know where the owner's files are.
        defined_in: app.gateway_tools.definition_place(id).filter(|_| caller.principal.role.is_owner()),
        flags: flags(app, id, spec),
    }
}

fn flags(app: &AppState, id: &ToolId, spec: &ToolSpec) -> Vec<String> {
    let changed = app.engine.changed_tools().contains(id).then_some("changed");
    changed.into_iter().chain(spec.flags().iter().map(|flag| flag.as_str())).map(str::to_owned).collect()
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
    operation_id = "list_tools",
    responses((status = 200, description = "The tools that the caller may call.", body = CallableToolList<ToolRow>))
)]
async fn list(
    AuthenticatedCaller(token): AuthenticatedCaller,
    State(app): State<Arc<AppState>>,
) -> Json<CallableToolList<ToolRow>> {
    let caller = caller(&token);
    let snapshot = app.registry.snapshot();
    let policy = app.engine.policy();
    let mine = snapshot.tools().filter(|(id, tool)| policy.may_use(&caller, id, Some(tool.spec())));
    let row = |tool: ToolView| version_1::tool_row(&app, tool);
    let tools = mine.map(|(id, tool)| row(tool_view(&app, &id, tool, &caller))).collect();
    Json(CallableToolList { spec_version: toolway_types::spec::SPEC_VERSION, tools })
}

/// Show a tool
///
/// With `for`, as models get it, and with the parts that their API cannot express.
#[utoipa::path(
    get,
    path = "/api/tools/{name}",
    tag = "tools",
    operation_id = "get_tool",
    params(("name" = String, Path, description = "The tool's full name or id (`source/tool`; write `/` as `%2F`), or a bare name that only one source has."), ShowToolQuery),
    responses(
        (status = 200, description = "The tool.", body = ToolViewOrConversion),
        (status = 404, description = "The caller has no such tool, or the models do not exist.",
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
    let snapshot = app.registry.snapshot();
    match snapshot.lookup(&name, &caller, may_use) {
        ToolLookup::Found(id, tool, _) => Ok(Json(match query.target {
            None => ToolViewOrConversion::Tool(Box::new(tool_view(&app, &id, &tool, &caller))),
            Some(target) => {
                ToolViewOrConversion::Conversion(conversion::convert(&app, &id, tool.spec(), &target)?)
            }
        })),
        ToolLookup::Unknown => {
            let similar = suggestion_hint(&snapshot.similar_names(&name, may_use));
            Err(missing().with_hint(
                similar
                    .unwrap_or_else(|| "`toolway tools list` shows the tools that you may call".to_owned()),
            ))
        }
        ToolLookup::Ambiguous(ids) => {
            let names: Vec<_> = ids.iter().map(|id| id.full_name().to_string()).collect();
            Err(missing()
                .with_hint(format!("several sources have this tool; use a full name: {}", names.join(", "))))
        }
        ToolLookup::Offline(id) => {
            Err(missing().with_hint(format!("its device {} is not connected", id.source)))
        }
    }
}

/// Call a tool
///
/// A failed or missing tool is a 200 too. With `Accept: text/event-stream`, events `progress` come while the tool runs
/// and one event `outcome` at the end; with `interactive` also `approval_requested` and `approval_resolved`. Closing
/// the request cancels the call.
#[utoipa::path(
    post,
    path = "/api/tools/{name}/call",
    tag = "tools",
    operation_id = "call_tool",
    params(("name" = String, Path, description = "The tool's full name or id (`source/tool`; write `/` as `%2F`), or a bare name that only one source has.")),
    request_body = Option<CallToolRequest>,
    responses(
        (status = 200, description = "The outcome.", content(
            (CallToolResponse = "application/json"),
            (StreamEvent = "text/event-stream"),
        )),
        (status = 409, description = "The idempotency key belongs to another call.", body = CallToolResponse),
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
    let received = read_large_body(&app, &token.principal, &headers, body).await?;
    let (body, memory) = (received.bytes, received.memory);
    if !body.is_empty() {
        expect_json(&headers)?;
    }
    let body: Option<CallToolRequest> =
        parse_apart(&app, &token.principal, body, parse_optional_json).await?;
    let body = body.unwrap_or_default();
    if body.timeout_ms == Some(0) {
        return Err(ApiError::malformed("timeout_ms is 0; it must be 1 or more"));
    }
    if body.idempotency_key.as_ref().is_some_and(|key| !(1..=MAX_IDEMPOTENCY_KEY_BYTES).contains(&key.len()))
    {
        return Err(ApiError::malformed(format!(
            "idempotency_key must have 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes"
        )));
    }
    let caller =
        toolway_core::Caller { time_zone: client_time_zone(&app, &headers).await?, ..caller(&token) };
    let call = CallRequest {
        timeout: body.timeout_ms.map(Duration::from_millis),
        idempotency_key: body.idempotency_key.map(Arc::from),
        ..CallRequest::new(name, body.args.map_or(RawArguments::None, RawArguments::Json), caller)
    };
    if wants_events(&headers) {
        let room = app.reserve_event_stream(&token.principal)?;
        let account = app.memory.open(&token.principal);
        let held = (room, memory);
        return Ok(call_stream::respond(app.engine.clone(), call, token, body.interactive, held, account));
    }
    let response = run_and_respond(&app.engine, call, &token).await;
    drop(memory);
    Ok(response)
}

async fn run_and_respond(engine: &Arc<Engine>, call: CallRequest, token: &TokenState) -> Response {
    let finished = call_with_token(engine, call, token).await;
    let mut answer = call_response(&finished);
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
