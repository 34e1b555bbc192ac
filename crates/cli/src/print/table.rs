//! Tables that fit the terminal: columns shrink, widest first, down to a least width; then optional ones are
//! left out, the last first; where even that is too wide, each row becomes a block of `title: value` lines.
//! Where the output is no terminal nothing is cut.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::escape;
use super::style::Style;

/// Between two columns.
const COLUMN_GAP: usize = 2;
/// What stands for what was cut.
const ELLIPSIS: char = '…';

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnAlignment {
    Left,
    Right,
}

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    title: &'static str,
    align: ColumnAlignment,
    /// How narrow it may become; none keeps it whole.
    min_width: Option<usize>,
    /// Whether it is left out before rows become blocks.
    optional: bool,
}

impl TableColumn {
    /// Text that is shown whole.
    pub(crate) fn fixed(title: &'static str) -> Self {
        Self { title, align: ColumnAlignment::Left, min_width: None, optional: false }
    }

    /// Text that may be cut, to `least` characters at most.
    pub(crate) fn truncatable(title: &'static str, least: usize) -> Self {
        Self { title, align: ColumnAlignment::Left, min_width: Some(least), optional: false }
    }

    /// A number.
    pub(crate) fn number(title: &'static str) -> Self {
        Self { title, align: ColumnAlignment::Right, min_width: None, optional: false }
    }

    /// The same, left out where the terminal is too narrow.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// One cell. Its text is escaped.
#[derive(Debug, Clone)]
pub(crate) struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    /// With a style.
    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: escape::line(text.as_ref()), style }
    }
}

impl<T: AsRef<str>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::Plain)
    }
}

/// Rows under titles.
#[derive(Debug, Clone)]
pub(crate) struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TableCell>>,
}

impl TextTable {
    /// With these columns.
    pub(crate) fn new(columns: Vec<TableColumn>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add_row(&mut self, cells: Vec<TableCell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, for a terminal of this width where there is one.
    pub(crate) fn render(&self, width: Option<usize>, colour: bool) -> String {
        if let Some(widths) = self.widths(width) {
            return self.as_rows(&widths, colour);
        }
        match self.columns.iter().rposition(|column| column.optional) {
            Some(last) => self.without_column(last).render(width, colour),
            None => self.as_blocks(colour),
        }
    }

    /// The same without a column.
    fn without_column(&self, column: usize) -> Self {
        fn others<T: Clone>(all: &[T], column: usize) -> Vec<T> {
            all.iter().enumerate().filter(|(at, _)| *at != column).map(|(_, one)| one.clone()).collect()
        }
        Self {
            columns: others(&self.columns, column),
            rows: self.rows.iter().map(|row| others(row, column)).collect(),
        }
    }

    /// How wide each column is shown; none where they can't fit.
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

/// The text, cut to a width with `…` at its end.
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

/// Several `label  value` lines with the values under one another; values may have several lines.
#[derive(Debug, Default)]
pub(crate) struct LabeledValues(Vec<(&'static str, String)>);

impl LabeledValues {
    /// Adds a line.
    pub(crate) fn add(&mut self, label: &'static str, value: impl AsRef<str>) {
        self.0.push((label, escape::lines(value.as_ref())));
    }

    /// Adds a line where there is a value.
    pub(crate) fn add_optional(&mut self, label: &'static str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.add(label, value);
        }
    }

    /// The text.
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
