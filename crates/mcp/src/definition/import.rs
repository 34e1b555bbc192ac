//! Reading the servers that desktop programs keep in their own files: the JSON with `mcpServers` of Claude, Cursor and
//! many others, and VS Code's `servers`. Each entry becomes a definition, or it is said why not. What looks like a
//! secret is handed over beside the definition, which then only names it.

mod entry;

pub use entry::secret_name;

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde_json::{Map, Value};
use toolway_types::Slug;

use super::{ServerDefinition, jsonc};

/// Most entries of one file.
const MAX_ENTRIES: usize = 256;

/// Why nothing can be read from a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportFileError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It has no servers in it.
    #[error("it has no \"mcpServers\" and no \"servers\" in it")]
    NoServers,
    /// There are too many.
    #[error("it has {0} servers; at most {MAX_ENTRIES} are read")]
    TooMany(usize),
}

/// What was found in a file.
#[derive(Debug)]
pub struct ImportFile {
    /// Its entries, by name.
    pub entries: Vec<ImportFileEntry>,
    /// What else there is to know of the file.
    pub notes: Vec<String>,
}

/// One entry.
#[derive(Debug)]
pub struct ImportFileEntry {
    /// Its name in the file.
    pub name: String,
    /// The definition, or why there is none.
    pub outcome: Result<ImportedServer, String>,
}

/// A definition that was made of an entry. It has been checked.
#[derive(Debug)]
pub struct ImportedServer {
    /// The name that it gets here.
    pub slug: Slug,
    /// What was said of it.
    pub definition: ServerDefinition,
    /// Values that the definition names as secrets, and that are to be kept under these names.
    pub secrets: Vec<ImportedSecret>,
    /// What could not be taken over, and what is left to be done.
    pub notes: Vec<String>,
}

/// A secret of an entry.
#[derive(Debug)]
pub struct ImportedSecret {
    /// The name that the definition has for it.
    pub name: String,
    /// Which field it was in, as `env.GITHUB_TOKEN`.
    pub field: String,
    /// The secret.
    pub value: SecretString,
}

/// Reads the text of a file. Names in `taken` are not given again.
///
/// # Errors
/// [`NotAList`].
pub fn parse_import_file(text: &str, taken: &BTreeSet<Slug>) -> Result<ImportFile, ImportFileError> {
    let root: Value = serde_json::from_str(&jsonc::to_json(text))
        .map_err(|error| ImportFileError::NotJson(error.to_string()))?;
    let servers = find_servers(&root).ok_or(ImportFileError::NoServers)?;
    if servers.len() > MAX_ENTRIES {
        return Err(ImportFileError::TooMany(servers.len()));
    }
    let mut taken = taken.clone();
    let mut entries = Vec::new();
    for (name, value) in servers {
        let slug = free_slug(name, &taken);
        let outcome = entry::read_entry(&slug, value);
        if outcome.is_ok() {
            taken.insert(slug);
        }
        entries.push(ImportFileEntry { name: name.clone(), outcome });
    }
    Ok(ImportFile { entries, notes: file_notes(&root) })
}

/// The servers of a file, wherever programs keep them.
fn find_servers(root: &Value) -> Option<&Map<String, Value>> {
    ["/mcpServers", "/servers", "/mcp/servers", "/mcp/mcpServers"]
        .into_iter()
        .find_map(|place| root.pointer(place)?.as_object())
}

fn file_notes(root: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    let projects = root.get("projects").and_then(Value::as_object);
    let of_projects =
        projects.into_iter().flat_map(Map::values).filter_map(|one| one.get("mcpServers")?.as_object());
    let count: usize = of_projects.map(Map::len).sum();
    if count > 0 {
        notes.push(format!("servers of single projects are not read; there are {count}"));
    }
    notes
}

/// A name that is free: the nearest to the one in the file.
fn free_slug(name: &str, taken: &BTreeSet<Slug>) -> Slug {
    let has_letter = name.chars().any(|c| c.is_ascii_alphabetic());
    let first = Slug::from_label(if has_letter { name } else { "server" });
    let is_free = |slug: &Slug| !slug.is_reserved() && !taken.contains(slug);
    if is_free(&first) {
        return first;
    }
    // There are fewer taken names than numbers.
    (2..).map(|number| first.with_number(number)).find(is_free).unwrap_or(first)
}

#[cfg(test)]
mod tests;
