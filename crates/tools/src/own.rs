//! Tools defined by the owner (ids `own/…`) in TOML files: every `*.toml` of one folder, which `toolway tools
//! add` and `remove` manage, and files listed in the settings. Definitions cannot be created over a network,
//! so only a file on this computer decides what it runs.
//!
//! A file contains `[[tool]]` entries. `kind = "command"`, the default, has the format of `toolway device
//! --tools` (see [`toolway_command`]); `kind = "http"` is one HTTP request. An invalid entry does not affect
//! the others: [`LoadedDefinitions`] lists the valid and the refused ones.

mod command;
mod file;
mod folder;
mod http;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolway_core::Tool;
use toolway_secrets::{SecretError, SecretReader};

use crate::web::GuardedClient;

pub use folder::{RemoveDefinitionError, WriteDefinitionError, check, remove, write_definition};

/// Folder and files with definitions.
#[derive(Debug, Clone, Default)]
pub struct DefinitionSources {
    /// Folder whose `*.toml` files are read, in order of their names. It need not exist.
    pub folder: PathBuf,
    /// Folder in which the commands of these definitions run, and where their relative `cwd`s start. It is a
    /// different folder, so that a command that writes a file cannot define a tool.
    pub working_dir: PathBuf,
    /// Absolute paths of further files, in order. Their commands run in the file's own folder.
    pub files: Vec<PathBuf>,
}

impl DefinitionSources {
    /// Paths of all definition files: those in the folder, if it can be read, then the others. Reads the
    /// folder, so it may block.
    #[must_use]
    pub fn definition_files(&self) -> Vec<PathBuf> {
        let mut files = folder::definition_files(&self.folder).unwrap_or_default();
        files.extend_from_slice(&self.files);
        files
    }
}

/// Dependencies of tools defined by the owner.
pub struct OwnToolDeps {
    /// Environment from which definitions pass variables, and whose `PATH` is used to find programs.
    pub environment: HashMap<OsString, OsString>,
    /// Names of the built-in tools, which no other tool may have.
    pub builtins: Vec<String>,
    /// Client for tools of kind `http`.
    pub client: Arc<GuardedClient>,
    /// Secrets for tools of kind `http`.
    pub secrets: Arc<dyn SecretReader>,
}

impl fmt::Debug for OwnToolDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnToolDeps").field("builtins", &self.builtins).finish_non_exhaustive()
    }
}

/// A tool and the position of its definition.
#[derive(Clone)]
pub struct OwnTool {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Kind of the definition.
    pub kind: &'static str,
    /// File with the definition.
    pub file: PathBuf,
    /// Line number in the file, from 1.
    pub line: usize,
}

impl OwnTool {
    /// Name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tool.spec().name().as_str()
    }
}

impl fmt::Debug for OwnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, file, line, .. } = self;
        f.debug_struct("OwnTool")
            .field("name", &self.name())
            .field("kind", kind)
            .field("file", file)
            .field("line", line)
            .finish_non_exhaustive()
    }
}

/// A refused definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {}{reason}", file.display(), tool_named(name.as_deref()))]
pub struct RefusedDefinition {
    /// File with the definition.
    pub file: PathBuf,
    /// Line number in the file, from 1; 1 if the whole file is refused.
    pub line: usize,
    /// Name of the tool, if it can be read.
    pub name: Option<String>,
    /// Reason for the refusal.
    pub reason: OwnToolError,
}

/// Reason why a definition is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnToolError {
    /// A header uses a secret that does not exist.
    #[error("headers: {header}: {}", SecretError::Unknown(secret.clone()))]
    UnknownSecret {
        /// Name of the header.
        header: String,
        /// Name of the secret.
        secret: String,
    },
    /// The definition is invalid, or its file can't be read.
    #[error("{0}")]
    Invalid(String),
}

impl From<String> for OwnToolError {
    fn from(message: String) -> Self {
        Self::Invalid(message)
    }
}

impl From<&str> for OwnToolError {
    fn from(message: &str) -> Self {
        Self::Invalid(message.to_owned())
    }
}

fn tool_named(name: Option<&str>) -> String {
    name.map(|name| format!("tool {name:?}: ")).unwrap_or_default()
}

/// Result of reading all definitions.
#[derive(Debug, Clone, Default)]
pub struct LoadedDefinitions {
    /// Valid tools, in the order in which they were read.
    pub tools: Vec<OwnTool>,
    /// Refused definitions, in the same order.
    pub refused: Vec<RefusedDefinition>,
}

impl LoadedDefinitions {
    /// Finds a tool by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OwnTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}

/// Reads all definitions. Reads files and searches for programs, so it blocks for some milliseconds.
#[must_use]
pub fn load(sources: &DefinitionSources, kit: &OwnToolDeps) -> LoadedDefinitions {
    let mut loaded = LoadedDefinitions::default();
    match folder::definition_files(&sources.folder) {
        Ok(files) => {
            for path in files {
                file::read_into(&mut loaded, &path, &sources.working_dir, kit);
            }
        }
        Err(error) => loaded.refused.push(RefusedDefinition {
            file: sources.folder.clone(),
            line: 1,
            name: None,
            reason: format!("the folder can't be read: {error}").into(),
        }),
    }
    for path in &sources.files {
        let folder = path.parent().unwrap_or(path);
        file::read_into(&mut loaded, path, folder, kit);
    }
    loaded
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
