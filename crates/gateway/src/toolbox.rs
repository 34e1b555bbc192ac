//! The tools that live in the gateway itself: those that come with Toolway (`builtin/…`) and those that the owner
//! defines (`own/…`); and the owner's hooks, which are made from the same things.

mod asked;
mod catalogue;
mod own;
mod secrets;
mod watch;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use toolway_core::{Engine, HookEntry, Keep, Lease, Tool};
use toolway_tools::builtin::files::{FileAccess, Folder};
use toolway_tools::builtin::time::Zones;
use toolway_tools::builtin::{self, BuiltinSettings};
use toolway_tools::own::{Loaded, OwnTool, Refused};
use toolway_tools::secrets::SecretReader;
use toolway_tools::web::{GuardedClient, TlsMaker, WebSettings};
use toolway_types::{Clock, Slug, ToolId};

use crate::settings::{SettingError, Settings};
use catalogue::EngineCatalogue;

pub use asked::hooks;
pub use own::{OwnTools, web_client, web_settings};
pub(crate) use secrets::KeptSecrets;
pub(crate) use watch::watch;

/// What the gateway's own tools and hooks are given from outside: nothing here asks the environment.
#[derive(Clone)]
pub struct ToolSurroundings {
    /// The computer's zone, and which zones there are.
    pub zones: Zones,
    /// The variables that commands may be given.
    pub environment: HashMap<OsString, OsString>,
    /// Reads secrets from where they are kept.
    pub secrets: Arc<dyn SecretReader>,
    /// Whom requests to others trust.
    pub tls: TlsMaker,
}

impl fmt::Debug for ToolSurroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSurroundings").field("zones", &self.zones).finish_non_exhaustive()
    }
}

impl Default for ToolSurroundings {
    /// UTC, no variables, no secrets, nobody trusted.
    fn default() -> Self {
        Self {
            zones: Zones::new(|| (TimeZone::UTC, jiff::tz::db().clone())),
            environment: HashMap::new(),
            secrets: Arc::new(secrets::NoSecrets),
            tls: TlsMaker::new(|| Err("no certificate authorities were given".to_owned())),
        }
    }
}

/// The gateway's own tools.
pub(crate) struct Toolbox {
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    data_dir: PathBuf,
    surroundings: ToolSurroundings,
    client: Arc<GuardedClient>,
    builtin: Lease,
    own: Lease,
    /// Held while tools change, with the settings that hold.
    changing: tokio::sync::Mutex<Settings>,
    defined: ArcSwap<Defined>,
    /// The definitions' files as they were last read.
    seen: Mutex<watch::Mark>,
}

/// What was made of other settings and has yet to be put in force.
pub(crate) struct Ready<'t> {
    toolbox: &'t Toolbox,
    changing: tokio::sync::MutexGuard<'t, Settings>,
    settings: Settings,
    made: Made,
}

/// What was read of the owner's definitions.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    pub(crate) tools: Vec<OwnTool>,
    pub(crate) refused: Vec<Refused>,
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("defined", &self.defined).finish_non_exhaustive()
    }
}

impl Toolbox {
    /// Registers the tools of these settings, and sets their hooks.
    ///
    /// # Errors
    /// Everything that can't be used.
    pub(crate) async fn open(
        engine: Arc<Engine>,
        clock: Arc<dyn Clock>,
        data_dir: PathBuf,
        surroundings: ToolSurroundings,
        settings: &Settings,
    ) -> Result<Arc<Self>, Vec<SettingError>> {
        let registry = Arc::clone(engine.registry());
        let builtin = registry.lease(Slug::builtin(), Keep::Nothing);
        let own = registry.lease(Slug::own(), Keep::Nothing);
        let client = Arc::new(web_client(WebSettings::default(), &surroundings));
        let toolbox = Arc::new(Self {
            engine,
            clock,
            data_dir,
            surroundings,
            client,
            builtin,
            own,
            changing: tokio::sync::Mutex::new(settings.clone()),
            defined: ArcSwap::default(),
            seen: Mutex::default(),
        });
        // Here rather than on another thread: nobody is served yet.
        let made = toolbox.make(settings)?;
        let changing = toolbox.changing.lock().await;
        Ready { toolbox: &toolbox, changing, settings: settings.clone(), made }.put_in_force();
        Ok(toolbox)
    }

    /// Makes all that other settings want; nothing has changed before it is put in force. Nor can anything until
    /// then.
    ///
    /// # Errors
    /// Everything that can't be used.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        settings: &Settings,
    ) -> Result<Ready<'_>, Vec<SettingError>> {
        let changing = self.changing.lock().await;
        let (toolbox, next) = (Arc::clone(self), settings.clone());
        let made = tokio::task::spawn_blocking(move || toolbox.make(&next)).await;
        let made =
            made.unwrap_or_else(|error| Err(vec![SettingError::of_tools("tools", error.to_string())]))?;
        Ok(Ready { toolbox: self, changing, settings: settings.clone(), made })
    }

    /// Reads the owner's definitions again.
    pub(crate) async fn reload(self: &Arc<Self>) {
        let settings = self.changing.lock().await;
        let (toolbox, current) = (Arc::clone(self), settings.clone());
        if let Ok(loaded) = tokio::task::spawn_blocking(move || toolbox.load_own(&current)).await {
            self.define(loaded);
        }
    }

    /// What was read of the owner's definitions.
    pub(crate) fn defined(&self) -> Arc<Defined> {
        self.defined.load_full()
    }

    /// File and line of a tool that the owner defines.
    pub(crate) fn place_of(&self, tool: &ToolId) -> Option<String> {
        if tool.source.as_str() != "own" {
            return None;
        }
        let defined = self.defined.load();
        let own = defined.tools.iter().find(|own| own.name() == tool.tool.as_str())?;
        Some(format!("{}, line {}", own.file.display(), own.line))
    }

    fn define(&self, loaded: Loaded) {
        for refused in &loaded.refused {
            tracing::error!("a tool was not taken: {refused}");
        }
        self.own.replace(loaded.tools.iter().map(|own| own.tool.clone()).collect());
        self.defined.store(Arc::new(Defined { tools: loaded.tools, refused: loaded.refused }));
    }

    fn make(&self, settings: &Settings) -> Result<Made, Vec<SettingError>> {
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
            hooks(settings, &self.data_dir, &self.surroundings, &self.clock).unwrap_or_else(|found| {
                problems.extend(found);
                Vec::new()
            });
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Made { web, builtin, hooks, own: self.load_own(settings) })
    }

    fn load_own(&self, settings: &Settings) -> Loaded {
        // Before they are read: what changes meanwhile is read again.
        *self.seen.lock() = watch::mark(&self.data_dir, settings);
        self.own(settings).load()
    }

    fn make_builtin(&self, settings: &Settings) -> Result<Vec<Arc<dyn Tool>>, SettingError> {
        let folders = settings.tools.files.folders.iter();
        let folders = folders.map(|folder| Folder {
            name: folder.name.clone(),
            path: folder.path.clone(),
            write: folder.write,
        });
        let files = FileAccess::new(&self.data_dir, folders.collect())
            .map_err(|bad| SettingError::of_tools("tools.files.folders", bad.to_string()))?;
        builtin::tools(BuiltinSettings {
            clock: Arc::clone(&self.clock),
            zones: self.surroundings.zones.clone(),
            files: Arc::new(files),
            catalogue: Arc::new(EngineCatalogue::of(&self.engine)),
            http: Arc::clone(&self.client),
        })
        .map_err(|bad| SettingError::of_tools("tools.builtin", bad.to_string()))
    }

    fn own(&self, settings: &Settings) -> OwnTools {
        OwnTools::new(&self.data_dir, settings, &self.surroundings, Arc::clone(&self.client))
    }
}

impl Ready<'_> {
    /// Registers the tools, and sets the hooks.
    pub(crate) fn put_in_force(mut self) {
        let Self { toolbox, made, .. } = self;
        toolbox.client.set(made.web);
        toolbox.builtin.replace(made.builtin);
        toolbox.engine.set_hooks(made.hooks);
        toolbox.define(made.own);
        *self.changing = self.settings;
    }
}

struct Made {
    web: WebSettings,
    builtin: Vec<Arc<dyn Tool>>,
    hooks: Vec<HookEntry>,
    own: Loaded,
}

#[cfg(test)]
mod tests;
