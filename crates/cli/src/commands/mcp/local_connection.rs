//! Connections from this program to MCP servers, while no gateway connects to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_api::DefinitionOrigin;
use toolway_api::mcp_servers::McpServerDetail;
use toolway_gateway::api_views::mcp_server_status;
use toolway_gateway::mcp::standalone::{self, StandaloneUpstreamParts};
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::upstream::{UpstreamManager, UpstreamState, UpstreamStatus};
use toolway_types::Slug;

use super::servers::redacted_fields;
use crate::context::CliContext;
use crate::error::CliResult;
use crate::settings::LoadedSettings;

/// Interval for polling the connection state.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time for stopping the servers that this program started.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to all these servers at the same time, and waits until each is connected or has failed.
pub(super) async fn connect(
    wanted: BTreeMap<Slug, ServerDefinition>,
    loaded: &LoadedSettings,
    context: &CliContext,
    within: Duration,
) -> CliResult<Arc<UpstreamManager>> {
    let looked_up = wanted.clone();
    let env = crate::tool_env::tool_env(context);
    context.folder.create()?;
    let upstreams = standalone::build_upstreams(StandaloneUpstreamParts {
        data_dir: context.folder.path(),
        settings: &loaded.settings,
        tool_env: &env,
        clock: Arc::clone(&context.clock),
        definition: Arc::new(move |slug| looked_up.get(slug).cloned()),
    });
    upstreams.apply(wanted);
    let end = Instant::now() + within;
    let is_connecting = |state| state == UpstreamState::Connecting;
    while upstreams.status().iter().any(|status| is_connecting(status.state)) && Instant::now() < end {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(upstreams)
}

/// Returns the state of a connected server, with its definition.
pub(super) fn server_detail(
    upstreams: &UpstreamManager,
    status: UpstreamStatus,
    definition: &ServerDefinition,
    origin: &DefinitionOrigin,
) -> McpServerDetail {
    McpServerDetail {
        definition: redacted_fields(definition),
        origin: origin.clone(),
        name: status.slug.to_string(),
        log: upstreams.get(&status.slug).map(|upstream| upstream.log().lines()),
        status: Some(mcp_server_status(status)),
    }
}
