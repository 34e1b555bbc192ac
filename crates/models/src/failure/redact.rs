//! Takes secrets out of what others say: some providers repeat the key that they refuse.

use std::borrow::Cow;

use secrecy::ExposeSecret as _;

use crate::config::ProviderConfig;

/// What stands in a secret's place.
const MARK: &str = "[redacted]";
/// Shorter ones are not looked for: they would be found in innocent words.
const SHORTEST: usize = 6;

/// The text without the key, and without what the headers hold that carry secrets.
pub(super) fn redacted<'a>(config: &ProviderConfig, text: &'a str) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    let key = config.key.iter().map(|key| key.expose_secret().trim());
    let headers = config.headers.iter().filter(|(name, _)| holds_secret(name.as_str()));
    let headers = headers.filter_map(|(_, value)| value.to_str().ok());
    for secret in key.chain(headers).flat_map(|secret| [secret, bare(secret)]) {
        if secret.len() >= SHORTEST && text.contains(secret) {
            text = Cow::Owned(text.replace(secret, MARK));
        }
    }
    text
}

/// Without the word that says what kind of secret it is.
fn bare(secret: &str) -> &str {
    secret.split_once(' ').map_or(secret, |(_, bare)| bare.trim())
}

fn holds_secret(header: &str) -> bool {
    ["auth", "key", "token", "secret", "cookie", "password"].iter().any(|word| header.contains(word))
}
