//! Names of the prompts and resources of several upstreams in one list. They are reversible, because a slug contains
//! neither `_` nor `+`, and starts with a letter like a URI scheme (RFC 3986, section 3.1).

use toolway_types::Slug;

/// The separator between a source and its prompt.
const PROMPT_SEPARATOR: &str = "__";
/// The separator between a source and the URI of its resource.
const URI_SEPARATOR: char = '+';

/// The qualified name of a prompt.
pub(crate) fn qualify_prompt(source: &Slug, name: &str) -> String {
    format!("{source}{PROMPT_SEPARATOR}{name}")
}

/// Splits the qualified name of a prompt.
pub(crate) fn split_prompt(name: &str) -> Option<(Slug, &str)> {
    let (source, own) = name.split_once(PROMPT_SEPARATOR)?;
    Some((source.parse().ok()?, own))
}

/// The qualified URI of a resource or of a resource template.
pub(crate) fn qualify_uri(source: &Slug, uri: &str) -> String {
    format!("{source}{URI_SEPARATOR}{uri}")
}

/// Splits a qualified URI.
pub(crate) fn split_uri(uri: &str) -> Option<(Slug, &str)> {
    let (source, own) = uri.split_once(URI_SEPARATOR)?;
    Some((source.parse().ok()?, own))
}

#[cfg(test)]
mod tests;
