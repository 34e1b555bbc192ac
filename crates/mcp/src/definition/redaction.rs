//! Redaction of possible secrets in a definition.

use std::fmt;

use serde_json::Value;
use url::Url;

use super::{IdentityProviderDefinition, OauthDefinition, SECRET_PREFIX, ServerDefinition};

/// The placeholder of a hidden value.
pub const HIDDEN: &str = "[hidden]";

/// Words that mark a name as that of a secret.
const SECRET_WORDS: &[&str] =
    &["token", "secret", "password", "passwd", "passphrase", "credential", "apikey", "authorization"];
/// Words that mark a name as that of a secret if they are its last word.
const SECRET_LAST_WORDS: &[&str] = &["key", "pat", "auth", "pass", "pwd"];

/// Returns true if a value of this name is probably a secret: `GITHUB_TOKEN`, `api-key`, `dbPassword`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let joined: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    // `maxTokens` and `TOKENIZERS_PARALLELISM` count tokens, and `SECRET_FILE` is a path.
    let is_other = ["tokens", "tokenizer"].iter().any(|word| joined.contains(word))
        || ["file", "path", "dir"].iter().any(|word| joined.ends_with(word));
    let last = lower.rsplit(|c: char| !c.is_ascii_alphanumeric()).find(|part| !part.is_empty());
    let ends = last.is_some_and(|last| SECRET_LAST_WORDS.contains(&last)) || name.ends_with("Key");
    !is_other && (ends || SECRET_WORDS.iter().any(|word| joined.contains(word)))
}

/// Redacts an environment variable or header. A reference to a secret stays; any other value may be one.
fn redact_value(text: &str) -> String {
    if text.is_empty() || text.starts_with(SECRET_PREFIX) { text.to_owned() } else { HIDDEN.to_owned() }
}

/// Redacts arguments: the value after `--api-key` or `--api-key=` is hidden.
fn redact_args(args: &[String]) -> Vec<String> {
    let mut follows = false;
    args.iter()
        .map(|arg| {
            let hidden = std::mem::take(&mut follows) && !arg.starts_with('-');
            if hidden {
                return HIDDEN.to_owned();
            }
            let name = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
            let is_secret = is_secret_name(name) && !name.contains('/');
            match arg.split_once('=') {
                Some((name, _)) if is_secret => format!("{name}={HIDDEN}"),
                None if is_secret && arg.starts_with('-') => {
                    follows = true;
                    arg.clone()
                }
                _ => redact_address(arg),
            }
        })
        .collect()
}

/// Redacts an address: user info, and query values whose name marks a secret.
fn redact_address(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    let has_secret = url.query_pairs().any(|(name, _)| is_secret_name(&name));
    let has_user = url.password().is_some();
    if !has_secret && !has_user {
        return text.to_owned();
    }
    if has_user {
        let _ = url.set_password(Some("hidden"));
    }
    if has_secret {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value = if is_secret_name(&name) { HIDDEN.into() } else { value };
                (name.into_owned(), value.into_owned())
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
    }
    url.to_string()
}

impl ServerDefinition {
    /// Returns the definition with [`HIDDEN`] instead of possible secrets: values of `env` and `headers` that are not
    /// references, and values in `args` and `url` whose name marks a secret.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut shown = self.clone();
        shown.args = redact_args(&self.args);
        shown.url = self.url.as_deref().map(redact_address);
        for text in shown.env.values_mut().chain(shown.headers.values_mut()) {
            *text = redact_value(text);
        }
        shown.oauth = shown.oauth.as_ref().map(OauthDefinition::redacted);
        shown
    }

    /// The command or address of the server in one line, without secrets.
    #[must_use]
    pub fn location(&self) -> String {
        let shown = self.redacted();
        match (shown.command, shown.url) {
            (Some(command), _) => std::iter::once(command).chain(shown.args).collect::<Vec<_>>().join(" "),
            (None, url) => url.unwrap_or_default(),
        }
    }
}

impl OauthDefinition {
    fn redacted(&self) -> Self {
        let mut shown = self.clone();
        for value in shown.secret_values_mut() {
            *value = redact_value(value);
        }
        shown
    }
}

impl fmt::Debug for ServerDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_redacted(serde_json::to_value(self.redacted()), "ServerDefinition", f)
    }
}

impl fmt::Debug for OauthDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_redacted(serde_json::to_value(self.redacted()), "OauthDefinition", f)
    }
}

impl fmt::Debug for IdentityProviderDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProviderDefinition").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

fn debug_redacted(value: serde_json::Result<Value>, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut shown = f.debug_struct(name);
    if let Ok(Value::Object(fields)) = value {
        for (field, value) in &fields {
            shown.field(field, value);
        }
    }
    shown.finish()
}

#[cfg(test)]
mod tests;
