//! Edits the text of `models.toml` and keeps the comments, order and format of unchanged entries.

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TomlError, value};

/// Header of a new file.
const FILE_HEADER: &str = "# Model providers. Agents without a model use the first one.\n\n";

/// Reason why a text cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ModelsFileEditError {
    #[error("invalid TOML: {0}")]
    NotToml(#[from] TomlError),
    #[error("`model` must be an array of tables: start each model provider with [[model]]")]
    NotTables,
}

/// A new entry. Absent fields are omitted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct NewModelEntry<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Option<&'a str>,
    pub(super) preset: Option<&'a str>,
    pub(super) base_url: Option<&'a str>,
    /// Location of the key: kind of location, and name.
    pub(super) key: Option<(&'a str, &'a str)>,
    pub(super) model: Option<&'a str>,
    pub(super) headers: &'a [(String, String)],
    /// True to insert the entry before all others.
    pub(super) is_first: bool,
}

/// Returns the names of the entries.
pub(super) fn entry_names(text: &str) -> Result<Vec<String>, ModelsFileEditError> {
    let mut document = parse_document(text)?;
    Ok(entries(&mut document)?.iter().filter_map(entry_name).map(str::to_owned).collect())
}

/// Adds an entry, or replaces the entry with the same name.
pub(super) fn add_entry(text: &str, entry: &NewModelEntry<'_>) -> Result<String, ModelsFileEditError> {
    let mut document = parse_document(text)?;
    let entries = entries(&mut document)?;
    let mut table = entry.table();
    let there = entries.iter().position(|one| entry_name(one) == Some(entry.name));
    if let Some(old) = there.and_then(|at| entries.get_mut(at))
        && !entry.is_first
    {
        *table.decor_mut() = old.decor().clone();
        table.set_position(old.position());
        *old = table;
        return Ok(document.to_string());
    }
    if let Some(at) = there {
        entries.remove(at);
    }
    if entries.is_empty() && text.trim().is_empty() {
        table.decor_mut().set_prefix(FILE_HEADER);
    } else {
        table.decor_mut().set_prefix("\n");
    }
    if entry.is_first {
        put_first(entries, table);
    } else {
        entries.push(table);
    }
    Ok(document.to_string())
}

/// Removes an entry; `None` if there is no such entry.
pub(super) fn remove_entry(text: &str, name: &str) -> Result<Option<String>, ModelsFileEditError> {
    let mut document = parse_document(text)?;
    let entries = entries(&mut document)?;
    let Some(at) = entries.iter().position(|one| entry_name(one) == Some(name)) else { return Ok(None) };
    let head = (at == 0).then(|| entries.get(0).map(|first| split_head(first).0)).flatten();
    entries.remove(at);
    // The header comment belongs to the file, not to its first entry, so keep it.
    if let (Some(head), Some(first)) = (head.filter(|head| !head.is_empty()), entries.get_mut(0)) {
        let own = entry_prefix(first).trim_start_matches('\n').to_owned();
        first.decor_mut().set_prefix(format!("{head}{own}"));
    }
    Ok(Some(document.to_string()))
}

fn parse_document(text: &str) -> Result<DocumentMut, ModelsFileEditError> {
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).parse::<DocumentMut>()?)
}

fn entries(document: &mut DocumentMut) -> Result<&mut ArrayOfTables, ModelsFileEditError> {
    let found = document.entry("model").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    found.as_array_of_tables_mut().ok_or(ModelsFileEditError::NotTables)
}

fn entry_name(table: &Table) -> Option<&str> {
    table.get("name")?.as_str()
}

fn entry_prefix(table: &Table) -> &str {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default()
}

/// Splits the text before the first entry into the file's header and the entry's own comment, at an empty line.
fn split_head(first: &Table) -> (String, String) {
    let prefix = entry_prefix(first);
    let at = prefix.rfind("\n\n").map_or(0, |at| at + 2);
    (prefix.get(..at).unwrap_or_default().to_owned(), prefix.get(at..).unwrap_or_default().to_owned())
}

/// Inserts a table before the others. TOML tables are written in the order of their positions, and a new table has
/// none, so all tables are inserted again.
fn put_first(entries: &mut ArrayOfTables, mut table: Table) {
    let mut others: Vec<Table> = std::iter::from_fn(|| {
        let last = entries.len().checked_sub(1)?;
        let table = entries.get(last).cloned();
        entries.remove(last);
        table
    })
    .collect();
    others.reverse();
    if let Some(first) = others.first_mut() {
        let (head, own) = split_head(first);
        table.decor_mut().set_prefix(head);
        first.decor_mut().set_prefix(format!("\n{own}"));
    }
    entries.push(table);
    for other in others {
        entries.push(other);
    }
}

impl NewModelEntry<'_> {
    fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("name", value(self.name));
        for (field, text) in [("preset", self.preset), ("kind", self.kind), ("base_url", self.base_url)] {
            if let Some(text) = text {
                table.insert(field, value(text));
            }
        }
        if let Some((place, which)) = self.key {
            let mut key = InlineTable::new();
            key.insert(place, which.into());
            table.insert("key", value(key));
        }
        if let Some(model) = self.model {
            table.insert("model", value(model));
        }
        if !self.headers.is_empty() {
            let mut headers = InlineTable::new();
            for (name, text) in self.headers {
                headers.insert(name.as_str(), text.as_str().into());
            }
            table.insert("headers", value(headers));
        }
        table
    }
}

#[cfg(test)]
mod tests;
