//! Redaction of secrets in quotes: some providers repeat the key that they refuse.

use std::borrow::Cow;

use secrecy::ExposeSecret as _;

use crate::config::ProviderConfig;

/// Replacement for a secret.
const REDACTED_PLACEHOLDER: &str = "[redacted]";
/// Shorter secrets are not redacted, because they would match ordinary words.
const MIN_SECRET_BYTES: usize = 6;

/// Removes the key and the values of secret headers from a text.
pub(super) fn redact_secrets<'a>(config: &ProviderConfig, text: &'a str) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    let key = config.key.iter().map(|key| key.expose_secret().trim());
    let headers = config.headers.iter().filter(|(name, _)| is_secret_header(name.as_str()));
    let headers = headers.filter_map(|(_, value)| value.to_str().ok());
    for secret in key.chain(headers).flat_map(|secret| [secret, strip_auth_scheme(secret)]) {
        if secret.len() >= MIN_SECRET_BYTES && text.contains(secret) {
            text = Cow::Owned(text.replace(secret, REDACTED_PLACEHOLDER));
        }
    }
    text
}

/// Returns a secret without a prefix for its type.
fn strip_auth_scheme(secret: &str) -> &str {
    secret.split_once(' ').map_or(secret, |(_, bare)| bare.trim())
}

fn is_secret_header(header: &str) -> bool {
    ["auth", "key", "token", "secret", "cookie", "password"].iter().any(|word| header.contains(word))
}
