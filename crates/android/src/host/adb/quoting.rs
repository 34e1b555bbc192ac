//! Quotes words for the phone's shell and for its program `content`.

/// Returns a text as one word of a command line. Within single quotes, the shell has no special character
/// except the closing quote. A NUL can't be passed and is refused earlier (see `content`).
pub(super) fn quote_word(text: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '=' | ',' | '@');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Escaping of the value in `--extra KEY:TYPE:VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtraEscaping {
    /// Up to Android 10: the value is everything after the second colon, without escaping.
    Raw,
    /// From Android 11: the argument is split at colons, of which there must be two; a backslash escapes the
    /// next character (`Content.java`, `splitWithEscaping`).
    Backslash,
}

impl ExtraEscaping {
    /// Escapes a key or value.
    pub(super) fn write(self, text: &str) -> String {
        match self {
            Self::Raw => text.to_owned(),
            Self::Backslash => text.replace('\\', "\\\\").replace(':', "\\:"),
        }
    }

    /// Returns true if a text is the same in both.
    pub(super) fn is_same_in_both(text: &str) -> bool {
        !text.contains([':', '\\'])
    }
}
