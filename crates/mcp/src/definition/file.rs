//! Parser of `mcp.toml`: one table `[servers.NAME]` per server. Each is checked separately, and every error has its
//! line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toolway_files::owner_file::{self, FileProblem, TextProblem, line_of};
use toolway_types::Slug;

use super::ServerDefinition;
use super::validation::check_name;

/// Maximum number of servers.
pub(super) const MAX_SERVERS: usize = 256;

/// A parsed file of server definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServersFile {
    /// The servers by name.
    pub servers: BTreeMap<Slug, ServersFileEntry>,
}

/// One server of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServersFileEntry {
    /// The definition of the server.
    pub definition: ServerDefinition,
    /// The line in the file, from 1.
    pub line: usize,
}

impl ServersFile {
    /// Parses the text of the file at `path`, which need not exist yet.
    ///
    /// # Errors
    /// All errors in the file.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Vec<FileProblem>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut file, mut wrong) = (Self::default(), Vec::new());
        match DeTable::parse(text) {
            Ok(table) => file.read_servers(text, table.into_inner(), &mut wrong),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let message = format!("not TOML: {}", error.message().replace('\n', ", "));
                let hint = "put strings in quotes: command = \"npx\"";
                wrong.push(TextProblem::new(at, message).with_hint(hint));
            }
        }
        owner_file::all_or_nothing(file, wrong, text, path)
    }

    fn read_servers(&mut self, text: &str, table: DeTable<'_>, wrong: &mut Vec<TextProblem>) {
        for (key, value) in table {
            if key.get_ref() != "servers" {
                let message = format!("unknown field {:?}", key.get_ref());
                let hint = "use a table [servers.NAME] for each server";
                wrong.push(TextProblem::at(key.span(), message).with_hint(hint));
                continue;
            }
            let at = key.span().start;
            let DeValue::Table(servers) = value.into_inner() else {
                let hint = "use a table [servers.NAME] for each server";
                wrong.push(TextProblem::new(at, "servers must be a table").with_hint(hint));
                continue;
            };
            if servers.len() > MAX_SERVERS {
                let message = format!("there are {} servers; the maximum is {MAX_SERVERS}", servers.len());
                wrong.push(TextProblem::new(at, message).with_hint("remove some"));
                continue;
            }
            for (name, server) in servers {
                self.add_server(text, &name, server, wrong);
            }
        }
    }

    fn add_server(
        &mut self,
        text: &str,
        name: &Spanned<impl AsRef<str>>,
        server: Spanned<DeValue<'_>>,
        wrong: &mut Vec<TextProblem>,
    ) {
        let start = name.span().start;
        let name = name.get_ref().as_ref();
        let before = wrong.len();
        let slug = check_name(name).map_err(|flaw| {
            let message = format!("servers.{name}: {}", flaw.message);
            wrong.push(TextProblem::new(start, message).with_hint(flaw.hint));
        });
        let mut places = BTreeMap::new();
        record_offsets(server.get_ref(), "", &mut places);
        let definition = match ServerDefinition::deserialize(ValueDeserializer::from(server)) {
            Ok(definition) => definition,
            Err(error) => {
                let at = error.span().map_or(start, |span| span.start);
                let message = format!("servers.{name}: {}", error.message().replace('\n', ", "));
                wrong.push(TextProblem::new(at, message).with_hint(FORM));
                return;
            }
        };
        for flaw in definition.check().err().unwrap_or_default() {
            let field = flaw.field.split_once('[').map_or(flaw.field.as_str(), |(list, _)| list);
            let at = places.get(field).copied().unwrap_or(start);
            let message = format!("servers.{name}: {flaw}");
            wrong.push(TextProblem::new(at, message).with_hint(&flaw.hint));
        }
        if let (Ok(slug), true) = (slug, wrong.len() == before) {
            self.servers.insert(slug, ServersFileEntry { definition, line: line_of(text, start) });
        }
    }
}

/// Hint for errors in the file.
const FORM: &str = "see docs/mcp-servers.md for the format";

/// Records the offset of each field, by the field name of a [`DefinitionError`].
fn record_offsets(value: &DeValue<'_>, prefix: &str, places: &mut BTreeMap<String, usize>) {
    let DeValue::Table(table) = value else { return };
    for (key, value) in table {
        let field = format!("{prefix}{}", key.get_ref());
        places.insert(field.clone(), key.span().start);
        if prefix.is_empty() {
            record_offsets(value.get_ref(), &format!("{field}."), places);
        }
    }
}

#[cfg(test)]
mod tests;
