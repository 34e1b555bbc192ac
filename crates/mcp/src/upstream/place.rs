//! Where a server is, in words that hold no secret.

use crate::definition::ServerDefinition;

/// Its command line or its address. Of an address, what may hold a secret (a user's name and password, the query) is
/// left out; the environment and headers, where secrets belong, are not part of it at all.
pub(super) fn place(definition: &ServerDefinition) -> String {
    match (&definition.command, &definition.url) {
        (Some(command), _) => {
            let words = std::iter::once(command).chain(&definition.args);
            words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        }
        (None, Some(url)) => address(url),
        (None, None) => String::new(),
    }
}

/// A word as a shell would want it, where it is not plain.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// An address without what may hold a secret.
pub(super) fn address(url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(url) else { return "an address that can't be read".to_owned() };
    // These fail for addresses that have no such part.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let has_query = url.query().is_some();
    url.set_query(None);
    url.set_fragment(None);
    let mut text = String::from(url);
    if has_query {
        text.push_str("?…");
    }
    text
}

#[cfg(test)]
mod tests;
