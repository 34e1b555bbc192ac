//! Escapes untrusted text (descriptions, results, messages of devices): invisible characters and those that change the
//! order or look of others become `\u{…}`.

use toolway_types::name::is_invisible;

/// Escapes text for one line, such as a table cell. Line ends are escaped too.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Escapes text with several lines. Keeps line feeds and tabs.
pub(crate) fn lines(text: &str) -> String {
    escaped(&text.replace("\r\n", "\n"), |c| matches!(c, '\n' | '\t'))
}

/// Escapes text with several lines, and indents all but the first, so that none can imitate a message of its own.
pub(crate) fn indented_lines(text: &str) -> String {
    lines(text).replace('\n', "\n  ")
}

/// Escapes a line of prose from a model like [`line()`], but drops variation selectors and joiners after an emoji
/// instead of escaping them.
pub(crate) fn prose(text: &str) -> String {
    let is_picture = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !is_invisible(c);
    let mut before = ' ';
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        let only_looks = matches!(c, '\u{fe0e}' | '\u{fe0f}' | '\u{200d}');
        if !(only_looks && is_picture(before)) {
            kept.push(c);
            before = c;
        }
    }
    line(&kept)
}

/// Escapes JSON text for a terminal. Uses JSON escapes inside strings, so that the value stays the same.
pub(crate) fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\n' | '\r' | '\t') || !is_invisible(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    shown
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    if !text.chars().any(is_invisible) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if stays(c) || !is_invisible(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

#[cfg(test)]
mod tests;
