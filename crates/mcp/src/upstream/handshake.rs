//! The handshake with a server of either era: `server/discover` first, `initialize` if that has no answer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ErrorCode, Implementation, ProtocolVersion, ServerCapabilities};
use serde::Deserialize;
use serde_json::json;
use toolway_types::RawJson;
use toolway_types::text::shorten_error;

use super::capabilities;
use super::connection::{NegotiatedProtocol, UpstreamConnection};
use super::error::UpstreamError;
use super::frame;
use super::transport::OutgoingRequest;
use crate::definition::EraMode;
use crate::offering::ServerFacts;
use crate::protocol_era::ProtocolEra;

/// The version without `initialize`.
const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Performs the handshake. A server that does not answer `server/discover` within `probe` counts as one of the older
/// era. With `is_old`, `server/discover` is skipped.
pub(super) async fn perform_handshake(
    connection: &Arc<UpstreamConnection>,
    probe: Duration,
    is_old: bool,
) -> Result<NegotiatedProtocol, UpstreamError> {
    let settled = match is_old {
        true => initialize(connection).await?,
        false => detect_era(connection, probe).await?,
    };
    if settled.era == ProtocolEra::Handshake && connection.server().definition().era == EraMode::Newer {
        let version = settled.facts.protocol_version.as_str();
        let text =
            format!("it speaks MCP {version}, and its definition requires 2026-07-28 (era = \"2026\")");
        return Err(UpstreamError::Malformed(text));
    }
    connection.set_negotiated(settled.clone());
    if settled.era == ProtocolEra::Handshake {
        const INITIALIZED: &str = "notifications/initialized";
        let sent = connection.transport().send(frame::notification(INITIALIZED, None)).await;
        sent.map_err(|fault| match fault {
            UpstreamError::Status(status, text) => {
                let text = format!("it refuses the notification {INITIALIZED}: {text}");
                UpstreamError::Status(status, text.trim_end_matches([':', ' ']).to_owned())
            }
            other => other,
        })?;
    }
    Ok(settled)
}

async fn detect_era(
    connection: &Arc<UpstreamConnection>,
    probe: Duration,
) -> Result<NegotiatedProtocol, UpstreamError> {
    let discovering = discover(connection);
    tokio::pin!(discovering);
    match tokio::time::timeout(probe, &mut discovering).await {
        Ok(Ok(Some(settled))) => return Ok(settled),
        Ok(Ok(None)) => return initialize(connection).await,
        Ok(Err(fault)) => return Err(fault),
        Err(_) => {}
    }
    // The server may be slow, not old: it speaks the version of the request that it answers. A response to
    // `initialize` has started a session, so it takes precedence.
    let initializing = initialize(connection);
    tokio::pin!(initializing);
    tokio::select! {
        settled = &mut initializing => settled,
        discovered = &mut discovering => match discovered {
            Ok(Some(settled)) => initializing.await.or(Ok(settled)),
            _ => initializing.await,
        },
    }
}

/// Sends `server/discover`. Returns `None` if the server is of the older era.
async fn discover(connection: &Arc<UpstreamConnection>) -> Result<Option<NegotiatedProtocol>, UpstreamError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct DiscoverResponse {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: ServerCapabilities,
        #[serde(default)]
        instructions: Option<String>,
        #[serde(default, rename = "_meta")]
        meta: DiscoverMeta,
    }
    #[derive(Deserialize, Default)]
    struct DiscoverMeta {
        #[serde(default, rename = "io.modelcontextprotocol/serverInfo")]
        info: Option<Implementation>,
    }
    let mut params = String::from("{");
    connection.meta().write(&mut params, None, Some(ProtocolEra::Stateless), None, None);
    params.push('}');
    let mut answer = send(connection, "server/discover", params.clone()).await;
    // Ask once more if the server refuses the version but lists it (MCP 2026-07-28, `server/discover`).
    if answer.as_ref().is_err_and(lists_stateless) {
        answer = send(connection, "server/discover", params).await;
    }
    let raw = match answer {
        Ok(raw) => raw,
        Err(UpstreamError::RpcError(error))
            if matches!(
                error.code,
                ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            ) =>
        {
            return Err(UpstreamError::RpcError(error));
        }
        Err(UpstreamError::RpcError(_) | UpstreamError::Malformed(_)) => return Ok(None),
        Err(UpstreamError::Status(status, _)) if !matches!(status.as_u16(), 401 | 403 | 429) => {
            return Ok(None);
        }
        Err(fault) => return Err(fault),
    };
    let Ok(found) = raw.to::<DiscoverResponse>() else { return Ok(None) };
    if !found.supported_versions.iter().any(|version| version == STATELESS.as_str()) {
        return Ok(None);
    }
    let facts = ServerFacts {
        protocol_version: STATELESS,
        capabilities: found.capabilities,
        info: found.meta.info.unwrap_or_else(|| unnamed_implementation(connection)),
        instructions: found.instructions,
    };
    let (era, facts) = (ProtocolEra::Stateless, Arc::new(facts));
    Ok(Some(NegotiatedProtocol { era, facts, takes_tool_tasks: false }))
}

/// Returns true if the server refused the version but lists the one without `initialize`.
fn lists_stateless(fault: &UpstreamError) -> bool {
    let UpstreamError::RpcError(error) = fault else { return false };
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|supported| supported.iter().any(|version| version == STATELESS.as_str()))
}

async fn initialize(connection: &Arc<UpstreamConnection>) -> Result<NegotiatedProtocol, UpstreamError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InitializeResponse {
        protocol_version: String,
        #[serde(default)]
        capabilities: ServerCapabilities,
        #[serde(default)]
        server_info: Option<Implementation>,
        #[serde(default)]
        instructions: Option<String>,
    }
    let params = json!({
        "protocolVersion": ProtocolVersion::LATEST_WITH_INITIALIZE.as_str(),
        "capabilities": capabilities::advertised_capabilities(connection.server().definition()),
        "clientInfo": connection.meta().client_info(),
    });
    let raw = send(connection, "initialize", params.to_string()).await?;
    let found: InitializeResponse = raw.to().map_err(|error| {
        let error = shorten_error(&error);
        UpstreamError::Malformed(format!("its answer to initialize can't be read: {error}"))
    })?;
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let version = known.clone().find(|version| version.as_str() == found.protocol_version);
    let Some(version) = version else {
        let known: Vec<_> = known.map(ProtocolVersion::as_str).collect();
        let (theirs, ours) = (found.protocol_version, known.join(", "));
        return Err(UpstreamError::Malformed(format!("it speaks MCP {theirs:?}; known are {ours}")));
    };
    let facts = ServerFacts {
        protocol_version: version.clone(),
        capabilities: found.capabilities,
        info: found.server_info.unwrap_or_else(|| unnamed_implementation(connection)),
        instructions: found.instructions,
    };
    let era = if version.has_initialize() { ProtocolEra::Handshake } else { ProtocolEra::Stateless };
    Ok(NegotiatedProtocol { era, facts: Arc::new(facts), takes_tool_tasks: takes_tool_tasks(&raw) })
}

/// Returns true if a server of the older era takes calls of tools as tasks (2025-11-25, "Tasks").
fn takes_tool_tasks(initialized: &RawJson) -> bool {
    let result = initialized.to_value();
    result.pointer("/capabilities/tasks/requests/tools/call").is_some_and(serde_json::Value::is_object)
}

async fn send(
    connection: &Arc<UpstreamConnection>,
    method: &'static str,
    params: String,
) -> Result<RawJson, UpstreamError> {
    let id = connection.next_id();
    connection
        .request(OutgoingRequest { id, method, name: None, params, headers: Vec::new(), exchange: None })
        .await
}

/// The server info of a server that does not send any.
fn unnamed_implementation(connection: &UpstreamConnection) -> Implementation {
    Implementation::new(connection.server().slug().as_str(), "")
}
