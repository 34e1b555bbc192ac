//! Words for the phone's shell, and for the program `content` behind it.

/// One word of a command line, whatever is in it. Within single quotes the shell knows no special character but the
/// closing quote. A NUL can't be passed; it is left out by nobody but refused before (see `content`).
pub(super) fn quote_word(text: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '=' | ',' | '@');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How `content` reads the value in `--extra KEY:TYPE:VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtraEscaping {
    /// Up to Android 10: the value is everything behind the second colon, as it is.
    Raw,
    /// From Android 11 on: the whole is split at colons, of which there must be two; a backslash takes the next
    /// character for itself. (`Content.java`, `splitWithEscaping`.)
    Backslash,
}

impl ExtraEscaping {
    /// A key or value as it has to be written.
    pub(super) fn write(self, text: &str) -> String {
        match self {
            Self::Raw => text.to_owned(),
            Self::Backslash => text.replace('\\', "\\\\").replace(':', "\\:"),
        }
    }

    /// Whether a text is written in the same way in both.
    pub(super) fn is_same_in_both(text: &str) -> bool {
        !text.contains([':', '\\'])
    }
}
