//! Renders tables: columns shrink to fit, and long cells wrap.

use pulldown_cmark::Alignment;

use super::spans::{StyledSpan, TextStyle, width, wrap};

/// Separator of columns.
const COLUMN_SEPARATOR: &str = " │ ";
/// Minimum width of a column.
const MIN_COLUMN_WIDTH: usize = 6;

/// A table that is being parsed.
#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    /// The first row is the header.
    rows: Vec<Vec<Vec<StyledSpan>>>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, text: Vec<StyledSpan>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(text);
        }
    }

    /// Returns the lines for a width.
    pub(super) fn lines(self, available: usize) -> Vec<Vec<StyledSpan>> {
        match self.widths(available) {
            Some(widths) => self.as_rows(&widths),
            None => self.as_blocks(available),
        }
    }

    /// Returns the column widths; `None` if they cannot fit.
    fn widths(&self, available: usize) -> Option<Vec<usize>> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let natural =
            |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max();
        let mut widths: Vec<usize> = (0..count).map(|at| natural(at).unwrap_or_default()).collect();
        let gaps = 3 * count.saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        while excess > 0 {
            let widest =
                widths.iter_mut().max_by_key(|width| **width).filter(|width| **width > MIN_COLUMN_WIDTH)?;
            *widest -= 1;
            excess -= 1;
        }
        Some(widths)
    }

    fn as_rows(&self, widths: &[usize]) -> Vec<Vec<StyledSpan>> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<_> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| row.get(at).map(|cell| wrap(cell, (*width).max(1))).unwrap_or_default())
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            lines.extend((0..height).map(|line| self.line(&cells, widths, line)));
            if number == 0 {
                let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![StyledSpan::new(rule.join("─┼─"), TextStyle::FAINT)]);
            }
        }
        lines
    }

    /// Returns one line of a row.
    fn line(&self, cells: &[Vec<Vec<StyledSpan>>], widths: &[usize], number: usize) -> Vec<StyledSpan> {
        let mut line = Vec::new();
        for (at, (cell, wide)) in cells.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push(StyledSpan::new(COLUMN_SEPARATOR, TextStyle::FAINT));
            }
            let text = cell.get(number).cloned().unwrap_or_default();
            let free = wide.saturating_sub(width(&text));
            let before = match self.alignments.get(at) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                _ => 0,
            };
            line.push(StyledSpan::new(" ".repeat(before), TextStyle::default()));
            line.extend(text);
            if at + 1 < cells.len() {
                line.push(StyledSpan::new(" ".repeat(free - before), TextStyle::default()));
            }
        }
        line
    }

    /// Renders each row as `title: value` lines.
    fn as_blocks(&self, available: usize) -> Vec<Vec<StyledSpan>> {
        let mut lines = Vec::new();
        let mut rows = self.rows.iter();
        let head = rows.next();
        for (number, row) in rows.enumerate() {
            if number > 0 {
                lines.push(Vec::new());
            }
            for (at, cell) in row.iter().enumerate() {
                let mut text = head.and_then(|head| head.get(at)).cloned().unwrap_or_default();
                text.push(StyledSpan::new(": ", TextStyle::default()));
                text.extend(cell.iter().cloned());
                lines.extend(wrap(&text, available));
            }
        }
        lines
    }
}
