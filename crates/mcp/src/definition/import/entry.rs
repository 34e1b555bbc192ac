//! Conversion of one entry of a program's file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use toolway_types::Slug;

use super::placeholder::{braced_reference, reference};
use super::secret_names::SecretNames;
use super::{ImportedSecret, ImportedServer};
use crate::definition::{
    EraMode, OauthDefinition, SECRET_PREFIX, ServerDefinition, TransportMode, is_secret_name,
};

/// Fields without a meaning here, or with a redundant value.
const IGNORED_FIELDS: &[&str] =
    &["name", "id", "description", "note", "enabled", "gallery", "version", "$schema"];

/// Converts an entry to a definition. The error is the reason why this is impossible.
pub(super) fn read_entry(
    slug: &Slug,
    value: &Value,
    secret_names: &mut SecretNames,
) -> Result<ImportedServer, String> {
    let Value::Object(entry) = value else { return Err("it is not an object".to_owned()) };
    let mut reading = EntryReader {
        slug,
        entry,
        unused_fields: entry.keys().map(String::as_str).filter(|key| !IGNORED_FIELDS.contains(key)).collect(),
        secrets: Vec::new(),
        secret_names,
        notes: Vec::new(),
    };
    let definition = reading.definition()?;
    if definition.command.as_deref().is_some_and(|command| is_toolway(command, &definition.args)) {
        return Err("it is Toolway itself".to_owned());
    }
    let EntryReader { unused_fields: left, secrets, mut notes, .. } = reading;
    if !left.is_empty() {
        notes.push(format!("not taken over: {}", left.join(", ")));
    }
    definition.check().map_err(|flaws| {
        flaws.iter().map(|flaw| format!("{flaw} ({})", flaw.hint)).collect::<Vec<_>>().join("; ")
    })?;
    Ok(ImportedServer { slug: slug.clone(), definition, secrets, notes })
}

/// Returns true if a command is this gateway, which would become a source of itself.
fn is_toolway(command: &str, args: &[String]) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name == "toolway" && args.iter().any(|arg| arg == "mcp")
}

struct EntryReader<'e> {
    slug: &'e Slug,
    entry: &'e Map<String, Value>,
    /// The fields that are not converted yet.
    unused_fields: Vec<&'e str>,
    secrets: Vec<ImportedSecret>,
    secret_names: &'e mut SecretNames,
    notes: Vec<String>,
}

impl<'e> EntryReader<'e> {
    fn definition(&mut self) -> Result<ServerDefinition, String> {
        let kind = self.text("type")?.or(self.text("transport")?).map(|kind| kind.to_ascii_lowercase());
        let command = self.text("command")?;
        let addresses = ["url", "serverUrl", "httpUrl"].map(|field| (field, self.text(field)));
        let mut url = None;
        for (field, found) in addresses {
            url = found?.map(|found| (field, found)).or(url);
        }
        let era = match self.text("era")?.as_deref() {
            None | Some("auto") => EraMode::Auto,
            Some("2025") => EraMode::Older,
            Some("2026") => EraMode::Newer,
            Some(other) => return Err(format!("its era is {other:?}; use \"2025\" or \"2026\"")),
        };
        let mut definition =
            ServerDefinition { disabled: self.is_disabled(), era, ..ServerDefinition::default() };
        match (command, url) {
            (Some(command), None) => {
                definition.command = Some(without_placeholders("command", command, false)?);
                for (at, arg) in self.list("args")?.into_iter().enumerate() {
                    definition.args.push(without_placeholders(&format!("args[{at}]"), arg, false)?);
                }
                definition.env = self.values("env")?;
                definition.cwd = self
                    .text("cwd")?
                    .map(|cwd| without_placeholders("cwd", cwd, false))
                    .transpose()?
                    .map(PathBuf::from);
                if self.take("envFile").is_some() {
                    self.notes.push("its envFile is not read; put its variables into env".to_owned());
                }
                self.note_secret_args(&definition.args);
            }
            (None, Some((field, url))) => {
                definition.url = Some(without_placeholders(field, url, true)?);
                definition.headers = self.values("headers")?;
                definition.oauth = self.oauth()?;
                definition.transport = match kind.as_deref() {
                    Some("sse") => TransportMode::Sse,
                    Some("http" | "streamable-http" | "streamablehttp" | "streamable_http") => {
                        TransportMode::Auto
                    }
                    None | Some("remote") => TransportMode::Auto,
                    Some(other) => return Err(format!("its type is {other:?}, which is not supported")),
                };
            }
            (Some(_), Some(_)) => return Err("it has both a command and an address".to_owned()),
            (None, None) => return Err("it has neither a command nor an address".to_owned()),
        }
        Ok(definition)
    }

    fn take(&mut self, field: &str) -> Option<&'e Value> {
        self.unused_fields.retain(|left| *left != field);
        self.entry.get(field).filter(|value| !value.is_null())
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, String> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("its {field} is not a string")),
        }
    }

    fn list(&mut self, field: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("its {field} is not a list of strings");
        match self.take(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(all)) => all.iter().map(|one| scalar_text(one).ok_or_else(wrong)).collect(),
            Some(_) => Err(wrong()),
        }
    }

    fn is_disabled(&mut self) -> bool {
        let says = |value: Option<&Value>, yes: bool| value.and_then(Value::as_bool) == Some(yes);
        says(self.take("disabled"), true) || says(self.entry.get("enabled"), false)
    }

    /// Converts variables or headers. Probable secrets and the program's input placeholders become references.
    fn values(&mut self, field: &str) -> Result<BTreeMap<String, String>, String> {
        let wrong = || format!("its {field} is not an object of strings");
        let Some(value) = self.take(field) else { return Ok(BTreeMap::new()) };
        let mut values = BTreeMap::new();
        for (name, value) in value.as_object().ok_or_else(wrong)? {
            let text = scalar_text(value).ok_or_else(wrong)?;
            let said = self.value(field, name, text)?;
            values.insert(name.clone(), said);
        }
        Ok(values)
    }

    fn value(&mut self, field: &str, name: &str, text: String) -> Result<String, String> {
        let place = format!("{field}.{name}");
        if let Some(asked) = reference(&text) {
            let secret = self.secret_names.add(self.slug, name);
            if asked != text.trim() {
                self.notes.push(format!(
                    "{place} contains {asked}: store the whole value with `toolway secrets set {secret}`"
                ));
            } else {
                self.notes.push(format!("{place} was {asked}: store it with `toolway secrets set {secret}`"));
            }
            return Ok(format!("{SECRET_PREFIX}{secret}"));
        }
        // A header with an unknown purpose may be a credential.
        if !text.is_empty() && is_secret_name(name) {
            let secret = self.secret_names.add(self.slug, name);
            self.secrets.push(ImportedSecret { name: secret.clone(), field: place, value: text.into() });
            return Ok(format!("{SECRET_PREFIX}{secret}"));
        }
        if text.starts_with(SECRET_PREFIX) {
            return Err(format!("{place} starts with {SECRET_PREFIX:?}, which has another meaning here"));
        }
        Ok(text)
    }

    /// Converts a client that was registered by hand: `oauth` of Claude Code, `auth` of Cursor.
    fn oauth(&mut self) -> Result<Option<OauthDefinition>, String> {
        let (field, given) = match (self.take("oauth"), self.take("auth")) {
            (Some(given), _) => ("oauth", given),
            (None, Some(given)) => ("auth", given),
            (None, None) => return Ok(None),
        };
        let fields = given.as_object().ok_or_else(|| format!("its {field} is not an object"))?;
        let mut oauth = OauthDefinition::default();
        for (name, value) in fields {
            let place = format!("{field}.{name}");
            match (name.to_ascii_lowercase().replace('_', "").as_str(), value) {
                ("clientid", Value::String(id)) => {
                    oauth.client_id = Some(without_placeholders(&place, id.clone(), true)?);
                }
                ("clientsecret", Value::String(secret)) if oauth.client_secret.is_none() => {
                    oauth.client_secret = Some(self.value(field, "client_secret", secret.clone())?);
                }
                ("scopes", Value::Array(all)) => {
                    oauth.scopes = all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                }
                _ => self.notes.push(format!("not taken over: {place}")),
            }
        }
        Ok((oauth != OauthDefinition::default()).then_some(oauth))
    }

    fn note_secret_args(&mut self, args: &[String]) {
        let shown = ServerDefinition { args: args.to_vec(), ..ServerDefinition::default() }.redacted();
        if shown.args != args {
            self.notes.push(
                "an argument looks like a secret: it stands in the file, and others on this computer can see it while \
                 the program runs"
                    .to_owned(),
            );
        }
    }
}

/// Returns a string, number or boolean as text, because variables often have these types.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns a text without placeholders, or an error.
fn without_placeholders(field: &str, text: String, is_address: bool) -> Result<String, String> {
    // A shell that runs as the command fills in `$KEY` itself.
    let found = if is_address { reference(&text) } else { braced_reference(&text) };
    match found {
        Some(asked) => Err(format!(
            "its {field} contains {asked}, which only that program can fill in; replace it with the value"
        )),
        None => Ok(text),
    }
}
