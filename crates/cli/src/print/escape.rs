//! Text that came from elsewhere (descriptions, results, messages of devices), made safe to show: what
//! can't be seen, or would change how its neighbours read, is written out as `\u{…}`.

use toolway_types::name::is_invisible;

/// For one line: a table's cell, a name. Line ends are written out too.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// For text of several lines: line feeds and tabs stay.
pub(crate) fn lines(text: &str) -> String {
    escaped(&text.replace("\r\n", "\n"), |c| matches!(c, '\n' | '\t'))
}

/// For running text of one line, as a model writes it: what only says how the picture before it is to look (a
/// variation selector, a joiner) is left out rather than written out; everything else is as in [`line()`].
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

/// JSON text for a person's terminal: inside strings every odd character becomes a JSON escape, so it is the
/// same JSON as before.
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
