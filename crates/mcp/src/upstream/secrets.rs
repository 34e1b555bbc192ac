//! References to secrets: `secret:NAME` in a server's environment and headers.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use toolway_secrets::SecretReader;

/// The prefix of a reference.
const PREFIX: &str = "secret:";

/// Resolves the references in these values. The result must not be shown.
pub(super) async fn resolve_values(
    source: &Arc<dyn SecretReader>,
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
                let secret = source.read_named(name);
                let secret =
                    secret.map_err(|error| format!("{key}: the secret {name:?} can't be read: {error}"))?;
                Ok((key, SecretString::from(secret.expose_secret().to_owned())))
            })
            .collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()))
}
