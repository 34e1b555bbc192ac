//! The folder in which each definition has a file of its own: written whole, for its owner alone, and removed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use toolway_command::DefinitionFile;

use super::{DefinitionSources, LoadedDefinitions, OwnTool, OwnToolDeps, RefusedDefinition, file, load};

/// Why a definition was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteDefinitionError {
    /// It is not one tool.
    #[error("the text defines {0} tools; what is added is one [[tool]]")]
    NotSingleTool(usize),
    /// It can't stand: the line is the text's own.
    #[error("line {}: {}", .0.line, .0.reason)]
    Refused(RefusedDefinition),
    /// Its file is there already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// It can't be written.
    #[error("{} can't be written: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// Why a definition was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveDefinitionError {
    /// There is no such definition.
    #[error("there is no tool own/{0}")]
    Unknown(String),
    /// It stands in a file that is somebody else's to change.
    #[error("own/{name} is defined in {} line {line}, {why}", file.display())]
    InOtherFile {
        /// The tool.
        name: String,
        /// The file.
        file: PathBuf,
        /// The line in it.
        line: usize,
        /// Why it stays.
        why: &'static str,
    },
    /// Its file can't be removed.
    #[error("{} can't be removed: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

/// The files of definitions in a folder, sorted; none where there is no folder.
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

/// Reads text as if it stood in the folder, in this file, beside all that is defined already: what of it could
/// stand, and what could not.
#[must_use]
pub fn check(text: &str, path: &Path, sources: &DefinitionSources, kit: &OwnToolDeps) -> LoadedDefinitions {
    let mut loaded = load(sources, kit);
    let before = loaded.tools.len();
    loaded.refused.clear();
    file::parse_into(&mut loaded, text, path, &sources.working_dir, kit);
    loaded.tools.drain(..before);
    loaded
}

/// Adds a definition to the folder, as `NAME.toml` for its owner alone. It is checked whole first, beside all
/// that is defined already; whoever reads the folder meanwhile sees the whole file or none.
///
/// # Errors
/// [`NotWritten`]; then nothing has changed.
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
    // Its name is known only once it was read.
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

/// Writes a file (0600) that must not be there yet, whole or not at all.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    // Its name has no ending, so nobody takes it for a definition; it is 0600 from the start.
    let mut file = NamedTempFile::with_prefix_in(".new-", folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync(folder)
}

/// Removes the definition of a tool, whether it can stand or not, where the folder holds it in a file of its
/// own. Gives the file that is no more.
///
/// # Errors
/// [`NotRemoved`]; then nothing has changed.
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
                fs::remove_file(&path)
                    .and_then(|()| sync(&sources.folder))
                    .map_err(|error| RemoveDefinitionError::Io { path: path.clone(), error })?;
                return Ok(path);
            }
            Some((line, _)) => {
                return Err(elsewhere(&path, line, "beside others: take it out of the file yourself"));
            }
        }
    }
    for path in &sources.files {
        if let Some((line, _)) = find(path, name) {
            return Err(elsewhere(path, line, "which the settings list: take it out of the file yourself"));
        }
    }
    Err(RemoveDefinitionError::Unknown(name.to_owned()))
}

/// The line at which a file defines a tool of this name, and how many tools it defines in all.
fn find(path: &Path, name: &str) -> Option<(usize, usize)> {
    let text = file::text(path).ok()?;
    let entries = DefinitionFile::parse(&text).ok()?.entries;
    let line = entries.iter().find(|entry| entry.name() == Some(name))?.position().line;
    Some((line, entries.len()))
}

/// Makes sure that what changed in a folder stays changed.
fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}
