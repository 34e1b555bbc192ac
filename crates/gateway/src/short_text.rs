//! Validates short texts that people type: names, labels, titles and ids.

use toolway_types::name::is_invisible;

/// Maximum length of a short text, in characters.
pub(crate) const MAX_SHORT_TEXT: usize = 128;

/// Error for a text that is not a valid short text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidShortText {
    /// The text is empty or too long.
    #[error("{field} has {length} characters; it must have 1 to {MAX_SHORT_TEXT}")]
    Length {
        /// The field's name.
        field: String,
        /// The text's length, in characters.
        length: usize,
    },
    /// The title is too long.
    #[error("title has {0} characters; it must have at most {MAX_SHORT_TEXT}")]
    TitleTooLong(usize),
    /// The text has an invisible character, so people can't distinguish it from other texts.
    #[error("{field} has a control or invisible character (U+{:04X})", u32::from(*.character))]
    Invisible {
        /// The field's name.
        field: String,
        /// The first such character.
        character: char,
    },
}

/// Validates a short text and returns it.
///
/// # Errors
/// [`InvalidShortText`] if the text is invalid.
pub(crate) fn check_short_text(field: &str, text: String) -> Result<String, InvalidShortText> {
    let length = text.chars().count();
    if !(1..=MAX_SHORT_TEXT).contains(&length) {
        return Err(InvalidShortText::Length { field: field.to_owned(), length });
    }
    match text.chars().find(|c| is_invisible(*c)) {
        Some(character) => Err(InvalidShortText::Invisible { field: field.to_owned(), character }),
        None => Ok(text),
    }
}

/// Validates a session's title. An empty title removes the title.
///
/// # Errors
/// [`InvalidShortText::TitleTooLong`] if it is too long.
pub(crate) fn check_title(title: &str) -> Result<(), InvalidShortText> {
    match title.chars().count() {
        ..=MAX_SHORT_TEXT => Ok(()),
        length => Err(InvalidShortText::TitleTooLong(length)),
    }
}

#[cfg(test)]
mod tests;
