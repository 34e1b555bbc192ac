//! What upstreams' prompts and resources are called where those of several are shown together. Reversible, since a
//! source's slug has neither `_` nor `+`, and begins with a letter, as a URI's scheme does (RFC 3986, section 3.1).

use toolway_types::Slug;

/// Stands between a source and its prompt.
const PROMPT_SEPARATOR: &str = "__";
/// Stands between a source and its resource's URI.
const URI_SEPARATOR: char = '+';

/// A prompt's name.
pub(crate) fn qualify_prompt(source: &Slug, name: &str) -> String {
    format!("{source}{PROMPT_SEPARATOR}{name}")
}

/// The source and its own name for a prompt.
pub(crate) fn split_prompt(name: &str) -> Option<(Slug, &str)> {
    let (source, own) = name.split_once(PROMPT_SEPARATOR)?;
    Some((source.parse().ok()?, own))
}

/// A resource's URI, or a template of such.
pub(crate) fn qualify_uri(source: &Slug, uri: &str) -> String {
    format!("{source}{URI_SEPARATOR}{uri}")
}

/// The source and its own URI.
pub(crate) fn split_uri(uri: &str) -> Option<(Slug, &str)> {
    let (source, own) = uri.split_once(URI_SEPARATOR)?;
    Some((source.parse().ok()?, own))
}

#[cfg(test)]
mod tests;
