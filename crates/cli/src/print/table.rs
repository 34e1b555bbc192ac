//! Tables that fit the terminal. Columns shrink to their minimum width, the widest first. Then optional columns are
//! dropped, the last first. If that is not enough, each row becomes a block of `title: value` lines. Output to files
//! and pipes is never truncated.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::escape;
use super::style::Style;

/// Gap between columns.
const COLUMN_GAP: usize = 2;
/// Mark for truncated text.
const ELLIPSIS: char = '…';

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnAlignment {
    Left,
    Right,
}

/// A table column.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    title: &'static str,
    align: ColumnAlignment,
    /// Minimum width; `None` if the column must not shrink.
    min_width: Option<usize>,
    /// True if the column may be dropped.
    optional: bool,
}

impl TableColumn {
    /// Creates a column that is never truncated.
    pub(crate) fn fixed(title: &'static str) -> Self {
        Self { title, align: ColumnAlignment::Left, min_width: None, optional: false }
    }

    /// Creates a column that may be truncated to `least` characters.
    pub(crate) fn truncatable(title: &'static str, least: usize) -> Self {
        Self { title, align: ColumnAlignment::Left, min_width: Some(least), optional: false }
    }

    /// Creates a right-aligned column for numbers.
    pub(crate) fn number(title: &'static str) -> Self {
        Self { title, align: ColumnAlignment::Right, min_width: None, optional: false }
    }

    /// Allows dropping the column on narrow terminals.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// A table cell. Its text is escaped.
#[derive(Debug, Clone)]
pub(crate) struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    /// Creates a cell with a style.
    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: escape::line(text.as_ref()), style }
    }
}

impl<T: AsRef<str>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::Plain)
    }
}

/// A table with a header.
#[derive(Debug, Clone)]
pub(crate) struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TableCell>>,
}

impl TextTable {
    /// Creates a table with these columns.
    pub(crate) fn new(columns: Vec<TableColumn>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add_row(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// True if there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table for a terminal of this width; without a limit for `None`.
    pub(crate) fn render(&self, width: Option<usize>, colour: bool) -> String {
        if let Some(widths) = self.widths(width) {
            return self.as_rows(&widths, colour);
        }
        match self.columns.iter().rposition(|column| column.optional) {
            Some(last) => self.without_column(last).render(width, colour),
            None => self.as_blocks(colour),
        }
    }

    /// Returns the table without a column.
    fn without_column(&self, column: usize) -> Self {
        fn others<T: Clone>(all: &[T], column: usize) -> Vec<T> {
            all.iter().enumerate().filter(|(at, _)| *at != column).map(|(_, one)| one.clone()).collect()
        }
        Self {
            columns: others(&self.columns, column),
            rows: self.rows.iter().map(|row| others(row, column)).collect(),
        }
    }

    /// Returns the column widths; `None` if they cannot fit.
    fn widths(&self, available: Option<usize>) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
                cells.chain([column.title.width()]).max().unwrap_or_default()
            })
            .collect();
        let Some(available) = available else { return Some(widths) };
        let gaps = COLUMN_GAP * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        while excess > 0 {
            let (width, _) = widths
                .iter_mut()
                .zip(&self.columns)
                .filter(|(width, column)| {
                    column.min_width.is_some_and(|least| **width > least.max(column.title.width()))
                })
                .max_by_key(|(width, _)| **width)?;
            *width -= 1;
            excess -= 1;
        }
        Some(widths)
    }

    fn as_rows(&self, widths: &[usize], colour: bool) -> String {
        let titles =
            self.columns.iter().map(|it| TableCell::styled(it.title, Style::Label)).collect::<Vec<_>>();
        let mut text = String::new();
        for row in [&titles].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(widths) {
                if !line.is_empty() {
                    line.push_str(&" ".repeat(COLUMN_GAP));
                }
                let shown = truncate_to(&cell.text, *width);
                let padding = " ".repeat(width.saturating_sub(shown.width()));
                let painted = cell.style.paint(&shown, colour);
                match column.align {
                    ColumnAlignment::Left => line.extend([painted, padding]),
                    ColumnAlignment::Right => line.extend([padding, painted]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn as_blocks(&self, colour: bool) -> String {
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                text.push('\n');
            }
            for (cell, column) in row.iter().zip(&self.columns).filter(|(cell, _)| !cell.text.is_empty()) {
                let title = Style::Label.paint(&format!("{}:", column.title), colour);
                text.push_str(&format!("{title} {}\n", cell.style.paint(&cell.text, colour)));
            }
        }
        text
    }
}

/// Truncates text to a width, with `…` at the end.
fn truncate_to(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut shown, mut used) = (String::new(), 0);
    for c in text.chars() {
        let wide = c.width().unwrap_or_default();
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        shown.push(c);
    }
    shown.push(ELLIPSIS);
    shown
}

/// Aligned `label  value` lines. Values may have several lines.
#[derive(Debug, Default)]
pub(crate) struct LabeledValues(Vec<(&'static str, String)>);

impl LabeledValues {
    /// Adds a line.
    pub(crate) fn add(&mut self, label: &'static str, value: impl AsRef<str>) {
        self.0.push((label, escape::lines(value.as_ref())));
    }

    /// Adds a line, if there is a value.
    pub(crate) fn add_optional(&mut self, label: &'static str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.add(label, value);
        }
    }

    /// Renders the lines.
    pub(crate) fn render(&self, colour: bool) -> String {
        let widest = self.0.iter().map(|(label, _)| label.width()).max().unwrap_or_default();
        let mut text = String::new();
        for (label, value) in &self.0 {
            let padding = " ".repeat(widest.saturating_sub(label.width()) + COLUMN_GAP);
            let value = value.replace('\n', &format!("\n{}", " ".repeat(widest + COLUMN_GAP)));
            text.push_str(&format!("{}{padding}{value}\n", Style::Label.paint(label, colour)));
        }
        text
    }
}

#[cfg(test)]
mod tests;
