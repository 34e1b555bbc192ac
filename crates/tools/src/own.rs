//! Tools that the owner defines (ids `own/…`), in TOML files: every `*.toml` of one folder, which `toolway
//! tools add` and `remove` keep, and files that the settings list. Nothing is defined over a network: what a
//! definition makes this computer run stands in a file on it.
//!
//! A file holds `[[tool]]` entries. `kind = "command"`, the default, is what `toolway device --tools` reads
//! (see [`toolway_command`]); `kind = "http"` is one HTTP request. Each entry stands or falls by itself:
//! [`Loaded`] says which did and why.

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

use crate::secrets::SecretProvider;
use crate::web::GuardedClient;

pub use folder::{RemoveDefinitionError, WriteDefinitionError, check, remove, write_definition};

/// Where definitions are read from.
#[derive(Debug, Clone, Default)]
pub struct DefinitionSources {
    /// The folder whose `*.toml` files are read, in the order of their names; it need not exist.
    pub folder: PathBuf,
    /// Where commands of that folder run, and where their relative `cwd`s start. Not the folder
    /// itself: a command that writes a file must not thereby define a tool.
    pub working_dir: PathBuf,
    /// Further files by their absolute paths, in this order. Their commands run in the file's own folder.
    pub files: Vec<PathBuf>,
}

impl DefinitionSources {
    /// All files of definitions that are there to be read: those of the folder, where that can be read, then the
    /// others. Reads the folder, so it may block.
    #[must_use]
    pub fn definition_files(&self) -> Vec<PathBuf> {
        let mut files = folder::definition_files(&self.folder).unwrap_or_default();
        files.extend_from_slice(&self.files);
        files
    }
}

/// What tools are made with.
pub struct OwnToolDeps {
    /// The environment from which definitions pass variables through, and whose `PATH` finds programs.
    pub environment: HashMap<OsString, OsString>,
    /// The names of the tools that come with Toolway, which no other may have.
    pub builtins: Vec<String>,
    /// Sends the requests of tools of kind `http`.
    pub client: Arc<GuardedClient>,
    /// The secrets that they name.
    pub secrets: Arc<dyn SecretProvider>,
}

impl fmt::Debug for OwnToolDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnToolDeps").field("builtins", &self.builtins).finish_non_exhaustive()
    }
}

/// A tool and where it is defined.
#[derive(Clone)]
pub struct OwnTool {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Its kind, as the definition says it.
    pub kind: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1.
    pub line: usize,
}

impl OwnTool {
    /// Its name.
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

/// A definition that can't stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {}{reason}", file.display(), tool_named(name.as_deref()))]
pub struct RefusedDefinition {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1; 1 where it is the whole file.
    pub line: usize,
    /// The tool's name, where one can be read.
    pub name: Option<String>,
    /// What is wrong.
    pub reason: String,
}

fn tool_named(name: Option<&str>) -> String {
    name.map(|name| format!("tool {name:?}: ")).unwrap_or_default()
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct LoadedDefinitions {
    /// The tools, in the order in which they were read.
    pub tools: Vec<OwnTool>,
    /// What can't stand, in the same order.
    pub refused: Vec<RefusedDefinition>,
}

impl LoadedDefinitions {
    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OwnTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }
}

/// Reads all definitions. Reads files and looks for programs, so it blocks for some milliseconds.
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
            reason: format!("the folder can't be read: {error}"),
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
