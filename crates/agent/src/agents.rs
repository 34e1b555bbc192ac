//! The agents that there are: `default`, those of the database, and those of files in the folder `agents`. All are
//! checked before they count, and the engine is told what tools each may use.

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
use crate::files::{FileProblem, FileStamps, file_stamps};
use crate::models::{ModelCatalog, ModelLookupError};
use crate::name_suggestions;
use file::AgentFile;

pub use error::{AgentError, AgentProblem, NoSuchAgent};
pub use file::check;

/// The agent that is there from the start.
pub const DEFAULT_AGENT: &str = "default";
/// The default prompt.
const DEFAULT_PROMPT: &str = "You are a helpful assistant. Your tools run on the devices, apps and servers of the \
     person you talk to. Use them where they help, and say plainly when one of them failed. Never say that something \
     was done unless a tool confirmed it.";
/// The tool with which a model finds the tools that it was not told of.
pub(crate) const FIND_TOOLS: &str = "builtin/find_tools";
/// Most agents.
const MAX_AGENTS: usize = 1000;

/// Dependencies of the catalog.
pub struct AgentCatalogDeps {
    /// Is told what tools each agent may use.
    pub engine: Arc<Engine>,
    /// Keeps those that are made over the network.
    pub store: Store,
    /// The folder whose `*.toml` files are agents; it need not exist.
    pub folder: PathBuf,
    /// The models that they may name.
    pub models: Arc<ModelCatalog>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
}

/// Origin of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrigin {
    /// Nowhere: it is `default`, as it comes.
    BuiltIn,
    /// In the database.
    Database,
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line in it, from 1.
        line: usize,
    },
}

/// An agent with where it stands and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentView {
    /// Definition of the agent.
    pub definition: Arc<AgentDefinition>,
    /// Origin of the agent.
    pub origin: AgentOrigin,
    /// Problems of an agent that is still in use, for example a missing model or a file that has become unreadable.
    pub problems: Vec<String>,
}

/// An agent, with what was made of it.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Definition of the agent.
    pub(crate) definition: AgentDefinition,
    /// The tools that its patterns name, as they were written.
    pub(crate) scope: AgentScope,
    /// Those of its patterns that stand for one tool, in their order.
    pub(crate) named_tools: Vec<String>,
}

#[derive(Debug, Clone)]
struct AgentEntry {
    agent: Arc<Agent>,
    origin: AgentOrigin,
    /// Why it is not what its file says now.
    stale_reason: Option<String>,
}

/// The agents that there are.
pub struct AgentCatalog {
    deps: AgentCatalogDeps,
    /// Held while agents change, so that changes come one after the other.
    change_lock: tokio::sync::Mutex<()>,
    /// The files as they were when they were last read.
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
    /// Reads the agents and tells the engine of them. What is wrong with a file or a stored agent is kept in
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

    /// All agents, by name.
    #[must_use]
    pub fn list(&self) -> Vec<AgentView> {
        self.entries.load().values().map(|standing| self.view_of(standing)).collect()
    }

    /// One agent with where it stands.
    ///
    /// # Errors
    /// [`NoSuchAgent`].
    pub fn view(&self, name: &str) -> Result<AgentView, NoSuchAgent> {
        let standing = self.entries.load();
        let found = standing.get(name).ok_or_else(|| no_such_agent(name, &standing))?;
        Ok(self.view_of(found))
    }

    /// Returns an agent's definition.
    ///
    /// # Errors
    /// [`NoSuchAgent`].
    pub fn get(&self, name: &str) -> Result<AgentDefinition, NoSuchAgent> {
        self.agent(name).map(|agent| agent.definition.clone())
    }

    pub(crate) fn agent(&self, name: &str) -> Result<Arc<Agent>, NoSuchAgent> {
        let standing = self.entries.load();
        let found = standing.get(name).ok_or_else(|| no_such_agent(name, &standing))?;
        Ok(Arc::clone(&found.agent))
    }

    /// Makes an agent in the database, or changes what one there is. Answers whether it is new.
    ///
    /// # Errors
    /// [`AgentError`].
    pub async fn put(&self, definition: AgentDefinition) -> Result<bool, AgentError> {
        let agent = Agent::new(definition).map_err(AgentError::Invalid)?;
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

    /// Removes an agent from the database. Whatever is bound to it may use nothing from then on.
    ///
    /// # Errors
    /// [`AgentError`].
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
        // A file of its name that could not stand beside it does now.
        Ok(self.reload().await?)
    }

    /// Reads files and database again. What can't be read is in [`AgentCatalog::problems`]; what stood before stands.
    ///
    /// # Errors
    /// Fails if the store can't be read. Then nothing has changed.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _changing = self.change_lock.lock().await;
        let stored = self.deps.store.agents().list().await?;
        let folder = self.deps.folder.clone();
        let read = tokio::task::spawn_blocking(move || {
            let files = file::files(&folder);
            // Before they are read: what changes meanwhile is read again.
            let seen = file_stamps(files.iter().flatten().cloned());
            (seen, files.map(|files| files.iter().map(|path| file::read(path)).collect::<Vec<_>>()))
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

    /// Reports whether a file has changed since the last read. It looks at files, so it is not free.
    pub async fn has_changed(&self) -> bool {
        let folder = self.deps.folder.clone();
        let now =
            tokio::task::spawn_blocking(move || file_stamps(file::files(&folder).into_iter().flatten()))
                .await;
        now.is_ok_and(|now| *self.last_read.lock() != now)
    }

    /// The agents that are not in use, and the reasons.
    #[must_use]
    pub fn problems(&self) -> Vec<FileProblem> {
        self.problems.load().as_ref().clone()
    }

    /// Takes what a file says; where it can't stand, what it said before stands.
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
            // No two files of one folder have one name, but on file systems that tell a from A, and those that don't.
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

    fn check_not_in_file(&self, name: &str) -> Result<(), AgentError> {
        match self.entries.load().get(name).map(|standing| &standing.origin) {
            Some(AgentOrigin::File { path, line }) => {
                Err(AgentError::InFile { name: name.to_owned(), path: path.clone(), line: *line })
            }
            _ => Ok(()),
        }
    }

    /// From now on these are the agents.
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
    /// Checks a definition.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn new(definition: AgentDefinition) -> Result<Self, Vec<AgentProblem>> {
        let scope = validation::check(&definition)?;
        let is_one = |pattern: &&String| !pattern.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
        let named = definition.tools.iter().filter(is_one).cloned().collect();
        Ok(Self { definition, scope, named_tools: named })
    }

    /// Tools that the engine lets the agent use: those of its definition, and the tool that finds more of them.
    fn effective_scope(&self) -> AgentScope {
        let tools = &self.definition.tools;
        if tools.is_empty() || tools.iter().any(|it| it.strip_prefix('!') == Some(FIND_TOOLS)) {
            return self.scope.clone();
        }
        let approval = self.definition.approval.unwrap_or(ApprovalMode::Never);
        let patterns = tools.iter().map(String::as_str).chain([FIND_TOOLS]);
        // They were compiled before.
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

/// A stored agent.
///
/// # Errors
/// Why it can't be used, in words.
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
