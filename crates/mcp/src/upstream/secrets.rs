//! References to secrets: `secret:NAME` in a server's environment and headers.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

/// The prefix of a reference.
const PREFIX: &str = "secret:";

/// Resolves secrets by name.
pub trait SecretResolver: Send + Sync + 'static {
    /// Returns the secret of this name. It may read a file or a keyring, so it is called on a thread for blocking
    /// work.
    ///
    /// # Errors
    /// The reason as the continuation of "the secret NAME".
    fn resolve(&self, name: &str) -> Result<SecretString, String>;
}

/// A resolver without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl SecretResolver for NoSecrets {
    fn resolve(&self, _: &str) -> Result<SecretString, String> {
        Err("is not there".to_owned())
    }
}

/// Resolves the references in these values. The result must not be shown.
pub(super) async fn resolve_values(
    source: &Arc<dyn SecretResolver>,
    values: &BTreeMap<String, String>,
) -> Result<Vec<(String, SecretString)>, String> {
    if values.values().all(|value| !value.starts_with(PREFIX)) {
        return Ok(values.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect());
    }
    let (source, values) = (Arc::clone(source), values.clone());
    let read = move || {
        values
            .into_iter()
            .map(|(key, value)| {
                let Some(name) = value.strip_prefix(PREFIX) else { return Ok((key, value.into())) };
                let secret = source.resolve(name);
                let secret = secret.map_err(|why| format!("{key}: the secret {name:?} {why}"))?;
                Ok((key, SecretString::from(secret.expose_secret().to_owned())))
            })
            .collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()))
}
