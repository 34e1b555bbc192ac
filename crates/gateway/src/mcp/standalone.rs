//! Connections to MCP servers without a gateway, for testing a definition while no gateway runs. Their tools
//! are registered in a registry that nobody calls.

use std::path::Path;
use std::sync::Arc;

use toolway_core::{Registry, SpecCache};
use toolway_mcp::upstream::{UpstreamDeps, UpstreamManager, UpstreamSettings};
use toolway_types::Clock;

use super::sign_in::{self, DefinitionLookup, SignInParts};
use super::{FOLDER, environment, http_maker};
use crate::gateway_tools::ToolEnv;
use crate::settings::Settings;
use toolway_secrets::NamedSecrets;

/// Dependencies of the connections.
pub struct StandaloneUpstreamParts<'a> {
    /// The data folder.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// Environment of this computer.
    pub tool_env: &'a ToolEnv,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Lookup of server definitions.
    pub definition: DefinitionLookup,
}

/// Creates the manager without connections; [`UpstreamManager::apply`] connects to servers.
#[must_use]
pub fn build_upstreams(parts: StandaloneUpstreamParts<'_>) -> Arc<UpstreamManager> {
    let StandaloneUpstreamParts { data_dir, settings, tool_env: env, clock, definition } = parts;
    let authorizer = sign_in::build_oauth(SignInParts {
        data_dir,
        settings,
        tool_env: env,
        clock: Arc::clone(&clock),
        definition,
        keyring: None,
        browser: None,
    });
    UpstreamManager::new(UpstreamDeps {
        registry: Registry::new(),
        specs: Arc::new(SpecCache::default()),
        on_registered: Arc::new(|_, _| Box::pin(async {})),
        clock,
        environment: environment(env),
        folder: data_dir.join(FOLDER),
        secrets: Arc::new(NamedSecrets::new(
            &settings.secrets,
            data_dir.join("secrets"),
            Arc::clone(&env.secrets),
        )),
        http: http_maker(env),
        authorizer,
        client_name: "toolway".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: UpstreamSettings {
            list_timeout: settings.mcp.list_timeout_s.duration(),
            ..UpstreamSettings::default()
        },
    })
}
