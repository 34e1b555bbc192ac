//! Escapes headings of a quoted text, both forms of CommonMark (0.31, sections 4.2 and 4.3): `# Title`, and a line of
//! `=` or `-` below the title.

use std::borrow::Cow;

/// Escapes a line that is a heading, or that makes the line before it one. Other lines stay unchanged.
pub(super) fn escape_heading(line: &str) -> Cow<'_, str> {
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        if let Some(escaped) = escape_content(rest) {
            let (containers, _) = line.split_at(line.len() - rest.len());
            return Cow::Owned(format!("{containers}{escaped}"));
        }
        if is_thematic_break(rest) {
            return Cow::Borrowed(line);
        }
        // A heading may also be in a list, a quote, a footnote or a definition.
        match strip_container(rest) {
            Some(inner) => rest = inner,
            None => return Cow::Borrowed(line),
        }
    }
}

/// Returns the escaped text of a line without its containers, if it is part of a heading.
fn escape_content(content: &str) -> Option<String> {
    let marks = content.trim_end();
    let is_run_of = |mark: char| !marks.is_empty() && marks.chars().all(|c| c == mark);
    let level = content.len() - content.trim_start_matches('#').len();
    let after = content.get(level..).unwrap_or_default();
    let is_heading = (1..=6).contains(&level) && after.chars().next().is_none_or(char::is_whitespace);
    if is_heading || is_run_of('=') || (is_run_of('-') && marks.len() < 3) {
        Some(format!("\\{content}"))
    } else if is_run_of('-') {
        // Below a paragraph, a line of dashes makes it a heading; asterisks are only ever a line across the page.
        Some("*".repeat(marks.len()))
    } else {
        None
    }
}

/// True for dashes with spaces between them, which draw a line across the page and make no heading.
fn is_thematic_break(content: &str) -> bool {
    let dashes = content.chars().filter(|c| *c == '-').count();
    dashes >= 3 && content.chars().all(|c| c == '-' || c.is_whitespace())
}

/// Removes the mark of a list item, a quote, a footnote or a definition.
fn strip_container(content: &str) -> Option<&str> {
    if let Some(inner) = content.strip_prefix('>') {
        return Some(inner);
    }
    if let Some(label) = content.strip_prefix("[^") {
        return label.split_once("]:").map(|(_, inner)| inner);
    }
    // Some readers need no space after the mark of a definition.
    if let Some(inner) = content.strip_prefix([':', '~']) {
        return Some(inner);
    }
    let number = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let inner = match content.len() - number.len() {
        0 => content.strip_prefix(['-', '+', '*'])?,
        _ => number.strip_prefix(['.', ')'])?,
    };
    inner.starts_with([' ', '\t']).then_some(inner)
}
