//! How built-in tools and those that the owner defines are named: snake_case, each once. Names that come from
//! elsewhere are a matter of `toolway_types::name` and only flagged.

use std::collections::HashSet;

/// Longest name, in bytes: what model APIs accept.
pub const MAX_OWN_NAME: usize = 64;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOwnName {
    /// Nothing in it.
    #[error("the name is empty")]
    Empty,
    /// More than [`MAX_OWN_NAME`] characters.
    #[error("the name {name:?} has {length} characters, more than the {MAX_OWN_NAME} allowed")]
    TooLong {
        /// Its beginning.
        name: String,
        /// How many characters it has.
        length: usize,
    },
    /// Not snake_case.
    #[error(
        "{0:?} is not in snake_case: lower-case letters and digits, the first a letter, in words with one _ \
         between them, such as read_file"
    )]
    NotSnakeCase(String),
    /// There is one of this name.
    #[error("there are two tools named {0:?}")]
    Twice(String),
}

/// Whether a built-in or owner-made tool may have this name: `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, at most
/// [`MAX_OWN_NAME`] characters.
///
/// # Errors
/// [`BadOwnName`] says what is wrong with it.
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

/// Whether each of these tools may have its name, and no two have the same.
///
/// # Errors
/// [`BadOwnName`] of the first that can't stand.
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
