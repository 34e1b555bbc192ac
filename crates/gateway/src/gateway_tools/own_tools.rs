//! Where the owner's definitions stand, and what their tools are made with: for the gateway, and for whoever looks
//! at them where none runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolway_tools::builtin;
use toolway_tools::own::{self, DefinitionSources, LoadedDefinitions, OwnToolDeps};
use toolway_tools::web::{AllowList, GuardedClient, SystemResolver, WebSettings};

use super::ToolEnv;
use super::secrets::NamedSecrets;
use crate::files;
use crate::settings::{SettingError, Settings};

/// The owner's definitions.
#[derive(Debug)]
pub struct OwnToolLoader {
    /// Where they stand.
    pub sources: DefinitionSources,
    /// What their tools are made with.
    pub kit: OwnToolDeps,
}

impl OwnToolLoader {
    /// Those of a data folder and its settings.
    #[must_use]
    pub fn new(data_dir: &Path, settings: &Settings, env: &ToolEnv, client: Arc<GuardedClient>) -> Self {
        let secrets =
            NamedSecrets::new(settings.secrets.clone(), data_dir.join("secrets"), Arc::clone(&env.secrets));
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

    /// Where those of a data folder and its settings stand.
    pub(super) fn sources(data_dir: &Path, settings: &Settings) -> DefinitionSources {
        DefinitionSources {
            folder: Self::folder(data_dir),
            working_dir: data_dir.join("files"),
            files: settings.tools.own.clone(),
        }
    }

    /// The folder of a data folder in which definitions stand.
    #[must_use]
    pub fn folder(data_dir: &Path) -> PathBuf {
        data_dir.join("tools")
    }

    /// Reads them, and makes the folder in which their commands run where there is none. Blocks for some
    /// milliseconds.
    #[must_use]
    pub fn load(&self) -> LoadedDefinitions {
        self.make_working_dir();
        own::load(&self.sources, &self.kit)
    }

    /// Makes the folder in which commands run, where there is none. Where that fails, each definition that needs
    /// it says that it is missing.
    pub fn make_working_dir(&self) {
        let _ = files::make_private_folder(&self.sources.working_dir);
    }
}

/// The client of these settings.
///
/// # Errors
/// Where they open something that is no host and no network.
pub fn web_settings(settings: &Settings) -> Result<WebSettings, SettingError> {
    let http = &settings.tools.http_request;
    let allow = AllowList::parse(&http.allow)
        .map_err(|bad| SettingError::without_hint("tools.http_request.allow", bad.to_string()))?;
    Ok(WebSettings { allow, body_bytes: http.body_bytes, ..WebSettings::default() })
}

/// A client that reaches what these settings open.
#[must_use]
pub fn web_client(settings: WebSettings, env: &ToolEnv) -> GuardedClient {
    GuardedClient::new(settings, env.tls.clone(), Arc::new(SystemResolver::default()))
}
