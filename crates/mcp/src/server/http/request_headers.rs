//! The headers of MCP: those that repeat parts of a request for proxies must agree with it (2026-07-28, "Standard
//! request headers").

use http::{HeaderMap, HeaderName};
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use toolway_types::{RawJson, ToolId};

use crate::param_headers::{self, decoded_header};
use crate::server::client_scope::ResolvedTool;
use crate::server::json_rpc::IncomingRequest;
use crate::server::protocol::{self, SUPPORTED_VERSIONS, is_modern};
use crate::server::scoped_server::ScopedServer;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The lifecycle of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Lifecycle {
    /// The request belongs to a session.
    Session,
    /// The request describes its client itself.
    Stateless(ProtocolVersion, ClientCapabilities),
}

/// The value of a header that occurs once and is text.
pub(super) fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

fn version_header(headers: &HeaderMap) -> Result<Option<ProtocolVersion>, ErrorData> {
    if !headers.contains_key(&VERSION) {
        return Ok(None);
    }
    let text = single_header(headers, &VERSION)
        .ok_or_else(|| mismatch("the header MCP-Protocol-Version must be there once, in ASCII".to_owned()))?;
    let known = SUPPORTED_VERSIONS.iter().find(|version| version.as_str() == text).cloned();
    // Other versions have no constructor but this.
    Ok(known.or_else(|| serde_json::from_value(text.into()).ok()))
}

/// Returns true if the header names 2026-07-28 or a later version.
pub(super) fn is_modern_header(headers: &HeaderMap) -> bool {
    version_header(headers)
        .ok()
        .flatten()
        .is_some_and(|version| is_modern(&version) && SUPPORTED_VERSIONS.contains(&version))
}

/// Checks that the version of the header is supported, if there is one.
///
/// # Errors
/// The error for the client.
pub(super) fn check_version_header(headers: &HeaderMap) -> Result<(), ErrorData> {
    version_header(headers)?.map_or(Ok(()), |version| protocol::check_supported(&version))
}

/// Finds the lifecycle of a request. The handshake exists only in versions with sessions, whatever version it names.
///
/// # Errors
/// The error for the client, if header and request contradict each other, or if the request lacks a field.
pub(super) fn lifecycle(headers: &HeaderMap, request: &IncomingRequest) -> Result<Lifecycle, ErrorData> {
    let header = version_header(headers)?;
    // Since 2026-07-28, there is no such method, and the dispatcher says so.
    let is_stateless = request.params.meta.protocol_version().is_some_and(|version| is_modern(&version));
    if request.method == "initialize" && !is_stateless {
        check_initialize(headers, header.as_ref(), request)?;
        return Ok(Lifecycle::Session);
    }
    let Some(version) = request.params.meta.protocol_version() else {
        if let Some(header) = &header {
            protocol::check_supported(header)?;
        }
        if request.method == "server/discover" || header.as_ref().is_some_and(is_modern) {
            protocol::check_client_description(&request.params.meta)?;
        }
        return Ok(Lifecycle::Session);
    };
    let Some(header) = header else {
        return Err(mismatch(
            "a request whose _meta names a version needs the header MCP-Protocol-Version".to_owned(),
        ));
    };
    if header != version {
        return Err(mismatch(format!(
            "the header MCP-Protocol-Version ({header}) differs from the version in _meta"
        )));
    }
    protocol::check_supported(&version)?;
    match request.params.meta.client_capabilities() {
        Some(capabilities) => Ok(Lifecycle::Stateless(version, capabilities)),
        None if is_modern(&version) || request.method == "server/discover" => {
            Err(protocol::missing_client_description(&request.params.meta))
        }
        None => Ok(Lifecycle::Session),
    }
}

fn check_initialize(
    headers: &HeaderMap,
    header: Option<&ProtocolVersion>,
    request: &IncomingRequest,
) -> Result<(), ErrorData> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeVersion {
        protocol_version: String,
    }
    let Some(header) = header else { return Ok(()) };
    let InitializeVersion { protocol_version } = request.params.to()?;
    if header.as_str() != protocol_version {
        return Err(ErrorData::invalid_request(
            "Invalid request: the header MCP-Protocol-Version differs from params.protocolVersion",
            None,
        ));
    }
    // Clients send the other headers after the handshake. One that is there must agree.
    match decoded_header(headers, &METHOD).map_err(mismatch)? {
        Some(method) if is_modern(header) && method != request.method => {
            Err(mismatch("the header Mcp-Method differs from the method".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Compares the method in the header with a message.
///
/// # Errors
/// The error for the client.
pub(super) fn check_method_header(headers: &HeaderMap, method: &str) -> Result<(), ErrorData> {
    match decoded_header(headers, &METHOD).map_err(mismatch)? {
        Some(header) if header == method => Ok(()),
        Some(_) => Err(mismatch("the header Mcp-Method differs from the method".to_owned())),
        None => Err(mismatch("the header Mcp-Method is missing".to_owned())),
    }
}

/// Compares all headers that repeat parts of a request. Returns the tool of a call if it was looked up for that.
///
/// # Errors
/// The error for the client.
pub(super) fn check_request_headers(
    headers: &HeaderMap,
    request: &IncomingRequest,
    server: &ScopedServer,
) -> Result<Option<ToolId>, ErrorData> {
    check_method_header(headers, &request.method)?;
    let params = &request.params;
    let name = match request.method.as_str() {
        "tools/call" | "prompts/get" => params.name.as_deref(),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => params.uri.as_deref(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id.as_deref(),
        _ => None,
    };
    if let Some(name) = name {
        match decoded_header(headers, &NAME).map_err(mismatch)? {
            Some(header) if header == name => {}
            Some(_) => return Err(mismatch("the header Mcp-Name differs from the request".to_owned())),
            None => return Err(mismatch("the header Mcp-Name is missing".to_owned())),
        }
        if request.method == "tools/call" {
            return check_argument_headers(headers, name, params.arguments.as_ref(), server);
        }
    }
    Ok(None)
}

/// Compares the headers that a tool's schema requires with the arguments.
fn check_argument_headers(
    headers: &HeaderMap,
    tool: &str,
    arguments: Option<&RawJson>,
    server: &ScopedServer,
) -> Result<Option<ToolId>, ErrorData> {
    let Some(ResolvedTool::Connected(seen)) = server.scope.resolve_tool(&server.shared.engine, tool) else {
        return Ok(None);
    };
    let schema = seen.tool.spec().document().parameters.as_ref();
    let annotated = schema.filter(|schema| schema.get().contains(param_headers::HEADER_ANNOTATION));
    let Some(schema) = annotated else { return Ok(Some(seen.id)) };
    // A tool with invalid annotations has no such headers.
    let params = param_headers::header_params(&schema.to_value()).unwrap_or_default();
    let arguments = arguments.map(RawJson::to_value).unwrap_or_default();
    param_headers::check_argument_headers(&params, &arguments, headers).map_err(mismatch)?;
    Ok(Some(seen.id))
}

fn mismatch(words: String) -> ErrorData {
    ErrorData::header_mismatch(words, None)
}
