//! The file's form, and errors that say where in it they are.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// What is wrong with a command file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct CommandFileError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In words.
    pub message: String,
}

impl CommandFileError {
    pub(super) fn at(text: &str, offset: usize, message: String) -> Self {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column, message }
    }
}

/// What is wrong with one tool.
#[derive(Debug, PartialEq)]
pub(super) struct Problem(pub(super) String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tool: Vec<Spanned<Entry>>,
}

/// One `[[tool]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) program: String,
    #[serde(default)]
    pub(super) args: Vec<Arg>,
    pub(super) parameters: Option<Parameters>,
    #[serde(default)]
    pub(super) input: Input,
    #[serde(default)]
    pub(super) output: Output,
    pub(super) timeout_s: Option<f64>,
    #[serde(default)]
    pub(super) env: Vec<String>,
    #[serde(default)]
    pub(super) env_set: BTreeMap<String, String>,
    pub(super) working_dir: Option<String>,
    #[serde(default)]
    pub(super) sequential: bool,
    #[serde(default)]
    pub(super) read_only: bool,
}

/// One element of `args`, or several that come and go together.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an element of args is text, or a list of texts")]
pub(super) enum Arg {
    One(String),
    Together(Vec<String>),
}

/// A JSON Schema, as a table or as JSON text.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "parameters are a table, or JSON in a string")]
pub(super) enum Parameters {
    Text(String),
    Table(toml::Table),
}

/// How a command gets its arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Input {
    #[default]
    Argv,
    StdinJson,
}

/// What its standard output is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Output {
    #[default]
    Text,
    Json,
}

/// Each tool with where it starts, in bytes.
pub(super) fn read(text: &str) -> Result<Vec<(usize, Entry)>, CommandFileError> {
    let file: File = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        CommandFileError::at(text, offset, error.message().to_owned())
    })?;
    Ok(file.tool.into_iter().map(|entry| (entry.span().start, entry.into_inner())).collect())
}
