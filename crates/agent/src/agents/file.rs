//! Agents in files: `agents/NAME.toml`. The file name is the agent's name. Problems have line numbers.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::Agent;
use super::error::AgentProblem;
use crate::definition::AgentDefinition;
use toolway_files::owner_file::{self, FileProblem, TextProblem, line_of};

/// Maximum number of files that are read.
const MAX_FILES: usize = 4096;

/// An agent and its position in the file.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub(super) agent: Agent,
    pub(super) path: PathBuf,
    /// Line of its first field, from 1.
    pub(super) line: usize,
}

/// A file with problems.
#[derive(Debug)]
pub(super) struct InvalidAgentFile {
    /// Name of the agent, which is the name of the file.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) problems: Vec<FileProblem>,
}

/// Returns the agent files of a folder, by name; none if the folder does not exist.
///
/// # Errors
/// Fails if the folder can't be read.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, FileProblem> {
    let unreadable =
        |error: std::io::Error| FileProblem::new(folder, 1, format!("the folder can't be read: {error}"));
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries.take(MAX_FILES) {
        let path = entry.map_err(unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.extension().is_some_and(|extension| extension == "toml") && !is_hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file.
pub(super) fn read(
    path: &Path,
    check_time_zone: &dyn Fn(&str) -> Result<(), String>,
) -> Result<AgentFile, InvalidAgentFile> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let bad = |problems| InvalidAgentFile { name: name.clone(), path: path.to_owned(), problems };
    match owner_file::read_text(path, owner_file::MAX_BYTES) {
        Ok(text) => parse(&text.unwrap_or_default(), path, &name, check_time_zone).map_err(bad),
        Err(problem) => Err(bad(vec![problem])),
    }
}

/// Validates the text of the agent file at `path`, without using it. It does not check that its time zone exists.
///
/// # Errors
/// The problems of the file, each with its line.
pub fn check(text: &str, path: &Path) -> Result<AgentDefinition, Vec<FileProblem>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(text, path, &name, &|_| Ok(())).map(|file| file.agent.definition)
}

/// Parses the file of the agent `name`.
fn parse(
    text: &str,
    path: &Path,
    name: &str,
    check_time_zone: &dyn Fn(&str) -> Result<(), String>,
) -> Result<AgentFile, Vec<FileProblem>> {
    let at = |place: usize, message: String| FileProblem::new(path, line_of(text, place), message);
    let wrong = |error: &toml::de::Error| vec![TextProblem::from_toml(0, error, &[]).in_file(text, path)];
    let table = DeTable::parse(text).map_err(|error| wrong(&error))?;
    let start = table.get_ref().keys().map(|key| key.span().start).min().unwrap_or(0);
    let place_of = |field: &str| span_of_field(table.get_ref(), field).map_or(start, |span| span.start);
    if let Some(said) = table.get_ref().get("name") {
        let is_same = matches!(said.get_ref(), DeValue::String(said) if said == name);
        if !is_same {
            let message = format!("the name of an agent is that of its file, {name:?}");
            return Err(vec![at(said.span().start, message).with_hint("leave `name` out")]);
        }
    }
    let mut named = table.get_ref().clone();
    let key = Spanned::new(start..start, Cow::Owned("name".to_owned()));
    named.insert(key, Spanned::new(start..start, DeValue::String(Cow::Owned(name.to_owned()))));
    let whole = Spanned::new(start..start, DeValue::Table(named));
    let definition =
        AgentDefinition::deserialize(ValueDeserializer::from(whole)).map_err(|error| wrong(&error))?;
    if let Some(zone) = &definition.time_zone
        && let Err(problem) = check_time_zone(zone)
    {
        return Err(vec![at(place_of("time_zone"), format!("time_zone: {problem}"))]);
    }
    match Agent::new(definition) {
        Ok(agent) => Ok(AgentFile { agent, path: path.to_owned(), line: line_of(text, start) }),
        Err(problems) => {
            let placed = problems
                .iter()
                .map(|problem: &AgentProblem| at(place_of(&problem.field), problem.to_string()));
            Err(placed.collect())
        }
    }
}

/// Returns the position of a field such as `limits.cost` or `tools[2]`.
fn span_of_field(table: &DeTable<'_>, field: &str) -> Option<Range<usize>> {
    let (first, rest) = match field.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (field, None),
    };
    let (key, index) = match first.split_once('[') {
        Some((key, index)) => (key, index.trim_end_matches(']').parse::<usize>().ok()),
        None => (first, None),
    };
    let value = table.get(key)?;
    match (value.get_ref(), index, rest) {
        (DeValue::Table(inner), None, Some(rest)) => span_of_field(inner, rest).or(Some(value.span())),
        (DeValue::Array(items), Some(index), _) => items.get(index).map(Spanned::span).or(Some(value.span())),
        _ => Some(value.span()),
    }
}

#[cfg(test)]
mod tests;
