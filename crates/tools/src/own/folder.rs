//! Writes and removes definitions in the folder. Each definition gets its own private file, which is written
//! atomically.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toolway_command::DefinitionFile;
use toolway_files::private_file;

use super::{DefinitionSources, LoadedDefinitions, OwnTool, OwnToolDeps, RefusedDefinition, file, load};

/// Reason why a definition was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteDefinitionError {
    /// The text does not contain exactly one tool.
    #[error("the text defines {0} tools; it must define exactly one [[tool]]")]
    NotSingleTool(usize),
    /// The definition is invalid. The line number refers to the text.
    #[error("line {}: {}", .0.line, .0.reason)]
    Refused(RefusedDefinition),
    /// The file exists.
    #[error("{} already exists; remove it first", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("{} can't be written: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        error: io::Error,
    },
}

/// Reason why a definition was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveDefinitionError {
    /// The definition does not exist.
    #[error("there is no tool own/{0}")]
    Unknown(String),
    /// The definition is in a file that must be edited by hand.
    #[error("own/{name} is defined in {} line {line}, {why}", file.display())]
    InOtherFile {
        /// Name of the tool.
        name: String,
        /// File with the definition.
        file: PathBuf,
        /// Line number in the file.
        line: usize,
        /// Reason why it was not removed.
        why: &'static str,
    },
    /// The file cannot be removed.
    #[error("{} can't be removed: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        error: io::Error,
    },
}

/// Lists the definition files of a folder, sorted; empty if the folder does not exist.
pub(super) fn definition_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let mut files = Vec::new();
    for entry in found {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Checks text as if it were in this file of the folder, together with all existing definitions. Returns the
/// valid and the refused definitions of the text.
#[must_use]
pub fn check(text: &str, path: &Path, sources: &DefinitionSources, kit: &OwnToolDeps) -> LoadedDefinitions {
    let mut loaded = load(sources, kit);
    let before = loaded.tools.len();
    loaded.refused.clear();
    file::parse_into(&mut loaded, text, path, &sources.working_dir, kit);
    loaded.tools.drain(..before);
    loaded
}

/// Adds a definition to the folder as a private file `NAME.toml`. It is first validated together with all
/// existing definitions. A concurrent reader of the folder sees the complete file or none.
///
/// # Errors
/// [`WriteDefinitionError`]. Then nothing has changed.
pub fn write_definition(
    text: &str,
    sources: &DefinitionSources,
    kit: &OwnToolDeps,
) -> Result<OwnTool, WriteDefinitionError> {
    if let Ok(file) = DefinitionFile::parse(text)
        && file.entries.len() != 1
    {
        return Err(WriteDefinitionError::NotSingleTool(file.entries.len()));
    }
    // The name is only known after parsing.
    let mut loaded = check(text, &sources.folder.join("the new definition"), sources, kit);
    if let Some(refused) = loaded.refused.into_iter().next() {
        return Err(WriteDefinitionError::Refused(refused));
    }
    let Some(tool) = loaded.tools.pop() else { return Err(WriteDefinitionError::NotSingleTool(0)) };
    let path = sources.folder.join(format!("{}.toml", tool.name()));
    write_new(&path, text).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => WriteDefinitionError::Exists(path.clone()),
        _ => WriteDefinitionError::Io { path: path.clone(), error },
    })?;
    Ok(OwnTool { file: path, ..tool })
}

/// Writes a new private file (0600) atomically. Fails if it exists.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    private_file::create_folder(path.parent().unwrap_or(path))?;
    // The temporary file's name does not end in .toml, so nobody takes it for a definition.
    private_file::write_new(path, text.as_bytes())
}

/// Removes the definition of a tool, valid or not, if it is in a file of its own in the folder. Returns the
/// removed path.
///
/// # Errors
/// [`RemoveDefinitionError`]. Then nothing has changed.
pub fn remove(name: &str, sources: &DefinitionSources) -> Result<PathBuf, RemoveDefinitionError> {
    let elsewhere = |file: &Path, line: usize, why: &'static str| RemoveDefinitionError::InOtherFile {
        name: name.to_owned(),
        file: file.to_owned(),
        line,
        why,
    };
    let in_folder = definition_files(&sources.folder)
        .map_err(|error| RemoveDefinitionError::Io { path: sources.folder.clone(), error })?;
    for path in in_folder {
        match find(&path, name) {
            None => {}
            Some((_, 1)) => {
                private_file::remove(&path)
                    .map_err(|error| RemoveDefinitionError::Io { path: path.clone(), error })?;
                return Ok(path);
            }
            Some((line, _)) => {
                return Err(elsewhere(&path, line, "together with other tools; edit the file to remove it"));
            }
        }
    }
    for path in &sources.files {
        if let Some((line, _)) = find(path, name) {
            return Err(elsewhere(path, line, "a file listed in the settings; edit the file to remove it"));
        }
    }
    Err(RemoveDefinitionError::Unknown(name.to_owned()))
}

/// Finds the line that defines a tool in a file, and the number of tools in the file.
fn find(path: &Path, name: &str) -> Option<(usize, usize)> {
    let text = file::text(path).ok()?;
    let entries = DefinitionFile::parse(&text).ok()?.entries;
    let line = entries.iter().find(|entry| entry.name() == Some(name))?.position().line;
    Some((line, entries.len()))
}
