//! Finds out which era a server is of, and connects in its way: `server/discover` first, `initialize` where that has
//! no answer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ErrorCode, Implementation, ProtocolVersion, ServerCapabilities};
use serde::Deserialize;
use serde_json::json;
use toolway_types::RawJson;

use super::allowed;
use super::carrier::Outgoing;
use super::connection::{Connection, Settled};
use super::fault::Fault;
use super::frame;
use super::status::Era;
use crate::offering::ServerFacts;

/// The version that needs no `initialize`.
const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Connects. A server that leaves `server/discover` without an answer for `probe` is taken for one of the older era;
/// none is asked where that is known of it.
pub(super) async fn shake(
    connection: &Arc<Connection>,
    probe: Duration,
    is_old: bool,
) -> Result<Settled, Fault> {
    let settled = match is_old {
        true => initialize(connection).await?,
        false => find_out(connection, probe).await?,
    };
    connection.settle(settled.clone());
    if settled.era == Era::Handshake {
        connection.carrier().send(frame::notification("notifications/initialized", None)).await?;
    }
    Ok(settled)
}

async fn find_out(connection: &Arc<Connection>, probe: Duration) -> Result<Settled, Fault> {
    let discovering = discover(connection);
    tokio::pin!(discovering);
    match tokio::time::timeout(probe, &mut discovering).await {
        Ok(Ok(Some(settled))) => return Ok(settled),
        Ok(Ok(None)) => return initialize(connection).await,
        Ok(Err(fault)) => return Err(fault),
        Err(_) => {}
    }
    // It may be slow and not old: whichever it answers is what it speaks. One that takes `initialize` has begun a
    // session by it, so that answer counts.
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

/// Asks what the server is. None where it is of the older era.
async fn discover(connection: &Arc<Connection>) -> Result<Option<Settled>, Fault> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: ServerCapabilities,
        #[serde(default)]
        instructions: Option<String>,
        #[serde(default, rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize, Default)]
    struct Meta {
        #[serde(default, rename = "io.modelcontextprotocol/serverInfo")]
        info: Option<Implementation>,
    }
    let mut params = String::from("{");
    connection.meta().write(&mut params, None, Some(Era::Stateless), None, None);
    params.push('}');
    let mut answer = send(connection, "server/discover", params.clone()).await;
    // One that refuses the version and lists it all the same is asked once more, as the specification has it.
    if answer.as_ref().is_err_and(lists_stateless) {
        answer = send(connection, "server/discover", params).await;
    }
    let raw = match answer {
        Ok(raw) => raw,
        Err(Fault::Refused(error))
            if matches!(
                error.code,
                ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            ) =>
        {
            return Err(Fault::Refused(error));
        }
        Err(Fault::Refused(_) | Fault::Malformed(_)) => return Ok(None),
        Err(Fault::Status(status, _)) if !matches!(status.as_u16(), 401 | 403 | 429) => return Ok(None),
        Err(fault) => return Err(fault),
    };
    let Ok(found) = raw.to::<Discovered>() else { return Ok(None) };
    if !found.supported_versions.iter().any(|version| version == STATELESS.as_str()) {
        return Ok(None);
    }
    let facts = ServerFacts {
        protocol_version: STATELESS,
        capabilities: found.capabilities,
        info: found.meta.info.unwrap_or_else(|| unnamed(connection)),
        instructions: found.instructions,
    };
    Ok(Some(Settled { era: Era::Stateless, facts: Arc::new(facts) }))
}

/// Whether a server refused a version and named the one without `initialize` as one that it speaks.
fn lists_stateless(fault: &Fault) -> bool {
    let Fault::Refused(error) = fault else { return false };
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|supported| supported.iter().any(|version| version == STATELESS.as_str()))
}

async fn initialize(connection: &Arc<Connection>) -> Result<Settled, Fault> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
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
        "capabilities": allowed::of_all(connection.upstream().definition()),
        "clientInfo": connection.meta().info(),
    });
    let raw = send(connection, "initialize", params.to_string()).await?;
    let found: Initialized = raw
        .to()
        .map_err(|error| Fault::Malformed(format!("its answer to initialize can't be read: {error}")))?;
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let version = known.clone().find(|version| version.as_str() == found.protocol_version);
    let Some(version) = version else {
        let known: Vec<_> = known.map(ProtocolVersion::as_str).collect();
        let (theirs, ours) = (found.protocol_version, known.join(", "));
        return Err(Fault::Malformed(format!("it speaks MCP {theirs:?}; known are {ours}")));
    };
    let facts = ServerFacts {
        protocol_version: version.clone(),
        capabilities: found.capabilities,
        info: found.server_info.unwrap_or_else(|| unnamed(connection)),
        instructions: found.instructions,
    };
    let era = if version.has_initialize() { Era::Handshake } else { Era::Stateless };
    Ok(Settled { era, facts: Arc::new(facts) })
}

async fn send(connection: &Arc<Connection>, method: &'static str, params: String) -> Result<RawJson, Fault> {
    let id = connection.next_id();
    connection.request(Outgoing { id, method, name: None, params, headers: Vec::new(), exchange: None }).await
}

/// A server that does not say what it is.
fn unnamed(connection: &Connection) -> Implementation {
    Implementation::new(connection.upstream().slug().as_str(), "")
}
