//! What upstreams' prompts and resources are called where those of several are shown together. Reversible, since a
//! source's slug has neither `_` nor `+`, and begins with a letter, as a URI's scheme does (RFC 3986, section 3.1).

use toolway_types::Slug;

/// Stands between a source and its prompt.
const OF_PROMPT: &str = "__";
/// Stands between a source and its resource's URI.
const OF_URI: char = '+';

/// A prompt's name.
pub(crate) fn prompt(source: &Slug, name: &str) -> String {
    format!("{source}{OF_PROMPT}{name}")
}

/// The source and its own name for a prompt.
pub(crate) fn of_prompt(name: &str) -> Option<(Slug, &str)> {
    let (source, own) = name.split_once(OF_PROMPT)?;
    Some((source.parse().ok()?, own))
}

/// A resource's URI, or a template of such.
pub(crate) fn uri(source: &Slug, uri: &str) -> String {
    format!("{source}{OF_URI}{uri}")
}

/// The source and its own URI.
pub(crate) fn of_uri(uri: &str) -> Option<(Slug, &str)> {
    let (source, own) = uri.split_once(OF_URI)?;
    Some((source.parse().ok()?, own))
}

#[cfg(test)]
mod tests;
