//! Updates lines at the end of a terminal in place: the end of a streamed answer, running tools, a list to choose from.
//! It returns the bytes to write and has no access to the terminal.

use unicode_width::UnicodeWidthChar;

/// Mark for truncated text.
const ELLIPSIS: char = '…';
/// Control sequence: go to the start of the line and clear everything from there.
const CLEAR: &str = "\r\u{1b}[J";

/// The changing lines. The cursor is at the end of the last one.
#[derive(Debug)]
pub(crate) struct LiveRegion {
    width: usize,
    height: usize,
    rows: Vec<String>,
}

impl LiveRegion {
    /// Creates a region for a terminal of this size.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, rows: Vec::new() }
    }

    /// Returns the text that replaces the current lines by these. Truncates each line to the width, and shows only the
    /// last ones if there are too many.
    pub(crate) fn update(&mut self, rows: &[String]) -> String {
        let skipped = rows.len().saturating_sub(self.height.saturating_sub(1).max(1));
        let rows: Vec<_> = rows.iter().skip(skipped).map(|row| truncate(row, self.width)).collect();
        let same = self.rows.iter().zip(&rows).take_while(|(old, new)| old == new).count();
        if same == self.rows.len() && same == rows.len() {
            return String::new();
        }
        // The cursor must end after the last line, so at least that line is written again.
        let same = if same == rows.len() { same.saturating_sub(1) } else { same };
        let mut text = self.rewind_to(same);
        text.push_str(&rows.get(same..).unwrap_or_default().join("\n"));
        self.rows = rows;
        text
    }

    /// Returns the text that prints final lines in place of the changing ones.
    pub(crate) fn print_above(&mut self, lines: &[String]) -> String {
        let mut text = self.rewind_to(0);
        self.rows.clear();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Returns the text that keeps the first `kept` lines, clears the others, and puts the cursor at the start of the
    /// next line.
    fn rewind_to(&self, kept: usize) -> String {
        let shown = self.rows.len();
        match (shown, kept) {
            (0, _) => String::new(),
            // The line after the last one does not exist yet.
            _ if kept >= shown => "\n".to_owned(),
            _ => {
                let up = shown - 1 - kept;
                let up = if up == 0 { String::new() } else { format!("\u{1b}[{up}A") };
                format!("{up}{CLEAR}")
            }
        }
    }
}

/// Truncates a line to a width. Colour codes have no width and are reset at the end.
pub(crate) fn truncate(line: &str, width: usize) -> String {
    let (mut kept, mut used, mut coloured) = (String::with_capacity(line.len()), 0, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            kept.push(c);
            kept.extend(chars.by_ref().take_while(|c| *c != 'm'));
            kept.push('m');
            coloured = true;
            continue;
        }
        let wide = c.width().unwrap_or_default();
        let room = width.saturating_sub(used);
        // Keep the last column for the ellipsis if more text follows.
        if wide > room || (wide == room && visible_width(chars.as_str()) > 0) {
            kept.push(ELLIPSIS);
            if coloured {
                kept.push_str("\u{1b}[0m");
            }
            return kept;
        }
        used += wide;
        kept.push(c);
    }
    kept
}

/// Returns the width of a line in columns, without its colour codes.
pub(crate) fn visible_width(line: &str) -> usize {
    let (mut used, mut chars) = (0, line.chars());
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            used += c.width().unwrap_or_default();
        }
    }
    used
}

#[cfg(test)]
mod tests;
