//! Import of server definitions from the files of desktop programs: the JSON with `mcpServers` of Claude, Cursor and
//! many others, and VS Code's `servers`. Each entry becomes a definition or an error. Values that look like secrets
//! are returned separately, and the definition only refers to them.

mod entry;
mod placeholder;
mod secret_names;

pub use secret_names::secret_name;

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde_json::{Map, Value};
use toolway_types::Slug;

use self::secret_names::SecretNames;
use super::{ServerDefinition, jsonc};

/// Maximum number of entries in a file.
const MAX_ENTRIES: usize = 256;

/// The reason why a file can't be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportFileError {
    /// The file is not valid JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// The file contains no servers.
    #[error("\"mcpServers\" and \"servers\" are both missing")]
    NoServers,
    /// The file contains too many servers.
    #[error("it has {0} servers; the maximum is {MAX_ENTRIES}")]
    TooMany(usize),
}

/// The content of a file.
#[derive(Debug)]
pub struct ImportFile {
    /// The entries by name.
    pub entries: Vec<ImportFileEntry>,
    /// Notes about the whole file.
    pub notes: Vec<String>,
}

/// One entry.
#[derive(Debug)]
pub struct ImportFileEntry {
    /// The name in the file.
    pub name: String,
    /// The definition, or the reason why there is none.
    pub outcome: Result<ImportedServer, String>,
}

/// The valid definition from an entry.
#[derive(Debug)]
pub struct ImportedServer {
    /// The new name of the server.
    pub slug: Slug,
    /// The definition.
    pub definition: ServerDefinition,
    /// The secrets to which the definition refers. They must be stored under these names.
    pub secrets: Vec<ImportedSecret>,
    /// Notes about ignored fields and remaining steps.
    pub notes: Vec<String>,
}

/// A secret of an entry.
#[derive(Debug)]
pub struct ImportedSecret {
    /// The name in the definition.
    pub name: String,
    /// The field of the value, for example `env.GITHUB_TOKEN`.
    pub field: String,
    /// The secret.
    pub value: SecretString,
}

/// Parses the text of a file. Names in `taken` are not used again.
///
/// # Errors
/// [`ImportFileError`].
pub fn parse_import_file(text: &str, taken: &BTreeSet<Slug>) -> Result<ImportFile, ImportFileError> {
    let root = jsonc::parse(text).map_err(ImportFileError::NotJson)?;
    let servers = find_servers(&root).ok_or(ImportFileError::NoServers)?;
    if servers.len() > MAX_ENTRIES {
        return Err(ImportFileError::TooMany(servers.len()));
    }
    let mut taken = taken.clone();
    let mut secret_names = SecretNames::default();
    let mut entries = Vec::new();
    for (name, value) in servers {
        let slug = free_slug(name, &taken);
        let outcome = entry::read_entry(&slug, value, &mut secret_names);
        if outcome.is_ok() {
            taken.insert(slug);
        }
        entries.push(ImportFileEntry { name: name.clone(), outcome });
    }
    Ok(ImportFile { entries, notes: file_notes(&root) })
}

/// Finds the servers in a file at the places that programs use.
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

/// Returns an unused name that is similar to the one in the file.
fn free_slug(name: &str, taken: &BTreeSet<Slug>) -> Slug {
    let has_letter = name.chars().any(|c| c.is_ascii_alphabetic());
    let first = Slug::from_label(if has_letter { name } else { "server" });
    let is_free = |slug: &Slug| !slug.is_reserved() && !taken.contains(slug);
    if is_free(&first) {
        return first;
    }
    // There are more numbers than used names.
    (2..).map(|number| first.with_number(number)).find(is_free).unwrap_or(first)
}

#[cfg(test)]
mod tests;
