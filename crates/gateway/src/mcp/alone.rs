//! Connections to MCP servers without a gateway around them, for whoever tries a definition where none runs: their
//! tools are registered where nobody calls them.

use std::path::Path;
use std::sync::Arc;

use toolway_core::{Registry, SpecCache};
use toolway_mcp::upstream::{UpstreamParts, UpstreamSettings, Upstreams};
use toolway_types::Clock;

use super::sign_in::{self, DefinitionOf, SignInParts};
use super::{FOLDER, NamedSecrets, environment, http_maker};
use crate::settings::Settings;
use crate::toolbox::{KeptSecrets, ToolSurroundings};

/// What they are made with.
pub struct AloneParts<'a> {
    /// The folder with all that is kept.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// What is given of this computer.
    pub surroundings: &'a ToolSurroundings,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner says of a server.
    pub definition: DefinitionOf,
}

/// None yet; [`Upstreams::apply`] connects to some.
#[must_use]
pub fn upstreams(parts: AloneParts<'_>) -> Arc<Upstreams> {
    let AloneParts { data_dir, settings, surroundings, clock, definition } = parts;
    let authorizer = sign_in::oauth(SignInParts {
        data_dir,
        settings,
        surroundings,
        clock: Arc::clone(&clock),
        definition,
        keyring: None,
        browser: None,
    });
    Upstreams::new(UpstreamParts {
        registry: Registry::new(),
        specs: Arc::new(SpecCache::default()),
        on_registered: Arc::new(|_, _| Box::pin(async {})),
        clock,
        environment: environment(surroundings),
        folder: data_dir.join(FOLDER),
        secrets: Arc::new(NamedSecrets(KeptSecrets::new(
            settings.secrets.clone(),
            data_dir.join("secrets"),
            Arc::clone(&surroundings.secrets),
        ))),
        http: http_maker(surroundings),
        authorizer,
        client_name: "toolway".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: UpstreamSettings { list: settings.mcp.list_s.duration(), ..UpstreamSettings::default() },
    })
}
