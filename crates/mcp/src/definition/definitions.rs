//! All servers that the owner defined, in `mcp.toml` and in the settings, each with where it stands; and whoever
//! connects to them is told when they change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_types::Slug;

use super::ServerDefinition;
use super::file::ServersFile;
use super::problem::{DefinitionError, DefinitionFileProblem};
use super::store::{self, ServersFileError};
use super::validation::check_name;

/// How often the file is looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Is given all servers whenever they have changed.
pub type ApplyServersFn = Arc<dyn Fn(BTreeMap<Slug, ServerDefinition>) + Send + Sync>;

/// What definitions are read from, and who is told.
pub struct ServerDefinitionsDeps {
    /// `mcp.toml` of the data folder; it need not exist.
    pub file: PathBuf,
    /// What the settings say.
    pub settings: SettingsServers,
    /// Connects to them: [`crate::upstream::Upstreams::apply`].
    pub apply: ApplyServersFn,
}

/// The servers of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsServers {
    /// By name.
    pub servers: BTreeMap<String, ServerDefinition>,
    /// The settings file, where there is one.
    pub file: Option<PathBuf>,
    /// The line at which each stands in it.
    pub lines: BTreeMap<String, usize>,
}

impl SettingsServers {
    /// Everything that is wrong with them, each with the server's name.
    #[must_use]
    pub fn validate(servers: &BTreeMap<String, ServerDefinition>) -> Vec<(String, DefinitionError)> {
        let of = |(name, definition): (&String, &ServerDefinition)| {
            let name_flaw = check_name(name).err().into_iter();
            let all = name_flaw.chain(definition.check().err().unwrap_or_default());
            all.map(|flaw| (name.clone(), flaw)).collect::<Vec<_>>()
        };
        servers.iter().flat_map(of).collect()
    }
}

/// Where a definition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionLocation {
    /// In `mcp.toml`.
    File {
        /// The file.
        path: PathBuf,
        /// The line in it, from 1.
        line: usize,
    },
    /// In the settings; with file and line where it stands in a file.
    Settings {
        /// The file.
        path: Option<PathBuf>,
        /// The line in it, from 1.
        line: Option<usize>,
    },
}

/// A server that the owner defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedServer {
    /// Its name, which is the slug of its source.
    pub slug: Slug,
    /// What is said of it.
    pub definition: ServerDefinition,
    /// Where.
    pub location: DefinitionLocation,
}

/// All servers that the owner defined.
///
/// A gateway opens them once, with [`crate::upstream::Upstreams::apply`] to be told, and spawns
/// [`Definitions::watch`]. Where the owner asks for everything to be read again it calls [`Definitions::reload`], and
/// where other settings come in force [`Definitions::set_settings`].
pub struct ServerDefinitions {
    file: PathBuf,
    apply: ApplyServersFn,
    /// Held while they change, with what the settings say.
    settings: tokio::sync::Mutex<SettingsServers>,
    /// What the file said when all in it was right.
    from_file: Mutex<ServersFile>,
    /// The file as it was when it was last read.
    file_stamp: Mutex<FileStamp>,
    servers: ArcSwap<Vec<DefinedServer>>,
    problems: ArcSwap<Vec<DefinitionFileProblem>>,
}

/// What tells one state of a file from another.
type FileStamp = Option<(Option<SystemTime>, u64)>;

impl std::fmt::Debug for ServerDefinitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerDefinitions")
            .field("file", &self.file)
            .field("listed", &self.servers)
            .finish_non_exhaustive()
    }
}

impl ServerDefinitions {
    /// Reads the file, and has all servers applied. What is wrong with the file is kept in
    /// [`Definitions::problems`]; then only those of the settings count.
    pub async fn open(parts: ServerDefinitionsDeps) -> Arc<Self> {
        let definitions = Self {
            file: parts.file,
            apply: parts.apply,
            settings: tokio::sync::Mutex::new(parts.settings),
            from_file: Mutex::default(),
            file_stamp: Mutex::default(),
            servers: ArcSwap::default(),
            problems: ArcSwap::default(),
        };
        // What is wrong is kept.
        let _ = definitions.reload().await;
        Arc::new(definitions)
    }

    /// All servers, by name.
    #[must_use]
    pub fn list(&self) -> Arc<Vec<DefinedServer>> {
        self.servers.load_full()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<DefinedServer> {
        self.servers.load().iter().find(|placed| placed.slug.as_str() == name).cloned()
    }

    /// What is wrong in the file as it is now; then what it said before stands.
    #[must_use]
    pub fn problems(&self) -> Arc<Vec<DefinitionFileProblem>> {
        self.problems.load_full()
    }

    /// The file that is written to.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the file again. Where something is wrong in it, what stood before stands.
    ///
    /// # Errors
    /// Everything that is wrong in it; also in [`Definitions::problems`] from then on.
    pub async fn reload(&self) -> Result<(), Vec<DefinitionFileProblem>> {
        let settings = self.settings.lock().await;
        self.read(&settings).await
    }

    /// Takes what other settings say.
    pub async fn set_settings(&self, settings: SettingsServers) {
        let mut held = self.settings.lock().await;
        if *held != settings {
            *held = settings;
            let _ = self.read(&held).await;
        }
    }

    /// Puts a server into the file, in the place of the one of its name.
    ///
    /// # Errors
    /// [`NotChanged`]; then nothing has changed.
    pub async fn put(&self, slug: &Slug, definition: ServerDefinition) -> Result<(), ServersFileError> {
        let settings = self.settings.lock().await;
        let slug = slug.clone();
        self.write(move |file| store::put_servers(file, &[(slug.as_str(), &definition)])).await?;
        let _ = self.read(&settings).await;
        Ok(())
    }

    /// Takes a server out of the file; whether it was there.
    ///
    /// # Errors
    /// [`NotChanged`]; then nothing has changed.
    pub async fn remove(&self, slug: &Slug) -> Result<bool, ServersFileError> {
        let settings = self.settings.lock().await;
        let slug = slug.clone();
        let was_there = self.write(move |file| store::remove_server(file, slug.as_str())).await?;
        let _ = self.read(&settings).await;
        Ok(was_there)
    }

    /// Reads the file again whenever it has changed, until told to stop.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
            if self.has_changed().await {
                tracing::info!("the file of MCP servers has changed");
                // What is wrong is kept, and logged there.
                let _ = self.reload().await;
            }
        }
    }

    async fn has_changed(&self) -> bool {
        let path = self.file.clone();
        let now = tokio::task::spawn_blocking(move || read_stamp(&path)).await;
        now.is_ok_and(|now| *self.file_stamp.lock() != now)
    }

    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Path) -> Result<T, ServersFileError> + Send + 'static,
    ) -> Result<T, ServersFileError> {
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || write(&file)).await;
        written.unwrap_or_else(|error| {
            Err(ServersFileError::Io { path: self.file.clone(), error: std::io::Error::other(error) })
        })
    }

    async fn read(&self, settings: &SettingsServers) -> Result<(), Vec<DefinitionFileProblem>> {
        let path = self.file.clone();
        let read = tokio::task::spawn_blocking(move || {
            // Before it is read: what changes meanwhile is read again.
            let seen = read_stamp(&path);
            (seen, store::read_file(&path))
        });
        let Ok((seen, read)) = read.await else { return Ok(()) };
        *self.file_stamp.lock() = seen;
        let read = read.and_then(|file| match self.duplicate_names(&file, settings) {
            problems if problems.is_empty() => Ok(file),
            problems => Err(problems),
        });
        let result = match read {
            Ok(file) => {
                *self.from_file.lock() = file;
                Ok(())
            }
            Err(problems) => {
                for problem in &problems {
                    tracing::error!("the MCP servers were not read: {problem}");
                }
                Err(problems)
            }
        };
        self.problems.store(Arc::new(result.clone().err().unwrap_or_default()));
        let all = self.merged(settings);
        let wanted = all.iter().map(|placed| (placed.slug.clone(), placed.definition.clone())).collect();
        self.servers.store(Arc::new(all));
        (self.apply)(wanted);
        result
    }

    /// Names that both the file and the settings have.
    fn duplicate_names(&self, file: &ServersFile, settings: &SettingsServers) -> Vec<DefinitionFileProblem> {
        let both = file.servers.iter().filter(|(slug, _)| settings.servers.contains_key(slug.as_str()));
        both.map(|(slug, entry)| {
            let message = format!("servers.{slug}: there is another server {slug} in the settings");
            DefinitionFileProblem::new(&self.file, entry.line, message)
                .with_hint("remove one of them, or rename it")
        })
        .collect()
    }

    fn merged(&self, settings: &SettingsServers) -> Vec<DefinedServer> {
        let of_settings = settings.servers.iter().filter_map(|(name, definition)| {
            let place = DefinitionLocation::Settings {
                path: settings.file.clone(),
                line: settings.lines.get(name).copied(),
            };
            Some(DefinedServer {
                slug: check_name(name).ok()?,
                definition: definition.clone(),
                location: place,
            })
        });
        let from_file = self.from_file.lock();
        // Where the file could not be read anew, the settings may have taken a name since.
        let of_file =
            from_file.servers.iter().filter(|(slug, _)| !settings.servers.contains_key(slug.as_str()));
        let of_file = of_file.map(|(slug, entry)| DefinedServer {
            slug: slug.clone(),
            definition: entry.definition.clone(),
            location: DefinitionLocation::File { path: self.file.clone(), line: entry.line },
        });
        let mut all: Vec<_> = of_settings.chain(of_file).collect();
        all.sort_by(|a, b| a.slug.cmp(&b.slug));
        all
    }
}

/// How a file is now.
fn read_stamp(path: &Path) -> FileStamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok(), about.len()))
}

#[cfg(test)]
mod tests;
