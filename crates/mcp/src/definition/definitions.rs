//! The owner's servers from `mcp.toml` and from the settings, each with its location, and the notification of their
//! changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use toolway_files::owner_file::{self, FileProblem, FileStamps};
use toolway_types::Slug;

use super::ServerDefinition;
use super::file::ServersFile;
use super::problem::DefinitionError;
use super::store::{self, ServersFileError};
use super::validation::check_name;

/// Interval of the checks for changes of the file.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Receives all servers after each change.
pub type ApplyServersFn = Arc<dyn Fn(BTreeMap<Slug, ServerDefinition>) + Send + Sync>;

/// The sources of the definitions, and the receiver of changes.
pub struct ServerDefinitionsDeps {
    /// `mcp.toml` in the data folder. It may be missing.
    pub file: PathBuf,
    /// The servers of the settings.
    pub settings: SettingsServers,
    /// Connects to the servers, see [`crate::upstream::UpstreamManager::apply`].
    pub apply: ApplyServersFn,
}

/// The servers of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsServers {
    /// The servers by name.
    pub servers: BTreeMap<String, ServerDefinition>,
    /// The settings file, if there is one.
    pub file: Option<PathBuf>,
    /// The line of each server in the settings file.
    pub lines: BTreeMap<String, usize>,
}

impl SettingsServers {
    /// Returns all errors in the definitions, each with the server's name.
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

/// The location of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionLocation {
    /// In `mcp.toml`.
    File {
        /// The file.
        path: PathBuf,
        /// The line in the file, from 1.
        line: usize,
    },
    /// In the settings, with file and line if it is in a file.
    Settings {
        /// The file.
        path: Option<PathBuf>,
        /// The line in the file, from 1.
        line: Option<usize>,
    },
}

/// A server with the location of its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedServer {
    /// The server's name, which is the slug of its source.
    pub slug: Slug,
    /// The definition.
    pub definition: ServerDefinition,
    /// The location of the definition.
    pub location: DefinitionLocation,
}

/// All servers that the owner has defined.
///
/// A gateway opens them once, with [`crate::upstream::UpstreamManager::apply`] as the receiver, and spawns
/// [`ServerDefinitions::watch`]. It calls [`ServerDefinitions::reload`] if the owner requests a reload, and
/// [`ServerDefinitions::set_settings`] if the settings change.
pub struct ServerDefinitions {
    file: PathBuf,
    apply: ApplyServersFn,
    /// Locked during each change.
    settings: tokio::sync::Mutex<SettingsServers>,
    /// The servers of the last valid version of the file.
    from_file: Mutex<ServersFile>,
    /// The stamp of the file at the last read.
    file_stamps: Mutex<FileStamps>,
    servers: ArcSwap<Vec<DefinedServer>>,
    problems: ArcSwap<Vec<FileProblem>>,
}

impl std::fmt::Debug for ServerDefinitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerDefinitions")
            .field("file", &self.file)
            .field("listed", &self.servers)
            .finish_non_exhaustive()
    }
}

impl ServerDefinitions {
    /// Reads the file and applies all servers. If the file is invalid, [`ServerDefinitions::problems`] has the
    /// errors, and only the servers of the settings count.
    pub async fn open(parts: ServerDefinitionsDeps) -> Arc<Self> {
        let definitions = Self {
            file: parts.file,
            apply: parts.apply,
            settings: tokio::sync::Mutex::new(parts.settings),
            from_file: Mutex::default(),
            file_stamps: Mutex::default(),
            servers: ArcSwap::default(),
            problems: ArcSwap::default(),
        };
        // `problems` has the errors.
        let _ = definitions.reload().await;
        Arc::new(definitions)
    }

    /// All servers, by name.
    #[must_use]
    pub fn list(&self) -> Arc<Vec<DefinedServer>> {
        self.servers.load_full()
    }

    /// The server of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<DefinedServer> {
        self.servers.load().iter().find(|placed| placed.slug.as_str() == name).cloned()
    }

    /// The errors in the current version of the file. While there are any, its last valid version counts.
    #[must_use]
    pub fn problems(&self) -> Arc<Vec<FileProblem>> {
        self.problems.load_full()
    }

    /// The path of `mcp.toml`.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the file again. If it is invalid, the previous servers stay.
    ///
    /// # Errors
    /// All errors in the file. [`ServerDefinitions::problems`] returns them as well.
    pub async fn reload(&self) -> Result<(), Vec<FileProblem>> {
        let settings = self.settings.lock().await;
        self.read(&settings).await
    }

    /// Replaces the servers of the settings.
    pub async fn set_settings(&self, settings: SettingsServers) {
        let mut held = self.settings.lock().await;
        if *held != settings {
            *held = settings;
            let _ = self.read(&held).await;
        }
    }

    /// Adds a server to the file, or replaces the one of the same name.
    ///
    /// # Errors
    /// [`ServersFileError`]; the file is then unchanged.
    pub async fn put(&self, slug: &Slug, definition: ServerDefinition) -> Result<(), ServersFileError> {
        let settings = self.settings.lock().await;
        let slug = slug.clone();
        self.write(move |file| store::put_servers(file, &[(slug.as_str(), &definition)])).await?;
        let _ = self.read(&settings).await;
        Ok(())
    }

    /// Removes a server from the file. Returns false if it was not there.
    ///
    /// # Errors
    /// [`ServersFileError`]; the file is then unchanged.
    pub async fn remove(&self, slug: &Slug) -> Result<bool, ServersFileError> {
        let settings = self.settings.lock().await;
        let slug = slug.clone();
        let was_there = self.write(move |file| store::remove_server(file, slug.as_str())).await?;
        let _ = self.read(&settings).await;
        Ok(was_there)
    }

    /// Reads the file again after each change, until `stop` is cancelled.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
            if self.has_changed().await {
                tracing::info!("the file of MCP servers has changed");
                // `reload` stores and logs the errors.
                let _ = self.reload().await;
            }
        }
    }

    async fn has_changed(&self) -> bool {
        let path = self.file.clone();
        let now = tokio::task::spawn_blocking(move || FileStamps::of([&path])).await;
        now.is_ok_and(|now| *self.file_stamps.lock() != now)
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

    async fn read(&self, settings: &SettingsServers) -> Result<(), Vec<FileProblem>> {
        let path = self.file.clone();
        let read = tokio::task::spawn_blocking(move || {
            owner_file::read_stamped(&path, owner_file::MAX_BYTES, ServersFile::parse)
        });
        let Ok((seen, read)) = read.await else { return Ok(()) };
        *self.file_stamps.lock() = seen;
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

    /// Returns an error for each name that both the file and the settings define.
    fn duplicate_names(&self, file: &ServersFile, settings: &SettingsServers) -> Vec<FileProblem> {
        let both = file.servers.iter().filter(|(slug, _)| settings.servers.contains_key(slug.as_str()));
        both.map(|(slug, entry)| {
            let message = format!("servers.{slug}: there is another server {slug} in the settings");
            FileProblem::new(&self.file, entry.line, message).with_hint("remove one of them, or rename it")
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
        // If the file could not be read again, the settings may define one of its names by now.
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

#[cfg(test)]
mod tests;
