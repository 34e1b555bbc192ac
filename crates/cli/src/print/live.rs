//! Lines at the end of what a terminal shows that change in place: the end of an answer that is still being written,
//! tools that run, a list to choose from. It gives the bytes to write; it knows no terminal.

use unicode_width::UnicodeWidthChar;

/// Stands for what was cut.
const ELLIPSIS: char = '…';
/// Back to the start of the line, then nothing of it and of what is below.
const CLEAR: &str = "\r\u{1b}[J";

/// The changing lines. The cursor stands at the end of the last.
#[derive(Debug)]
pub(crate) struct LiveRegion {
    width: usize,
    height: usize,
    rows: Vec<String>,
}

impl LiveRegion {
    /// For a terminal of so many columns and lines.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, rows: Vec::new() }
    }

    /// Shows these lines in place of those that are shown: what must be written for that. Each is cut to the width,
    /// and only the last are shown where the terminal has no room for all.
    pub(crate) fn update(&mut self, rows: &[String]) -> String {
        let skipped = rows.len().saturating_sub(self.height.saturating_sub(1).max(1));
        let rows: Vec<_> = rows.iter().skip(skipped).map(|row| truncate(row, self.width)).collect();
        let same = self.rows.iter().zip(&rows).take_while(|(old, new)| old == new).count();
        if same == self.rows.len() && same == rows.len() {
            return String::new();
        }
        // The cursor has to end behind the last line, so that is written again where the others go.
        let same = if same == rows.len() { same.saturating_sub(1) } else { same };
        let mut text = self.rewind_to(same);
        text.push_str(&rows.get(same..).unwrap_or_default().join("\n"));
        self.rows = rows;
        text
    }

    /// Shows these lines for good, in place of the changing ones: what must be written for that.
    pub(crate) fn print_above(&mut self, lines: &[String]) -> String {
        let mut text = self.rewind_to(0);
        self.rows.clear();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Leaves the first `kept` lines and takes the others away; the cursor is where the next line begins.
    fn rewind_to(&self, kept: usize) -> String {
        let shown = self.rows.len();
        match (shown, kept) {
            (0, _) => String::new(),
            // The line after the last does not exist yet.
            _ if kept >= shown => "\n".to_owned(),
            _ => {
                let up = shown - 1 - kept;
                let up = if up == 0 { String::new() } else { format!("\u{1b}[{up}A") };
                format!("{up}{CLEAR}")
            }
        }
    }
}

/// The line cut to a width. Its colours are no characters, and end with it.
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
        // The last column is for the mark, where more follows.
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

/// How many columns a line takes, its colours left out.
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
