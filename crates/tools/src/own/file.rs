//! Reads one definition file, and separates valid from invalid definitions.

use std::path::Path;
use std::sync::Arc;

use toolway_command::{CommandDefinition, CommandEnv, DefinitionEntry, DefinitionFile, DefinitionFileError};
use toolway_core::Tool;
use toolway_files::owner_file;

use super::http::HttpDefinition;
use super::{LoadedDefinitions, OwnTool, OwnToolDeps, OwnToolError, RefusedDefinition, command};
use crate::naming::check_own_name;

/// Kinds of tools.
const KINDS: &[&str] = &["command", "http"];

/// Reads the definitions of a file and adds them to the loaded ones. Commands run in `working_dir`.
pub(super) fn read_into(loaded: &mut LoadedDefinitions, path: &Path, working_dir: &Path, kit: &OwnToolDeps) {
    match text(path) {
        Ok(text) => parse_into(loaded, &text, path, working_dir, kit),
        Err(reason) => {
            loaded.refused.push(RefusedDefinition {
                file: path.to_owned(),
                line: 1,
                name: None,
                reason: reason.into(),
            });
        }
    }
}

/// Reads the text of a definition file.
///
/// # Errors
/// A description of the problem.
pub(super) fn text(path: &Path) -> Result<String, String> {
    match owner_file::read_text(path, owner_file::MAX_BYTES) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err("the file can't be read: file not found".to_owned()),
        Err(problem) => Err(problem.message),
    }
}

/// Parses definitions from text that is, or will be, in a file, and adds them to the loaded ones.
pub(super) fn parse_into(
    loaded: &mut LoadedDefinitions,
    text: &str,
    path: &Path,
    working_dir: &Path,
    kit: &OwnToolDeps,
) {
    let refused = |name: Option<String>, error: EntryError| RefusedDefinition {
        file: path.to_owned(),
        line: error.line,
        name,
        reason: error.reason,
    };
    let file = match DefinitionFile::parse(text) {
        Ok(file) => file,
        Err(error) => return loaded.refused.push(refused(None, error.into())),
    };
    let env = CommandEnv { environment: kit.environment.clone(), base_dir: working_dir.to_owned() };
    loaded.refused.extend(file.unknown.into_iter().map(|error| refused(None, error.into())));
    for entry in file.entries {
        let name = entry.name().map(str::to_owned);
        let line = entry.position().line;
        match tool(entry, loaded, &env, kit) {
            Ok((kind, tool)) => {
                loaded.tools.push(OwnTool { tool, kind, file: path.to_owned(), line });
            }
            Err(error) => loaded.refused.push(refused(name, error)),
        }
    }
}

/// An invalid entry and its line.
struct EntryError {
    line: usize,
    reason: OwnToolError,
}

impl From<DefinitionFileError> for EntryError {
    fn from(error: DefinitionFileError) -> Self {
        Self { line: error.line, reason: error.message.into() }
    }
}

fn tool(
    entry: DefinitionEntry<'_>,
    loaded: &LoadedDefinitions,
    env: &CommandEnv,
    kit: &OwnToolDeps,
) -> Result<(&'static str, Arc<dyn Tool>), EntryError> {
    let line = entry.position().line;
    let wrong = |message: String| EntryError { line, reason: message.into() };
    let kind = entry.kind(KINDS)?;
    if let Some(name) = entry.name() {
        check_own_name(name).map_err(|bad| wrong(bad.to_string()))?;
        check_name_unused(name, loaded, kit).map_err(wrong)?;
    }
    let tool = match kind {
        "http" => {
            let (described, definition) = entry.read::<HttpDefinition>()?;
            let spec = described.spec().map_err(|problem| wrong(problem.to_string()))?;
            let tool = definition.into_tool(spec, Arc::clone(&kit.client), Arc::clone(&kit.secrets));
            tool.map_err(|reason| EntryError { line, reason })?
        }
        _ => {
            let (described, definition) = entry.read::<CommandDefinition>()?;
            command::tool(described, definition, env).map_err(wrong)?
        }
    };
    Ok((kind, tool))
}

/// Checks that no other tool has the name.
fn check_name_unused(name: &str, loaded: &LoadedDefinitions, kit: &OwnToolDeps) -> Result<(), String> {
    if kit.builtins.iter().any(|builtin| builtin == name) {
        return Err(format!("builtin/{name}, which comes with Toolway, has this name"));
    }
    match loaded.get(name) {
        None => Ok(()),
        Some(other) => {
            Err(format!("this name is already used in {} line {}", other.file.display(), other.line))
        }
    }
}
