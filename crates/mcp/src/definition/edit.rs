//! Edits of the text of `mcp.toml` that keep comments, order and formatting of everything else.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TomlError, Value, value};

use super::{EraMode, IdentityProviderDefinition, OauthDefinition, ServerDefinition, TransportMode};

/// The header of a new file.
const FILE_HEADER: &str = "# MCP servers whose tools this gateway offers.\n\n";

/// The reason why a text can't be edited.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionEditError {
    /// The text is not valid TOML.
    #[error("it is not TOML: {0}")]
    NotToml(#[from] TomlError),
    /// `servers` is an inline table.
    #[error("`servers` is a single value; use a table [servers.NAME] for each server")]
    ServersNotTables,
}

/// Returns the text with the server added, or replaced if its name exists.
///
/// # Errors
/// [`DefinitionEditError`].
pub fn upsert_server(
    text: &str,
    name: &str,
    definition: &ServerDefinition,
) -> Result<String, DefinitionEditError> {
    let mut document = parse_document(text)?;
    // A comment in an otherwise empty file is its header, not its footer.
    let head =
        document.is_empty().then(|| document.trailing().as_str().unwrap_or_default().trim_end().to_owned());
    if head.is_some() {
        document.set_trailing("");
    }
    let servers = servers_table(&mut document)?;
    let new = server_table(definition);
    if let Some(old) = servers.get_mut(name).and_then(Item::as_table_mut) {
        merge_table(old, new);
        return Ok(document.to_string());
    }
    let mut new = new;
    new.decor_mut().set_prefix(match head.as_deref() {
        None => "\n".to_owned(),
        Some("") => FILE_HEADER.to_owned(),
        Some(head) => format!("{head}\n\n"),
    });
    servers.insert(name, Item::Table(new));
    Ok(document.to_string())
}

/// Returns the text without the server of this name, or `None` if there is no such server.
///
/// # Errors
/// [`DefinitionEditError`].
pub fn remove_server(text: &str, name: &str) -> Result<Option<String>, DefinitionEditError> {
    let mut document = parse_document(text)?;
    let servers = servers_table(&mut document)?;
    let first =
        servers.iter().filter_map(|(key, item)| Some((item.as_table()?.position()?, key.to_owned()))).min();
    let is_first = first.is_some_and(|(_, first)| first == name);
    let Some(removed) = servers.remove(name) else { return Ok(None) };
    // The comment at the start belongs to the file, not to its first entry.
    let head = removed.as_table().filter(|_| is_first).map(header_comment).unwrap_or_default();
    if !head.is_empty() {
        let next = servers
            .iter_mut()
            .filter_map(|(_, item)| item.as_table_mut())
            .min_by_key(|table| table.position());
        if let Some(next) = next {
            let own = prefix_of(next).trim_start_matches('\n').to_owned();
            next.decor_mut().set_prefix(format!("{head}{own}"));
        }
    }
    Ok(Some(document.to_string()))
}

fn parse_document(text: &str) -> Result<DocumentMut, DefinitionEditError> {
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).parse::<DocumentMut>()?)
}

fn servers_table(document: &mut DocumentMut) -> Result<&mut Table, DefinitionEditError> {
    let found = document.entry("servers").or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    found.as_table_mut().ok_or(DefinitionEditError::ServersNotTables)
}

fn prefix_of(table: &Table) -> &str {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default()
}

/// The comment before the first entry that belongs to the file: everything up to the last empty line.
fn header_comment(first: &Table) -> String {
    let prefix = prefix_of(first);
    let at = prefix.rfind("\n\n").map_or(0, |at| at + 2);
    prefix.get(..at).unwrap_or_default().to_owned()
}

/// Updates an entry to the values of another one, and keeps the formatting of equal values.
fn merge_table(old: &mut Table, new: Table) {
    let gone: Vec<String> =
        old.iter().map(|(key, _)| key.to_owned()).filter(|key| !new.contains_key(key)).collect();
    for key in gone {
        old.remove(&key);
    }
    for (key, mut item) in new {
        let Some(there) = old.get_mut(&key) else {
            old.insert(&key, item);
            continue;
        };
        if canonical_text(there) == canonical_text(&item) {
            continue;
        }
        if let (Some(before), Some(after)) = (there.as_value(), item.as_value_mut()) {
            *after.decor_mut() = before.decor().clone();
        }
        *there = item;
    }
}

/// The value of an item in canonical form.
fn canonical_text(item: &Item) -> String {
    fn of(value: &Value) -> String {
        match value {
            Value::String(text) => format!("{:?}", text.value()),
            Value::Boolean(yes) => yes.value().to_string(),
            Value::Array(all) => format!("[{}]", all.iter().map(of).collect::<Vec<_>>().join(",")),
            Value::InlineTable(table) => pairs(table.iter().map(|(key, value)| (key, of(value))).collect()),
            other => other.to_string().trim().to_owned(),
        }
    }
    fn pairs(mut pairs: Vec<(&str, String)>) -> String {
        pairs.sort();
        format!("{pairs:?}")
    }
    match item {
        Item::Value(value) => of(value),
        Item::Table(table) => pairs(table.iter().map(|(key, item)| (key, canonical_text(item))).collect()),
        _ => String::new(),
    }
}

/// The entry of a definition, without default values.
fn server_table(definition: &ServerDefinition) -> Table {
    let ServerDefinition {
        command,
        args,
        env,
        cwd,
        url,
        transport,
        era,
        headers,
        disabled,
        sampling,
        roots,
        oauth,
    } = definition;
    let mut table = Table::new();
    let mut put = |field: &str, said: Option<Value>| {
        if let Some(said) = said {
            table.insert(field, value(said));
        }
    };
    put("command", command.as_deref().map(Value::from));
    put("args", list(args));
    put("env", map(env));
    put("cwd", cwd.as_ref().map(|cwd| Value::from(cwd.display().to_string())));
    put("url", url.as_deref().map(Value::from));
    put("transport", transport_name(*transport).map(Value::from));
    put("era", era_name(*era).map(Value::from));
    put("headers", map(headers));
    for (field, is_on) in [("disabled", *disabled), ("sampling", *sampling), ("roots", *roots)] {
        put(field, is_on.then(|| Value::from(true)));
    }
    put("oauth", oauth.as_ref().map(oauth_table));
    table
}

fn transport_name(transport: TransportMode) -> Option<&'static str> {
    match transport {
        TransportMode::Auto => None,
        TransportMode::StreamableHttp => Some("streamable-http"),
        TransportMode::Sse => Some("sse"),
    }
}

fn era_name(era: EraMode) -> Option<&'static str> {
    match era {
        EraMode::Auto => None,
        EraMode::Older => Some("2025"),
        EraMode::Newer => Some("2026"),
    }
}

fn list(texts: &[String]) -> Option<Value> {
    (!texts.is_empty()).then(|| Value::Array(texts.iter().map(String::as_str).collect::<Array>()))
}

fn map(pairs: &std::collections::BTreeMap<String, String>) -> Option<Value> {
    (!pairs.is_empty()).then(|| {
        let pairs = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        Value::InlineTable(pairs.collect::<InlineTable>())
    })
}

fn oauth_table(oauth: &OauthDefinition) -> Value {
    let OauthDefinition {
        grant,
        client_id,
        client_secret,
        private_key,
        private_key_id,
        issuer,
        client_metadata_url,
        scopes,
        assertion,
        subject,
        dpop,
        identity_provider,
    } = oauth;
    let mut table = InlineTable::new();
    if !grant.is_default() {
        table.insert("grant", grant.as_str().into());
    }
    put_texts(
        &mut table,
        &[
            ("client_id", client_id),
            ("client_secret", client_secret),
            ("private_key", private_key),
            ("private_key_id", private_key_id),
            ("issuer", issuer),
            ("client_metadata_url", client_metadata_url),
            ("assertion", assertion),
            ("subject", subject),
        ],
    );
    if let Some(scopes) = list(scopes) {
        table.insert("scopes", scopes);
    }
    if *dpop {
        table.insert("dpop", true.into());
    }
    if let Some(provider) = identity_provider {
        table.insert("identity_provider", identity_provider_table(provider));
    }
    Value::InlineTable(table)
}

fn identity_provider_table(provider: &IdentityProviderDefinition) -> Value {
    let IdentityProviderDefinition {
        issuer,
        token_endpoint,
        client_id,
        client_secret,
        private_key,
        private_key_id,
        subject_token,
        subject_token_type,
    } = provider;
    let mut table = InlineTable::new();
    table.insert("issuer", issuer.as_str().into());
    put_texts(&mut table, &[("token_endpoint", token_endpoint)]);
    table.insert("client_id", client_id.as_str().into());
    put_texts(
        &mut table,
        &[("client_secret", client_secret), ("private_key", private_key), ("private_key_id", private_key_id)],
    );
    table.insert("subject_token", subject_token.as_str().into());
    if !subject_token_type.is_default() {
        table.insert("subject_token_type", subject_token_type.as_str().into());
    }
    Value::InlineTable(table)
}

fn put_texts(table: &mut InlineTable, texts: &[(&str, &Option<String>)]) {
    for (field, text) in texts {
        if let Some(text) = text {
            table.insert(*field, text.as_str().into());
        }
    }
}

#[cfg(test)]
mod tests;
