//! The fast path for the most frequent request: a tool call of 2026-07-28 that is sent for the first time and wants
//! only its result. It needs no session, stream or task, so it is parsed and answered here at a fraction of the cost
//! of `rmcp`'s service. Any other or invalid request goes to `rmcp`, which has the error messages.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, ErrorCode, ProtocolVersion, RequestMetaObject};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use super::McpServerState;
use super::call::{ClientToolCall, ResumeParams, ToolCallReply};
use super::client::ClientProfile;
use super::client_handle::ClientHandle;
use super::client_scope::{ClientScope, ResolvedTool};
use super::http_response::{McpResponseBody, json_response};
use super::scoped_server::ScopedServer;
use super::sessions::SESSION_HEADER;

const TOOLS_CALL: &str = "tools/call";
const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Prefix of the headers that repeat arguments.
const PARAM_HEADER_PREFIX: &str = "mcp-param-";
/// The annotation of schemas that require such headers.
const HEADER_ANNOTATION: &str = "x-mcp-header";
/// Maximum nesting of arguments, as in `rmcp`.
const MAX_DEPTH: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FastPathMessage<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: FastPathParams<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FastPathParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: RequestMetaObject,
}

/// A tool call on the fast path.
pub(super) struct FastPathCall<'a> {
    id: &'a RawValue,
    call: ClientToolCall,
    profile: ClientProfile,
}

impl<'a> FastPathCall<'a> {
    /// Parses the request; `None` if it does not qualify.
    pub(super) fn parse(
        shared: &McpServerState,
        scope: &ClientScope,
        parts: &Parts,
        body: &'a Bytes,
    ) -> Option<Self> {
        let version = ProtocolVersion::V_2026_07_28;
        let headers = &parts.headers;
        let is_plain = parts.method == Method::POST
            && single_header(headers, &VERSION) == Some(version.as_str())
            && single_header(headers, &METHOD) == Some(TOOLS_CALL)
            && single_header(headers, &CONTENT_TYPE).is_some_and(is_json)
            && single_header(headers, &ACCEPT).is_some_and(accepts_json_and_sse)
            && !headers.contains_key(SESSION_HEADER)
            && !headers.keys().any(|name| name.as_str().starts_with(PARAM_HEADER_PREFIX));
        let name = single_header(headers, &NAME).filter(|_| is_plain)?;
        let message: FastPathMessage<'a> = serde_json::from_slice(body).ok()?;
        let FastPathMessage { jsonrpc, id, method, params } = message;
        let FastPathParams { name: called, arguments, meta } = params;
        let is_call = jsonrpc == "2.0" && method == TOOLS_CALL && called == name && is_id(id);
        // A name that is not plain text has another encoding in the header.
        if !is_call || name.starts_with("=?") {
            return None;
        }
        let wants_nothing = meta.get_progress_token().is_none() && meta.log_level().is_none();
        if meta.protocol_version().is_none_or(|said| said != version) || !wants_nothing {
            return None;
        }
        let capabilities = meta.client_capabilities()?;
        let is_object = |arguments: &&RawValue| {
            arguments.get().starts_with('{') && !nests_deeper_than(arguments.get(), MAX_DEPTH)
        };
        if !arguments.as_ref().is_none_or(is_object) {
            return None;
        }
        let ResolvedTool::Connected(seen) = scope.resolve_tool(&shared.engine, name)? else { return None };
        let schema = seen.tool.spec().document().parameters.as_ref().map_or("", RawJson::get);
        if memchr::memmem::find(schema.as_bytes(), HEADER_ANNOTATION.as_bytes()).is_some() {
            return None;
        }
        let known = ClientProfile {
            principal: scope.caller.principal.id.clone(),
            capabilities,
            version,
            meta,
            log_level: None,
            answer_timeout: shared.answer_timeout,
            session_peer: None,
        };
        let arguments = arguments.map(|raw| RawJson::from(raw.to_owned()));
        let asked = ClientToolCall {
            name: called.into_owned(),
            tool: seen.id,
            arguments,
            resume: ResumeParams::default(),
        };
        Some(Self { id, call: asked, profile: known })
    }

    /// Calls the tool and returns the response.
    pub(super) async fn execute(
        self,
        shared: &Arc<McpServerState>,
        scope: ClientScope,
    ) -> Response<McpResponseBody> {
        let Self { id, call: asked, profile: known } = self;
        let server = ScopedServer { shared: Arc::clone(shared), scope };
        match server.answer_tool_call(asked, known, &ClientHandle::default()).await {
            Ok(ToolCallReply::Result(json)) => {
                let body = [r#"{"jsonrpc":"2.0","id":"#, id.get(), r#","result":"#, &json, "}"].concat();
                json_response(StatusCode::OK, body.into())
            }
            Ok(ToolCallReply::InputRequired(questions)) => result_response(id, &questions),
            Ok(ToolCallReply::Task(task)) => result_response(id, &CreateTaskResult::new(task)),
            Err(error) => error_response(id, error),
        }
    }
}

/// The value of a header that occurs once and is text.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(JSON)
}

/// Returns true if the client accepts both JSON and event streams. `rmcp` handles weights and quotes.
fn accepts_json_and_sse(accept: &str) -> bool {
    let has = |wanted: &str| accept.split(',').any(|media| media.trim().eq_ignore_ascii_case(wanted));
    !accept.contains([';', '"']) && has(JSON) && has(EVENT_STREAM)
}

/// Returns true if `rmcp` accepts this request id.
fn is_id(id: &RawValue) -> bool {
    id.get().starts_with('"') || id.get().parse::<i64>().is_ok()
}

fn result_response<T: Serialize>(id: &RawValue, result: &T) -> Response<McpResponseBody> {
    #[derive(Serialize)]
    struct JsonRpcResult<'a, T> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        result: &'a T,
    }
    serialized_response(StatusCode::OK, &JsonRpcResult { jsonrpc: "2.0", id, result })
}

/// An error response with the code and status of newer protocol versions.
fn error_response(id: &RawValue, mut error: ErrorData) -> Response<McpResponseBody> {
    #[derive(Serialize)]
    struct JsonRpcErrorBody<'a> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        error: &'a ErrorData,
    }
    if error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    let status = match error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    };
    serialized_response(status, &JsonRpcErrorBody { jsonrpc: "2.0", id, error: &error })
}

fn serialized_response<T: Serialize>(status: StatusCode, message: &T) -> Response<McpResponseBody> {
    json_response(status, serde_json::to_vec(message).unwrap_or_default().into())
}

#[cfg(test)]
mod tests;
