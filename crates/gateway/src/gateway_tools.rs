//! The tools that run in the gateway itself: built-in tools (`builtin/…`), the owner's tools (`own/…`), and
//! the owner's hooks, which need the same dependencies.

mod catalogue;
mod hooks;
mod own_tools;
mod watcher;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use toolway_core::{Engine, HookEntry, Lease, SourceRetention, Tool};
use toolway_files::owner_file::FileStamps;
use toolway_secrets::SecretReader;
use toolway_tools::builtin::files::{self, AgentFolders, FileAccess, ListedFolder};
use toolway_tools::builtin::time::TimeZones;
use toolway_tools::builtin::{self, BuiltinDeps};
use toolway_tools::own::{LoadedDefinitions, OwnTool, RefusedDefinition};
use toolway_tools::web::{GuardedClient, TlsConfigFactory, WebSettings};
use toolway_types::{Clock, Slug, ToolId};

use crate::settings::{SettingError, Settings};
use catalogue::EngineCatalogue;

pub use hooks::build_hooks;
pub use own_tools::{OwnToolLoader, web_client, web_settings};
pub(crate) use watcher::watch;

/// Environment of the gateway's own tools and hooks. This module never reads the process environment.
#[derive(Clone)]
pub struct ToolEnv {
    /// Time zone of the computer and the known time zones.
    pub zones: TimeZones,
    /// Environment variables that commands may get.
    pub environment: HashMap<OsString, OsString>,
    /// Reader of secrets.
    pub secrets: Arc<dyn SecretReader>,
    /// TLS configuration for outgoing requests.
    pub tls: TlsConfigFactory,
}

impl fmt::Debug for ToolEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEnv").field("zones", &self.zones).finish_non_exhaustive()
    }
}

impl Default for ToolEnv {
    /// UTC, no environment variables, no secrets, no certificate authorities.
    fn default() -> Self {
        Self {
            zones: TimeZones::new(|| (TimeZone::UTC, jiff::tz::db().clone())),
            environment: HashMap::new(),
            secrets: Arc::new(toolway_secrets::NoSecrets),
            tls: TlsConfigFactory::new(|| Err("no certificate authorities are available".to_owned())),
        }
    }
}

/// The gateway's own tools.
pub(crate) struct GatewayTools {
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    data_dir: PathBuf,
    tool_env: ToolEnv,
    client: Arc<GuardedClient>,
    builtin: Lease,
    own: Lease,
    /// Lock for changes of the tools, with the active settings.
    changing: tokio::sync::Mutex<Settings>,
    defined: ArcSwap<DefinedTools>,
    /// State of the definition files when they were last read.
    last_stamps: Mutex<FileStamps>,
}

/// Tools of new settings that are not active yet.
pub(crate) struct PreparedTools<'t> {
    toolbox: &'t GatewayTools,
    changing: tokio::sync::MutexGuard<'t, Settings>,
    settings: Settings,
    tools: BuiltTools,
}

/// The loaded definitions of the owner's tools.
#[derive(Debug, Default)]
pub(crate) struct DefinedTools {
    pub(crate) tools: Vec<OwnTool>,
    pub(crate) refused: Vec<RefusedDefinition>,
}

impl fmt::Debug for GatewayTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayTools").field("defined", &self.defined).finish_non_exhaustive()
    }
}

impl GatewayTools {
    /// Registers the tools of these settings and sets their hooks.
    ///
    /// # Errors
    /// All problems of the settings.
    pub(crate) async fn open(
        engine: Arc<Engine>,
        clock: Arc<dyn Clock>,
        data_dir: PathBuf,
        env: ToolEnv,
        settings: &Settings,
    ) -> Result<Arc<Self>, Vec<SettingError>> {
        let registry = Arc::clone(engine.registry());
        let builtin = registry.lease(Slug::builtin(), SourceRetention::Nothing);
        let own = registry.lease(Slug::own(), SourceRetention::Nothing);
        let client = Arc::new(web_client(WebSettings::default(), &env));
        let toolbox = Arc::new(Self {
            engine,
            clock,
            data_dir,
            tool_env: env,
            client,
            builtin,
            own,
            changing: tokio::sync::Mutex::new(settings.clone()),
            defined: ArcSwap::default(),
            last_stamps: Mutex::default(),
        });
        // Blocking here is fine: nothing is served yet.
        let made = toolbox.build(settings)?;
        let changing = toolbox.changing.lock().await;
        PreparedTools { toolbox: &toolbox, changing, settings: settings.clone(), tools: made }.activate();
        Ok(toolbox)
    }

    /// Builds everything that new settings need. Nothing changes before [`PreparedTools::activate`], and no
    /// other change can happen until then.
    ///
    /// # Errors
    /// All problems of the settings.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        settings: &Settings,
    ) -> Result<PreparedTools<'_>, Vec<SettingError>> {
        let changing = self.changing.lock().await;
        let (toolbox, next) = (Arc::clone(self), settings.clone());
        let made = tokio::task::spawn_blocking(move || toolbox.build(&next)).await;
        let made =
            made.unwrap_or_else(|error| Err(vec![SettingError::without_hint("tools", error.to_string())]))?;
        Ok(PreparedTools { toolbox: self, changing, settings: settings.clone(), tools: made })
    }

    /// Moves files of agents without a folder of their own into the shared folder. A problem is logged; then the
    /// files stay where they are.
    pub(crate) async fn merge_agent_folders(&self, settings: &Settings, agents: Vec<String>) {
        let data_dir = self.data_dir.clone();
        let own = AgentFolders::new(&settings.tools.files.agent_folders);
        let merge = move || files::merge_agent_folders(&data_dir, &own, agents.iter().map(String::as_str));
        match tokio::task::spawn_blocking(merge).await {
            Ok(Ok(merged)) => {
                for files::MergedFolder { agent, moved, renamed } in merged {
                    tracing::info!(agent, moved, renamed, "files of an agent moved to the shared folder");
                }
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "files of an agent could not be moved to the shared folder")
            }
            Err(error) => tracing::error!(%error, "files of agents could not be moved to the shared folder"),
        }
    }

    /// Reads the owner's definitions again.
    pub(crate) async fn reload(self: &Arc<Self>) {
        let settings = self.changing.lock().await;
        let (toolbox, current) = (Arc::clone(self), settings.clone());
        if let Ok(loaded) = tokio::task::spawn_blocking(move || toolbox.load_own(&current)).await {
            self.publish_definitions(loaded);
        }
    }

    /// Returns a client's time zone if it is a name of the IANA database.
    ///
    /// # Errors
    /// A description of the problem, with similar names.
    pub(crate) async fn client_time_zone(&self, name: &str) -> Result<Arc<str>, String> {
        let (zones, zone) = (self.tool_env.zones.clone(), Arc::<str>::from(name));
        // Reads files.
        let checked = tokio::task::spawn_blocking(move || zones.check(&zone).map(|()| zone)).await;
        checked.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Returns the loaded definitions of the owner's tools.
    pub(crate) fn defined_tools(&self) -> Arc<DefinedTools> {
        self.defined.load_full()
    }

    /// Returns file and line of a tool that the owner defined.
    pub(crate) fn definition_place(&self, tool: &ToolId) -> Option<String> {
        if tool.source.as_str() != "own" {
            return None;
        }
        let defined = self.defined.load();
        let own = defined.tools.iter().find(|own| own.name() == tool.tool.as_str())?;
        Some(format!("{}, line {}", own.file.display(), own.line))
    }

    fn publish_definitions(&self, loaded: LoadedDefinitions) {
        for refused in &loaded.refused {
            tracing::error!("invalid tool definition: {refused}");
        }
        self.own.replace(loaded.tools.iter().map(|own| own.tool.clone()).collect());
        self.defined.store(Arc::new(DefinedTools { tools: loaded.tools, refused: loaded.refused }));
    }

    fn build(&self, settings: &Settings) -> Result<BuiltTools, Vec<SettingError>> {
        let mut problems = Vec::new();
        let web = web_settings(settings).unwrap_or_else(|problem| {
            problems.push(problem);
            WebSettings::default()
        });
        let builtin = match settings.tools.builtin {
            false => Vec::new(),
            true => self.make_builtin(settings).unwrap_or_else(|problem| {
                problems.push(problem);
                Vec::new()
            }),
        };
        let hooks =
            build_hooks(settings, &self.data_dir, &self.tool_env, &self.clock).unwrap_or_else(|found| {
                problems.extend(found);
                Vec::new()
            });
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(BuiltTools { web, builtin, hooks, own: self.load_own(settings) })
    }

    fn load_own(&self, settings: &Settings) -> LoadedDefinitions {
        // Taken before the files are read, so that a change in the meantime is noticed.
        *self.last_stamps.lock() = watcher::stamp_files(&self.data_dir, settings);
        self.own_tool_loader(settings).load()
    }

    fn make_builtin(&self, settings: &Settings) -> Result<Vec<Arc<dyn Tool>>, SettingError> {
        let folders = settings.tools.files.folders.iter();
        let folders = folders.map(|folder| ListedFolder {
            name: folder.name.clone(),
            path: folder.path.clone(),
            write: folder.write,
        });
        let files = FileAccess::new(&self.data_dir, folders.collect())
            .map_err(|bad| SettingError::without_hint("tools.files.folders", bad.to_string()))?
            .with_agent_folders(AgentFolders::new(&settings.tools.files.agent_folders));
        let zones = match &settings.tools.time_zone {
            Some(name) => self
                .tool_env
                .zones
                .with_local(name)
                .map_err(|problem| SettingError::without_hint("tools.time_zone", problem))?,
            None => self.tool_env.zones.clone(),
        };
        builtin::tools(BuiltinDeps {
            clock: Arc::clone(&self.clock),
            zones,
            files: Arc::new(files),
            catalogue: Arc::new(EngineCatalogue::of(&self.engine)),
            http: Arc::clone(&self.client),
        })
        .map_err(|bad| SettingError::without_hint("tools.builtin", bad.to_string()))
    }

    fn own_tool_loader(&self, settings: &Settings) -> OwnToolLoader {
        OwnToolLoader::new(&self.data_dir, settings, &self.tool_env, Arc::clone(&self.client))
    }
}

impl PreparedTools<'_> {
    /// Registers the tools and sets the hooks.
    pub(crate) fn activate(mut self) {
        let Self { toolbox, tools: made, .. } = self;
        toolbox.client.set_settings(made.web);
        toolbox.builtin.replace(made.builtin);
        toolbox.engine.set_hooks(made.hooks);
        toolbox.publish_definitions(made.own);
        *self.changing = self.settings;
    }
}

struct BuiltTools {
    web: WebSettings,
    builtin: Vec<Arc<dyn Tool>>,
    hooks: Vec<HookEntry>,
    own: LoadedDefinitions,
}

#[cfg(test)]
mod tests;
