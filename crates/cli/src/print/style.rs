//! The few colours that are used, and for what.

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    /// As it is.
    #[default]
    Plain,
    /// The head of a table, a label.
    Label,
    /// Of lesser interest.
    Faint,
    /// As it should be.
    Good,
    /// To be looked at.
    Warning,
    /// Wrong.
    Error,
    /// What to do.
    Hint,
    /// A name or a command to type.
    Name,
}

impl Style {
    /// The text in this style, where colour may be used.
    pub(crate) fn paint(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Label => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Warning => "33",
            Self::Error => "1;31",
            Self::Hint => "1;36",
            Self::Name => "36",
        };
        if colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
