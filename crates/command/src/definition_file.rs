//! A file of definitions. Each `[[tool]]` entry is parsed on its own, and errors contain their position in
//! the file.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toolway_files::owner_file::{TextPosition, TextProblem};

use crate::definition::ToolMetadata;

/// Fields of a `[[tool]]` that had another name in version 0.1.
const RENAMED_FIELDS: &[(&str, &str)] = &[
    ("env", "pass_env"),
    ("env_set", "set_env"),
    ("working_dir", "cwd"),
    ("result", "result_pointer"),
    ("private", "allow_private_network"),
];

/// Minimum likeness of a key that is suggested, from 0 to 1.
const MIN_KEY_LIKENESS: f64 = 0.6;
/// Maximum length of a key for which a similar one is searched, in bytes.
const MAX_SUGGESTED_KEY_BYTES: usize = 64;

/// Error in a file of definitions, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct DefinitionFileError {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Description of the error.
    pub message: String,
}

impl DefinitionFileError {
    /// Creates an error at a position.
    #[must_use]
    pub fn at(place: TextPosition, message: impl Into<String>) -> Self {
        Self { line: place.line, column: place.column, message: message.into() }
    }

    fn from_toml(text: &str, start: usize, error: &toml::de::Error) -> Self {
        let problem = TextProblem::from_toml(start, error, RENAMED_FIELDS);
        Self::at(TextPosition::of(text, problem.offset), problem.message)
    }

    fn position(&self) -> TextPosition {
        TextPosition { line: self.line, column: self.column }
    }
}

/// A file of definitions.
#[derive(Debug)]
pub struct DefinitionFile<'t> {
    /// The `[[tool]]` entries, in order.
    pub entries: Vec<DefinitionEntry<'t>>,
    /// Errors for unknown keys.
    pub unknown: Vec<DefinitionFileError>,
}

/// One `[[tool]]`.
#[derive(Debug)]
pub struct DefinitionEntry<'t> {
    text: &'t str,
    start: usize,
    value: DeValue<'t>,
}

impl<'t> DefinitionFile<'t> {
    /// Parses a file, but not its entries.
    ///
    /// # Errors
    /// [`DefinitionFileError`] if the text is not TOML, or `tool` is not an array of tables.
    pub fn parse(text: &'t str) -> Result<Self, DefinitionFileError> {
        let table = DeTable::parse(text).map_err(|error| DefinitionFileError::from_toml(text, 0, &error))?;
        let mut file = Self { entries: Vec::new(), unknown: Vec::new() };
        for (key, value) in table.into_inner() {
            if key.get_ref() != "tool" {
                let message = format!("unknown field `{}`, expected `tool`", key.get_ref());
                file.unknown.push(DefinitionFileError::at(TextPosition::of(text, key.span().start), message));
                continue;
            }
            let start = value.span().start;
            let DeValue::Array(tools) = value.into_inner() else {
                let message = "each tool must start with a line [[tool]], in double brackets";
                return Err(DefinitionFileError::at(TextPosition::of(text, start), message));
            };
            let entry = |tool: Spanned<DeValue<'t>>| DefinitionEntry {
                text,
                start: tool.span().start,
                value: tool.into_inner(),
            };
            file.entries = tools.into_iter().map(entry).collect();
        }
        Ok(file)
    }
}

impl DefinitionEntry<'_> {
    /// Position of the entry's start.
    #[must_use]
    pub fn position(&self) -> TextPosition {
        TextPosition::of(self.text, self.start)
    }

    /// Name of the tool, if present.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let DeValue::Table(table) = &self.value else { return None };
        match table.get("name")?.get_ref() {
            DeValue::String(name) => Some(name),
            _ => None,
        }
    }

    /// Kind of tool; `command` by default.
    ///
    /// # Errors
    /// [`DefinitionFileError`] if `kind` is not one of `kinds`.
    pub fn kind<'k>(&self, kinds: &[&'k str]) -> Result<&'k str, DefinitionFileError> {
        let said = match &self.value {
            DeValue::Table(table) => table.get("kind"),
            _ => None,
        };
        let Some(said) = said else { return Ok("command") };
        let known = match said.get_ref() {
            DeValue::String(text) => kinds.iter().find(|kind| *kind == text),
            _ => None,
        };
        known.copied().ok_or_else(|| {
            let message = format!("kind must be one of {}", kinds.join(", "));
            DefinitionFileError::at(TextPosition::of(self.text, said.span().start), message)
        })
    }

    /// Parses the entry into common fields and fields of its kind.
    ///
    /// # Errors
    /// [`DefinitionFileError`] describes the problem. Invalid keys are reported before missing ones. The error
    /// of an unknown key lists all keys of the entry.
    pub fn read<T: DeserializeOwned>(self) -> Result<(ToolMetadata, T), DefinitionFileError> {
        let DeValue::Table(table) = self.value else {
            return Err(DefinitionFileError::at(
                TextPosition::of(self.text, self.start),
                "a tool must be a table",
            ));
        };
        let (mut described, mut runs) = (DeTable::new(), DeTable::new());
        let mut own_keys = Vec::new();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "kind" => None,
                known if ToolMetadata::KEYS.contains(&known) => described.insert(key, value),
                name => {
                    own_keys.push((TextPosition::of(self.text, key.span().start), name.to_owned()));
                    runs.insert(key, value)
                }
            };
        }
        match (
            deserialize_part(self.text, self.start, described),
            deserialize_part(self.text, self.start, runs)
                .map_err(|error| complete_key_list(error, &own_keys)),
        ) {
            (Ok(described), Ok(runs)) => Ok((described, runs)),
            (Err(described), Err(runs)) if described.position() >= runs.position() => Err(described),
            (_, Err(error)) | (Err(error), _) => Err(error),
        }
    }
}

/// Adds the common keys to the error of an unknown key of the entry itself, and the most similar key. An error
/// further inside, about a key of another table, is returned unchanged.
fn complete_key_list(
    mut error: DefinitionFileError,
    own_keys: &[(TextPosition, String)],
) -> DefinitionFileError {
    let Some((_, key)) = own_keys.iter().find(|(position, key)| {
        *position == error.position()
            && error.message.starts_with(&format!("unknown field `{key}`, expected "))
    }) else {
        return error;
    };
    let expected = error.message.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
    // The names between the backticks are at the odd positions.
    let of_kind = expected.split('`').skip(1).step_by(2).map(str::to_owned);
    let keys: Vec<_> =
        of_kind.chain(ToolMetadata::KEYS.map(str::to_owned)).chain(["kind".to_owned()]).collect();
    let listed: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    error.message = format!("unknown field `{key}`, expected one of {}", listed.join(", "));
    if let Some(similar) = similar_key(key, &keys) {
        error.message += &format!("; did you mean `{similar}`?");
    }
    error
}

fn similar_key<'k>(key: &str, keys: &'k [String]) -> Option<&'k String> {
    if key.len() > MAX_SUGGESTED_KEY_BYTES {
        return None;
    }
    let key = key.to_lowercase().replace('-', "_");
    let likeness = |known: &String| strsim::normalized_damerau_levenshtein(&key, known);
    let most = keys.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(most) >= MIN_KEY_LIKENESS).then_some(most)
}

/// Deserializes some of an entry's keys.
fn deserialize_part<'t, T: Deserialize<'t>>(
    text: &str,
    start: usize,
    table: DeTable<'t>,
) -> Result<T, DefinitionFileError> {
    let whole = Spanned::new(start..start, DeValue::Table(table));
    T::deserialize(ValueDeserializer::from(whole))
        .map_err(|error| DefinitionFileError::from_toml(text, start, &error))
}

#[cfg(test)]
mod tests;
