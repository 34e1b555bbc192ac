//! Connections to MCP servers without a gateway around them, for whoever tries a definition where none runs: their
//! tools are registered where nobody calls them.

use std::path::Path;
use std::sync::Arc;

use toolway_core::{Registry, SpecCache};
use toolway_mcp::upstream::{UpstreamDeps, UpstreamManager, UpstreamSettings};
use toolway_types::Clock;

use super::sign_in::{self, DefinitionLookup, SignInParts};
use super::{FOLDER, McpSecretResolver, environment, http_maker};
use crate::gateway_tools::{NamedSecrets, ToolEnv};
use crate::settings::Settings;

/// What they are made with.
pub struct StandaloneUpstreamParts<'a> {
    /// The folder with all that is kept.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// What is given of this computer.
    pub tool_env: &'a ToolEnv,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner says of a server.
    pub definition: DefinitionLookup,
}

/// None yet; [`Upstreams::apply`] connects to some.
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
        secrets: Arc::new(McpSecretResolver(NamedSecrets::new(
            settings.secrets.clone(),
            data_dir.join("secrets"),
            Arc::clone(&env.secrets),
        ))),
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
