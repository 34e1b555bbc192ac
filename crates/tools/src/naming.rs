//! Names of built-in tools and tools defined by the owner: snake_case, each used once. Names from other
//! sources are only flagged; see `toolway_types::name`.

use std::collections::HashSet;

/// Maximum length of a name, in bytes; the limit of model APIs.
pub const MAX_OWN_NAME: usize = 64;

/// Reason why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOwnName {
    /// The name is empty.
    #[error("the name is empty")]
    Empty,
    /// The name has more than [`MAX_OWN_NAME`] characters.
    #[error("the name {name:?} has {length} characters, more than the {MAX_OWN_NAME} allowed")]
    TooLong {
        /// Start of the name.
        name: String,
        /// Length of the name, in characters.
        length: usize,
    },
    /// The name is not in snake_case.
    #[error(
        "{0:?} is not in snake_case: lower-case letters and digits, the first a letter, in words with one _ \
         between them, such as read_file"
    )]
    NotSnakeCase(String),
    /// The name is used twice.
    #[error("there are two tools named {0:?}")]
    Twice(String),
}

/// Checks the name of a built-in tool or a tool of the owner: `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, at most
/// [`MAX_OWN_NAME`] characters.
///
/// # Errors
/// [`BadOwnName`] describes the problem.
pub fn check_own_name(name: &str) -> Result<(), BadOwnName> {
    if name.is_empty() {
        return Err(BadOwnName::Empty);
    }
    if name.len() > MAX_OWN_NAME {
        let beginning: String = name.chars().take(MAX_OWN_NAME).collect();
        return Err(BadOwnName::TooLong { name: format!("{beginning}…"), length: name.chars().count() });
    }
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('_').all(is_word);
    if fits { Ok(()) } else { Err(BadOwnName::NotSnakeCase(name.to_owned())) }
}

/// Checks the names of several tools, and that each is used once.
///
/// # Errors
/// [`BadOwnName`] for the first invalid name.
pub fn check_own_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), BadOwnName> {
    let mut seen = HashSet::new();
    for name in names {
        check_own_name(name)?;
        if !seen.insert(name) {
            return Err(BadOwnName::Twice(name.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
