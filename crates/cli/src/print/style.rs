//! Text styles and their colours.

/// Style of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    /// No style.
    #[default]
    Plain,
    /// Table header or label.
    Label,
    /// Less important text.
    Faint,
    /// Success.
    Good,
    /// Warning.
    Warning,
    /// Error.
    Error,
    /// Hint.
    Hint,
    /// Name, or a command to type.
    Name,
}

impl Style {
    /// Applies the style if colours are allowed.
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
