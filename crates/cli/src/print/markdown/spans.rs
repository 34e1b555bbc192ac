//! Styled text spans and line wrapping.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Style of a text span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TextStyle {
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) struck: bool,
    pub(super) underlined: bool,
    pub(super) faint: bool,
    pub(super) code: bool,
}

impl TextStyle {
    /// Style of less important text.
    pub(super) const FAINT: Self =
        Self { bold: false, italic: false, struck: false, underlined: false, faint: true, code: false };

    /// Returns the parameters of the ANSI escape sequence.
    fn codes(self) -> String {
        let codes = [
            (self.bold, "1"),
            (self.faint, "2"),
            (self.italic, "3"),
            (self.underlined, "4"),
            (self.struck, "9"),
            (self.code, "36"),
        ];
        codes.into_iter().filter(|(has, _)| *has).map(|(_, code)| code).collect::<Vec<_>>().join(";")
    }
}

/// Text with one style. It is escaped; a line feed ends a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledSpan {
    pub(super) text: String,
    pub(super) style: TextStyle,
}

impl StyledSpan {
    pub(super) fn new(text: impl Into<String>, look: TextStyle) -> Self {
        Self { text: text.into(), style: look }
    }
}

/// Returns the text of a line, with colours if they are allowed.
pub(super) fn paint(spans: &[StyledSpan], colour: bool) -> String {
    let mut text = String::new();
    for StyledSpan { text: piece, style: look } in spans {
        let codes = if colour { look.codes() } else { String::new() };
        if codes.is_empty() || piece.is_empty() {
            text.push_str(piece);
        } else {
            text.push_str(&format!("\u{1b}[{codes}m{piece}\u{1b}[0m"));
        }
    }
    text
}

/// Returns the width of a line in columns.
pub(super) fn width(spans: &[StyledSpan]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

/// Wraps text to a width, at spaces if possible. Longer words are broken.
pub(super) fn wrap(spans: &[StyledSpan], width: usize) -> Vec<Vec<StyledSpan>> {
    let mut lines = Vec::new();
    let mut line = WrappedLine::default();
    for (c, look) in spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.style))) {
        if c == '\n' {
            lines.push(std::mem::take(&mut line).spans());
            continue;
        }
        let wide = c.width().unwrap_or_default();
        if line.used + wide > width && !line.chars.is_empty() {
            // A space at the end of a line is invisible, so it needs no column.
            if c == ' ' {
                line.broken_at_space = true;
                continue;
            }
            let rest = if line.broken_at_space { WrappedLine::default() } else { line.split_at_space() };
            lines.push(std::mem::replace(&mut line, rest).spans());
        }
        if c == ' ' && line.chars.is_empty() && !lines.is_empty() {
            continue;
        }
        line.push(c, look, wide);
    }
    lines.push(line.spans());
    lines
}

#[derive(Debug, Default)]
struct WrappedLine {
    chars: Vec<(char, TextStyle)>,
    used: usize,
    /// Number of characters before the last space.
    space: Option<usize>,
    /// True if a space did not fit.
    broken_at_space: bool,
}

impl WrappedLine {
    fn push(&mut self, c: char, look: TextStyle, wide: usize) {
        if c == ' ' {
            self.space = Some(self.chars.len());
        }
        self.chars.push((c, look));
        self.used += wide;
    }

    /// Cuts the line at its last space and returns the rest; an empty line if there is no space.
    fn split_at_space(&mut self) -> Self {
        let Some(space) = self.space.filter(|space| *space > 0) else { return Self::default() };
        let after = self.chars.split_off(space + 1);
        self.chars.pop();
        let used = after.iter().map(|(c, _)| c.width().unwrap_or_default()).sum();
        Self { chars: after, used, space: None, broken_at_space: false }
    }

    fn spans(self) -> Vec<StyledSpan> {
        let mut spans: Vec<StyledSpan> = Vec::new();
        let kept = self.chars.len() - self.chars.iter().rev().take_while(|(c, _)| *c == ' ').count();
        for (c, look) in self.chars.into_iter().take(kept) {
            match spans.last_mut() {
                Some(last) if last.style == look => last.text.push(c),
                _ => spans.push(StyledSpan::new(c, look)),
            }
        }
        spans
    }
}
