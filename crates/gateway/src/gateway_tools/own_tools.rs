//! Locations and dependencies of the owner's tool definitions, for the gateway and for commands that read
//! them while no gateway runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolway_tools::builtin;
use toolway_tools::own::{self, DefinitionSources, LoadedDefinitions, OwnToolDeps};
use toolway_tools::web::{AllowList, GuardedClient, SystemResolver, WebSettings};

use super::ToolEnv;
use crate::settings::{SettingError, Settings};
use toolway_files::private_file;
use toolway_secrets::NamedSecrets;

/// Loader of the owner's definitions.
#[derive(Debug)]
pub struct OwnToolLoader {
    /// Locations of the definitions.
    pub sources: DefinitionSources,
    /// Dependencies of the tools.
    pub kit: OwnToolDeps,
}

impl OwnToolLoader {
    /// Creates the loader for a data folder and its settings.
    #[must_use]
    pub fn new(data_dir: &Path, settings: &Settings, env: &ToolEnv, client: Arc<GuardedClient>) -> Self {
        let secrets =
            NamedSecrets::new(&settings.secrets, data_dir.join("secrets"), Arc::clone(&env.secrets));
        Self {
            sources: Self::sources(data_dir, settings),
            kit: OwnToolDeps {
                environment: env.environment.clone(),
                builtins: builtin::TOOL_NAMES.iter().map(|name| (*name).to_owned()).collect(),
                client,
                secrets: Arc::new(secrets),
            },
        }
    }

    /// Returns the locations of the definitions for a data folder and its settings.
    pub(super) fn sources(data_dir: &Path, settings: &Settings) -> DefinitionSources {
        DefinitionSources {
            folder: Self::folder(data_dir),
            working_dir: data_dir.join("files"),
            files: settings.tools.own.clone(),
        }
    }

    /// Returns the folder of definitions in a data folder.
    #[must_use]
    pub fn folder(data_dir: &Path) -> PathBuf {
        data_dir.join("tools")
    }

    /// Loads the definitions, and creates the working folder of their commands if it does not exist. Blocks
    /// for some milliseconds.
    #[must_use]
    pub fn load(&self) -> LoadedDefinitions {
        self.make_working_dir();
        own::load(&self.sources, &self.kit)
    }

    /// Creates the working folder of commands if it does not exist. If that fails, each definition that needs
    /// the folder reports it.
    pub fn make_working_dir(&self) {
        let _ = private_file::create_folder(&self.sources.working_dir);
    }
}

/// Returns the web settings of these settings.
///
/// # Errors
/// [`SettingError`] if they allow something that is not a host or a network.
pub fn web_settings(settings: &Settings) -> Result<WebSettings, SettingError> {
    let http = &settings.tools.http_request;
    let allow = AllowList::parse(&http.allow)
        .map_err(|bad| SettingError::without_hint("tools.http_request.allow", bad.to_string()))?;
    Ok(WebSettings { allow, body_bytes: http.body_bytes, ..WebSettings::default() })
}

/// Creates a client that reaches only what these settings allow.
#[must_use]
pub fn web_client(settings: WebSettings, env: &ToolEnv) -> GuardedClient {
    GuardedClient::new(settings, env.tls.clone(), Arc::new(SystemResolver::default()))
}
