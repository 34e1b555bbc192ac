//! Names of tools and sources. The name of a tool never depends on the order in which sources connect.
//!
//! A tool's *id* is `source/tool`; globs, grants and policy match it. Models see its *exposed name*
//! `source__tool`. A pure function makes it and never gives two ids the same name: a slug contains no `_`, so
//! the first `__` ends it. A tool name that was changed or truncated carries a hash of the original. A name
//! that only looks like a hashed one is hashed too.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::text::{MAX_QUOTE, hex, truncate};

/// Maximum length of an exposed name; the limit of model APIs.
pub const MAX_FULL_NAME: usize = 64;
/// Maximum length of a slug.
pub const MAX_SLUG: usize = 24;
/// Maximum length of a tool name given by a source, in characters.
pub const MAX_TOOL_NAME: usize = 128;
/// Slugs that no device and no MCP server can get.
pub const RESERVED_SLUGS: &[&str] = &["builtin", "own", "shared"];

const HASH_LEN: usize = 12;
const HASH_MARK: &str = "_x";

/// Reason why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty.
    #[error("the name is empty")]
    Empty,
    /// The name has more than [`MAX_TOOL_NAME`] characters.
    #[error("the name has {0} characters, more than the {MAX_TOOL_NAME} allowed")]
    TooLong(usize),
    /// The name contains an invisible character.
    #[error("the name has a control or invisible character (U+{0:04X})")]
    InvisibleCharacter(u32),
    /// The text is not a slug.
    #[error("{0:?} is not a source name: a lower-case letter, then up to 23 of a-z, 0-9 and -")]
    NotASlug(String),
    /// The text does not have the form `source/tool`.
    #[error("{0:?} is not a tool id; it has the form source/tool")]
    NotAToolId(String),
}

/// True for characters that are invisible or change how their neighbours are displayed: controls, format
/// characters, fillers, variation selectors, tags.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F
            | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF)
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as shared text, without copying.
            #[must_use]
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_type! {
    /// Name of a tool as given by its source: 1 to 128 characters, none invisible.
    ToolName
}

impl FromStr for ToolName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let length = text.chars().count();
        if length > MAX_TOOL_NAME {
            return Err(NameError::TooLong(length));
        }
        match text.chars().find(|c| is_invisible(*c)) {
            Some(c) => Err(NameError::InvisibleCharacter(u32::from(c))),
            None => Ok(Self(text.into())),
        }
    }
}

text_type! {
    /// Immutable name of a source: `[a-z][a-z0-9-]{0,23}`.
    Slug
}

impl Slug {
    /// Source of Toolway's built-in tools.
    #[must_use]
    pub fn builtin() -> Self {
        Self("builtin".into())
    }

    /// Source of the tools defined by the owner.
    #[must_use]
    pub fn own() -> Self {
        Self("own".into())
    }

    /// True for the source of Toolway's built-in tools.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        &*self.0 == "builtin"
    }

    /// Derives a slug from a free-form name; `device` if no character can be used. The slug may be taken or
    /// reserved: [`Slug::with_number`] gives alternatives.
    #[must_use]
    pub fn from_label(label: &str) -> Self {
        let mut slug = String::new();
        for c in label.chars() {
            match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9') => slug.push(c),
                _ if slug.is_empty() || slug.ends_with('-') => {}
                _ => slug.push('-'),
            }
        }
        let from_letter = slug.trim_start_matches(|c: char| !c.is_ascii_lowercase());
        let cut = from_letter.get(..MAX_SLUG).unwrap_or(from_letter).trim_end_matches('-');
        if cut.is_empty() { Self("device".into()) } else { Self(cut.into()) }
    }

    /// Appends `-2`, `-3`, … for the case that the plain slug is taken.
    #[must_use]
    pub fn with_number(&self, number: u32) -> Self {
        let suffix = format!("-{number}");
        let room = MAX_SLUG.saturating_sub(suffix.len());
        let stem = self.0.get(..room).unwrap_or(&self.0).trim_end_matches('-');
        Self(format!("{stem}{suffix}").into())
    }

    /// True if the slug is reserved for Toolway.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        RESERVED_SLUGS.contains(&&*self.0)
    }
}

impl FromStr for Slug {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = text.len() <= MAX_SLUG
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if fits { Ok(Self(text.into())) } else { Err(NameError::NotASlug(truncate(text, MAX_QUOTE))) }
    }
}

/// Id of a tool, `source/tool`, used by globs, grants, policy and records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    /// Source of the tool.
    pub source: Slug,
    /// Name of the tool within its source.
    pub tool: ToolName,
}

impl ToolId {
    /// Creates the id from its two parts.
    #[must_use]
    pub fn new(source: Slug, tool: ToolName) -> Self {
        Self { source, tool }
    }

    /// Name shown to models and callers.
    #[must_use]
    pub fn full_name(&self) -> ExposedName {
        ExposedName::of(&self.source, self.tool.as_str())
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.tool)
    }
}

impl FromStr for ToolId {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let (source, tool) =
            text.split_once('/').ok_or_else(|| NameError::NotAToolId(truncate(text, MAX_QUOTE)))?;
        Ok(Self { source: source.parse()?, tool: tool.parse()? })
    }
}

impl Serialize for ToolId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

text_type! {
    /// Name shown to models: `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
    ExposedName
}

impl ExposedName {
    /// True if the exposed name of a tool is just the prefix of its source and its name.
    #[must_use]
    pub fn is_plain(source: &Slug, tool: &str) -> bool {
        let is_builtin = source.is_builtin();
        let prefix = if is_builtin { 0 } else { source.as_str().len() + "__".len() };
        let starts_well = !is_builtin || tool.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts_well
            && tool.len() <= MAX_FULL_NAME - prefix
            && tool.chars().all(is_usable)
            && !has_hash_form(tool)
            && !(is_builtin && tool.contains("__"))
    }

    /// Makes the exposed name of a tool: `source__tool`, or the bare name for a built-in tool. Pure and
    /// injective.
    #[must_use]
    pub fn of(source: &Slug, tool: &str) -> Self {
        let prefix = if source.is_builtin() { String::new() } else { format!("{source}__") };
        let room = MAX_FULL_NAME - prefix.len();
        if Self::is_plain(source, tool) {
            return Self(format!("{prefix}{tool}").into());
        }
        let mut stem: String = tool.chars().map(|c| if is_usable(c) { c } else { '_' }).collect();
        if prefix.is_empty() {
            while stem.contains("__") {
                stem = stem.replace("__", "_");
            }
            if !stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                stem.insert(0, '_');
            }
        }
        stem.truncate(room - HASH_MARK.len() - HASH_LEN);
        if prefix.is_empty() {
            // The hash mark starts with its own underscore.
            stem.truncate(stem.trim_end_matches('_').len());
        }
        Self(format!("{prefix}{stem}{HASH_MARK}{}", short_hash(tool)).into())
    }
}

impl FromStr for ExposedName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let fits = (1..=MAX_FULL_NAME).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if fits { Ok(Self(text.into())) } else { Err(NameError::NotAToolId(truncate(text, MAX_QUOTE))) }
    }
}

/// True for the characters of an exposed name.
fn is_usable(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// True if a name ends like a hashed name.
fn has_hash_form(name: &str) -> bool {
    let Some(at) = name.len().checked_sub(HASH_MARK.len() + HASH_LEN) else { return false };
    name.get(at..)
        .and_then(|tail| tail.strip_prefix(HASH_MARK))
        .is_some_and(|hash| hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

fn short_hash(name: &str) -> String {
    let mut hash = hex(&Sha256::digest(name.as_bytes()));
    hash.truncate(HASH_LEN);
    hash
}

#[cfg(test)]
mod tests;
