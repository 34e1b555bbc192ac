//! Full names of settings, for example `timeouts.tools."laptop/disk"`, as lists of parts.

use std::fmt;

use serde_json::Value;
use toolway_mcp::definition::ServerDefinition;

/// Replacement for a secret value.
const REDACTED: &str = "[hidden]";
/// Settings that contain a file path.
const PATH_SETTINGS: &[&str] = &["tls.cert", "tls.key"];

/// Full name of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SettingKey(Vec<String>);

impl SettingKey {
    /// Creates a key from its parts.
    pub(crate) fn from_parts(parts: &[&str]) -> Self {
        Self(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    /// Parses dotted parts. Does not support quotes.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    /// Returns the key with one more part.
    pub(crate) fn child(&self, part: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_owned());
        Self(parts)
    }

    /// Returns the key of the table that contains this one.
    pub(crate) fn parent(&self) -> Self {
        Self(self.0.iter().take(self.0.len().saturating_sub(1)).cloned().collect())
    }

    /// Returns the parts.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }

    /// Returns the last part.
    pub(crate) fn last_part(&self) -> &str {
        self.0.last().map(String::as_str).unwrap_or_default()
    }

    /// True if the key is inside the table.
    pub(crate) fn is_below(&self, table: &Self) -> bool {
        self.0.len() > table.0.len() && self.0.starts_with(&table.0)
    }

    /// True if the value is a file path.
    pub(crate) fn is_path(&self) -> bool {
        PATH_SETTINGS.contains(&self.to_string().as_str())
    }

    /// Returns the paths of files and folders inside the value.
    pub(crate) fn paths_in<'v>(&self, value: &'v mut Value) -> Vec<&'v mut String> {
        let text = |value: &'v mut Value| if let Value::String(text) = value { Some(text) } else { None };
        let parts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        match (parts.as_slice(), value) {
            (["tools", "own"], Value::Array(files)) => files.iter_mut().filter_map(text).collect(),
            (["tools", "files", "folders"], Value::Array(folders)) => {
                folders.iter_mut().filter_map(|folder| folder.get_mut("path").and_then(text)).collect()
            }
            (["hooks"], Value::Array(hooks)) => {
                hooks.iter_mut().filter_map(|hook| hook.get_mut("secret_file").and_then(text)).collect()
            }
            (["secrets", _, "file"] | ["mcp", "servers", _, "cwd"], value) => {
                text(value).into_iter().collect()
            }
            (_, value) if self.is_path() => text(value).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// True if the name shows that the value is secret.
    pub(crate) fn is_secret(&self) -> bool {
        let last = self.last_part().to_ascii_lowercase();
        let secret = ["token", "secret", "password", "passphrase"];
        !self.is_path() && (last.ends_with("_key") || secret.iter().any(|word| last.ends_with(word)))
    }

    /// Returns the value without secrets.
    pub(crate) fn redact(&self, value: &Value) -> Value {
        if let ["mcp", "servers", _, field, ..] =
            self.0.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        {
            return self.redact_server_field(field, value);
        }
        // Numbers are not secret, whatever the name (`sources_per_token`).
        if self.is_secret() && value.is_string() { Value::from(REDACTED) } else { value.clone() }
    }

    /// Redacts a field of an MCP server.
    fn redact_server_field(&self, field: &str, value: &Value) -> Value {
        let whole =
            self.0.iter().skip(3).rev().fold(value.clone(), |inner, part| {
                Value::Object([(part.clone(), inner)].into_iter().collect())
            });
        let shown = serde_json::from_value::<ServerDefinition>(whole)
            .ok()
            .and_then(|definition| serde_json::to_value(definition.redacted()).ok())
            .unwrap_or_default();
        let within = self.0.iter().skip(3).try_fold(&shown, |inner, part| inner.get(part));
        // The redacted form omits default values.
        match within {
            Some(shown) => shown.clone(),
            None if matches!(field, "env" | "headers" | "oauth") && value.is_string() => {
                Value::from(REDACTED)
            }
            None => value.clone(),
        }
    }

    /// Wraps the value into nested objects for its key.
    pub(crate) fn nest(&self, value: Value) -> Value {
        self.0
            .iter()
            .rev()
            .fold(value, |inner, part| Value::Object([(part.clone(), inner)].into_iter().collect()))
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !part.is_empty() && part.chars().all(bare) {
                f.write_str(part)?
            } else {
                write!(f, "{part:?}")?
            }
        }
        Ok(())
    }
}
