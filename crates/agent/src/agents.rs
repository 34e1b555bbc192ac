//! The catalog of agents: `default`, those of the database, and those of files in the folder `agents`. Agents
//! are validated before use, and the engine gets the tools that each may use.

mod error;
mod file;
mod validation;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use toolway_core::policy::definition::ApprovalMode;
use toolway_core::{AgentScope, AgentScopes, Engine};
use toolway_store::{AgentRecord, Store, StoreError};
use toolway_types::{Clock, RawJson};

use crate::definition::AgentDefinition;
use crate::models::{ModelCatalog, ModelLookupError};
use crate::name_suggestions;
use file::AgentFile;
use toolway_files::owner_file::{FileProblem, FileStamps};

pub use error::{AgentError, AgentProblem, NoSuchAgent};
pub use file::check;

/// Name of the built-in agent.
pub const DEFAULT_AGENT: &str = "default";
/// The default prompt.
const DEFAULT_PROMPT: &str = "You are a helpful assistant. Your tools run on the devices, apps and servers of the \
     person you talk to. Use them where they help, and say plainly when one of them failed. Never say that something \
     was done unless a tool confirmed it.";
/// Tool with which a model finds the tools that are not in its request.
pub(crate) const FIND_TOOLS: &str = "builtin/find_tools";
/// Maximum number of agents.
const MAX_AGENTS: usize = 1000;

/// Checks the name of a time zone. Returns a description of the problem. It may read files.
pub type TimeZoneCheck = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Dependencies of the catalog.
pub struct AgentCatalogDeps {
    /// Engine that enforces the tools of each agent.
    pub engine: Arc<Engine>,
    /// Store of agents that are created over the network.
    pub store: Store,
    /// Folder whose `*.toml` files are agents; it may be missing.
    pub folder: PathBuf,
    /// Models that agents may use.
    pub models: Arc<ModelCatalog>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Known time zones.
    pub time_zones: TimeZoneCheck,
}

/// Origin of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrigin {
    /// The built-in agent `default`.
    BuiltIn,
    /// The agent is in the database.
    Database,
    /// The agent is in a file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line in the file, from 1.
        line: usize,
    },
}

/// An agent with its origin and problems.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentView {
    /// Definition of the agent.
    pub definition: Arc<AgentDefinition>,
    /// Origin of the agent.
    pub origin: AgentOrigin,
    /// Problems of an agent that is still in use, for example a missing model or a file that has become unreadable.
    pub problems: Vec<String>,
}

/// A validated agent.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Definition of the agent.
    pub(crate) definition: AgentDefinition,
    /// Tools that match its patterns.
    pub(crate) scope: AgentScope,
    /// Patterns that match a single tool, in order.
    pub(crate) named_tools: Vec<String>,
}

#[derive(Debug, Clone)]
struct AgentEntry {
    agent: Arc<Agent>,
    origin: AgentOrigin,
    /// Reason why the current version of its file is not used.
    stale_reason: Option<String>,
}

/// The catalog of agents.
pub struct AgentCatalog {
    deps: AgentCatalogDeps,
    /// Serializes changes of agents.
    change_lock: tokio::sync::Mutex<()>,
    /// State of the files at the last read.
    last_read: Mutex<FileStamps>,
    entries: ArcSwap<BTreeMap<String, AgentEntry>>,
    problems: ArcSwap<Vec<FileProblem>>,
}

impl std::fmt::Debug for AgentCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.entries.load().keys().cloned().collect();
        f.debug_struct("AgentCatalog").field("names", &names).finish_non_exhaustive()
    }
}

impl AgentCatalog {
    /// Loads the agents and passes their tools to the engine. Problems of files and stored agents are in
    /// [`AgentCatalog::problems`].
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn open(parts: AgentCatalogDeps) -> Result<Arc<Self>, StoreError> {
        let agents = Self {
            deps: parts,
            change_lock: tokio::sync::Mutex::new(()),
            last_read: Mutex::default(),
            entries: ArcSwap::default(),
            problems: ArcSwap::default(),
        };
        agents.reload().await?;
        Ok(Arc::new(agents))
    }

    /// Lists all agents by name.
    #[must_use]
    pub fn list(&self) -> Vec<AgentView> {
        self.entries.load().values().map(|standing| self.view_of(standing)).collect()
    }

    /// Returns an agent with its origin.
    ///
    /// # Errors
    /// [`NoSuchAgent`] if it does not exist.
    pub fn view(&self, name: &str) -> Result<AgentView, NoSuchAgent> {
        let standing = self.entries.load();
        let found = standing.get(name).ok_or_else(|| no_such_agent(name, &standing))?;
        Ok(self.view_of(found))
    }

    /// Returns an agent's definition.
    ///
    /// # Errors
    /// [`NoSuchAgent`] if it does not exist.
    pub fn get(&self, name: &str) -> Result<AgentDefinition, NoSuchAgent> {
        self.agent(name).map(|agent| agent.definition.clone())
    }

    pub(crate) fn agent(&self, name: &str) -> Result<Arc<Agent>, NoSuchAgent> {
        let standing = self.entries.load();
        let found = standing.get(name).ok_or_else(|| no_such_agent(name, &standing))?;
        Ok(Arc::clone(&found.agent))
    }

    /// Creates or replaces an agent in the database. Returns true if it is new.
    ///
    /// # Errors
    /// [`AgentError`] if the definition is invalid or can't be stored.
    pub async fn put(&self, definition: AgentDefinition) -> Result<bool, AgentError> {
        let agent = Agent::new(definition).map_err(AgentError::Invalid)?;
        self.check_time_zone(&agent).await?;
        let name = agent.definition.name.clone();
        let _changing = self.change_lock.lock().await;
        self.check_not_in_file(&name)?;
        let standing = self.entries.load();
        if standing.len() >= MAX_AGENTS && !standing.contains_key(&name) {
            return Err(AgentError::TooMany(MAX_AGENTS));
        }
        let body = RawJson::from_value(&agent.definition).unwrap_or_default();
        self.deps.store.agents().put(&name, &body, self.deps.clock.now_ms()).await?;
        let mut next = standing.as_ref().clone();
        let placed = AgentEntry { agent: Arc::new(agent), origin: AgentOrigin::Database, stale_reason: None };
        let is_new = next.insert(name, placed).is_none();
        self.activate(next);
        Ok(is_new)
    }

    /// Removes an agent from the database. Tokens that are bound to it can't use anything after that.
    ///
    /// # Errors
    /// [`AgentError`] if it can't be removed.
    pub async fn remove(&self, name: &str) -> Result<(), AgentError> {
        let changing = self.change_lock.lock().await;
        self.check_not_in_file(name)?;
        if name == DEFAULT_AGENT {
            return Err(AgentError::CannotRemoveDefault);
        }
        let standing = self.entries.load();
        if !self.deps.store.agents().remove(name).await? && !standing.contains_key(name) {
            return Err(no_such_agent(name, &standing).into());
        }
        let mut next = standing.as_ref().clone();
        next.remove(name);
        self.activate(next);
        drop(changing);
        // A file with its name, which was hidden by it, is used now.
        Ok(self.reload().await?)
    }

    /// Loads files and database again. Problems are in [`AgentCatalog::problems`]; the previous version of an
    /// agent with problems stays in use.
    ///
    /// # Errors
    /// Fails if the store can't be read. Then nothing has changed.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _changing = self.change_lock.lock().await;
        let stored = self.deps.store.agents().list().await?;
        let (folder, time_zones) = (self.deps.folder.clone(), Arc::clone(&self.deps.time_zones));
        let read = tokio::task::spawn_blocking(move || {
            let files = file::files(&folder);
            // Taken before the files are read, so that a change in the meantime is noticed.
            let seen = FileStamps::of(files.iter().flatten());
            (
                seen,
                files
                    .map(|files| files.iter().map(|path| file::read(path, &*time_zones)).collect::<Vec<_>>()),
            )
        });
        let Ok((seen, files)) = read.await else { return Ok(()) };
        *self.last_read.lock() = seen;
        let mut next = BTreeMap::from([(DEFAULT_AGENT.to_owned(), built_in())]);
        let mut problems = Vec::new();
        for record in stored {
            match entry_from_record(&record) {
                Ok(standing) => drop(next.insert(record.name, standing)),
                Err(why) => problems.push(FileProblem::new(
                    self.deps.store.path(),
                    1,
                    format!("the stored agent {:?} can't be used: {why}", record.name),
                )),
            }
        }
        match files {
            Ok(files) => files.into_iter().for_each(|file| self.apply_file(file, &mut next, &mut problems)),
            Err(problem) => {
                problems.push(problem);
                self.retain_file_agents(&mut next);
            }
        }
        for problem in &problems {
            tracing::error!("an agent is not used: {problem}");
        }
        self.problems.store(Arc::new(problems));
        self.activate(next);
        Ok(())
    }

    /// Returns whether a file has changed since the last read. It looks at files, so it is not free.
    pub async fn has_changed(&self) -> bool {
        let folder = self.deps.folder.clone();
        let now =
            tokio::task::spawn_blocking(move || FileStamps::of(file::files(&folder).into_iter().flatten()))
                .await;
        now.is_ok_and(|now| *self.last_read.lock() != now)
    }

    /// Returns the agents that are not in use, with the reasons.
    #[must_use]
    pub fn problems(&self) -> Vec<FileProblem> {
        self.problems.load().as_ref().clone()
    }

    /// Uses the content of a file. If it is invalid, the previous content stays in use.
    fn apply_file(
        &self,
        file: Result<AgentFile, file::InvalidAgentFile>,
        next: &mut BTreeMap<String, AgentEntry>,
        problems: &mut Vec<FileProblem>,
    ) {
        let (name, path) = match &file {
            Ok(file) => (&file.agent.definition.name, &file.path),
            Err(bad) => (&bad.name, &bad.path),
        };
        let refusal = match next.get(name).map(|standing| &standing.origin) {
            Some(AgentOrigin::Database) => {
                Some("the database has an agent of this name, which takes precedence".to_owned())
            }
            // Two files of one folder can have the same name only on file systems that treat upper and lower
            // case differently.
            Some(AgentOrigin::File { path, .. }) => Some(format!("{} has this name too", path.display())),
            Some(AgentOrigin::BuiltIn) | None if !next.contains_key(name) && next.len() >= MAX_AGENTS => {
                Some(format!("there are already {MAX_AGENTS} agents, the maximum"))
            }
            Some(AgentOrigin::BuiltIn) | None => None,
        };
        if let Some(refusal) = refusal {
            let problem = FileProblem::new(path, 1, refusal);
            problems.push(problem.with_hint(format!("remove the file, or the other agent {name:?}")));
            return;
        }
        match file {
            Ok(AgentFile { agent, path, line }) => {
                let origin = AgentOrigin::File { path, line };
                let name = agent.definition.name.clone();
                next.insert(name, AgentEntry { agent: Arc::new(agent), origin, stale_reason: None });
            }
            Err(bad) => {
                let before = self.entries.load();
                if let Some(standing) = before.get(&bad.name).filter(|it| it.is_from_file(&bad.path)) {
                    let outdated = bad.problems.first().map(|problem| {
                        format!("the file can't be used, so the previous version stays: {problem}")
                    });
                    next.insert(bad.name, AgentEntry { stale_reason: outdated, ..standing.clone() });
                }
                problems.extend(bad.problems);
            }
        }
    }

    /// Keeps the previous agents of the folder if the folder can't be read.
    fn retain_file_agents(&self, next: &mut BTreeMap<String, AgentEntry>) {
        for (name, standing) in self.entries.load().iter() {
            let is_free = next.get(name).is_none_or(|it| it.origin == AgentOrigin::BuiltIn);
            if is_free && matches!(standing.origin, AgentOrigin::File { .. }) {
                next.insert(name.clone(), standing.clone());
            }
        }
    }

    async fn check_time_zone(&self, agent: &Agent) -> Result<(), AgentError> {
        let Some(name) = agent.definition.time_zone.clone() else { return Ok(()) };
        let check = Arc::clone(&self.deps.time_zones);
        let checked = tokio::task::spawn_blocking(move || check(&name)).await;
        checked.unwrap_or_else(|error| Err(error.to_string())).map_err(|problem| {
            AgentError::Invalid(vec![AgentProblem { field: "time_zone".to_owned(), problem }])
        })
    }

    fn check_not_in_file(&self, name: &str) -> Result<(), AgentError> {
        match self.entries.load().get(name).map(|standing| &standing.origin) {
            Some(AgentOrigin::File { path, line }) => {
                Err(AgentError::InFile { name: name.to_owned(), path: path.clone(), line: *line })
            }
            _ => Ok(()),
        }
    }

    /// Replaces the current agents.
    fn activate(&self, next: BTreeMap<String, AgentEntry>) {
        let scopes =
            next.iter().map(|(name, standing)| (Arc::from(name.as_str()), standing.agent.effective_scope()));
        self.deps.engine.set_agent_scopes(scopes.collect::<AgentScopes>());
        self.entries.store(Arc::new(next));
    }

    fn view_of(&self, standing: &AgentEntry) -> AgentView {
        let definition = Arc::new(standing.agent.definition.clone());
        let mut problems: Vec<String> = standing.stale_reason.iter().cloned().collect();
        match self.deps.models.get(definition.model.as_deref()) {
            Ok(_) => {}
            Err(ModelLookupError::NoneConfigured) if definition.model.is_none() => {}
            Err(no_model) => problems.push(no_model.to_string()),
        }
        AgentView { definition, origin: standing.origin.clone(), problems }
    }
}

impl AgentEntry {
    fn is_from_file(&self, file: &std::path::Path) -> bool {
        matches!(&self.origin, AgentOrigin::File { path, .. } if path == file)
    }
}

impl Agent {
    /// Validates a definition.
    ///
    /// # Errors
    /// All problems of the definition.
    pub(crate) fn new(definition: AgentDefinition) -> Result<Self, Vec<AgentProblem>> {
        let scope = validation::check(&definition)?;
        let is_one = |pattern: &&String| !pattern.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
        let named = definition.tools.iter().filter(is_one).cloned().collect();
        Ok(Self { definition, scope, named_tools: named })
    }

    /// Returns the tools that the engine allows for the agent: those of its definition, and the tool that
    /// finds more of them. The scope also has the agent's time zone.
    fn effective_scope(&self) -> AgentScope {
        self.scope_with_search().with_time_zone(self.definition.time_zone.as_deref().map(Arc::from))
    }

    fn scope_with_search(&self) -> AgentScope {
        let tools = &self.definition.tools;
        if tools.is_empty() || tools.iter().any(|it| it.strip_prefix('!') == Some(FIND_TOOLS)) {
            return self.scope.clone();
        }
        let approval = self.definition.approval.unwrap_or(ApprovalMode::Never);
        let patterns = tools.iter().map(String::as_str).chain([FIND_TOOLS]);
        // The patterns were compiled before.
        AgentScope::new(patterns, approval).unwrap_or_else(|_| self.scope.clone())
    }
}

fn no_such_agent(name: &str, standing: &BTreeMap<String, AgentEntry>) -> NoSuchAgent {
    NoSuchAgent {
        name: name.to_owned(),
        close: name_suggestions::close_names(name, standing.keys().map(String::as_str)),
    }
}

fn built_in() -> AgentEntry {
    let definition = AgentDefinition {
        name: DEFAULT_AGENT.to_owned(),
        description: "Answers with whatever tools the person may use.".to_owned(),
        prompt: DEFAULT_PROMPT.to_owned(),
        ..AgentDefinition::default()
    };
    let agent = Agent { definition, scope: AgentScope::all_tools(), named_tools: Vec::new() };
    AgentEntry { agent: Arc::new(agent), origin: AgentOrigin::BuiltIn, stale_reason: None }
}

/// Reads a stored agent.
///
/// # Errors
/// The reason why it is invalid.
fn entry_from_record(record: &AgentRecord) -> Result<AgentEntry, String> {
    let definition: AgentDefinition = record.body.to().map_err(|error| error.to_string())?;
    if definition.name != record.name {
        return Err(format!("its body has the name {:?}", definition.name));
    }
    let agent = Agent::new(definition).map_err(|problems| error::join_problems(&problems))?;
    Ok(AgentEntry { agent: Arc::new(agent), origin: AgentOrigin::Database, stale_reason: None })
}

#[cfg(test)]
mod tests;
